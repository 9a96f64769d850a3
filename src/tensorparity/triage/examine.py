"""The examiner: every case of every command goes through it.

It runs cases in batches, asks their oracles, runs the checks that these ask for, all of a batch together, and asks
again until nothing is left to run; it confirms what was convicted in one set of fresh processes. The oracle that
convicts is the one that is asked again, whether a suspicion is confirmed, reduced or replayed.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from ..core.capabilities import within_reach
from ..core.case import Case
from ..core.engine import Ask
from ..core.errors import CaseFileError, DataError
from ..core.finding import Class
from ..core.messages import gist
from ..core.oracle import OUTCOMES, Answer, Check, Judged, JudgingTime, Oracle, Seen, Setup
from ..core.outcome import Outcome
from ..core.rows import one_row, repeated
from ..core.runner import Pending, Runner, begin, one_fresh_set
from ..core.signature import Key
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Verdict
from ..operators.functions.native import shared_inputs
from ..oracles.kinds import ORACLES, chosen_instead, make_oracle, oracle_of
from .confirm import HANG_FACTOR, SOMETIMES, flaky, run_fresh, seen_again
from .together import companions_of, only_together, programs_of

#: What each target is really given of a case: a file that was exported for it, as much of a step as it can run.
Deliver = Callable[[Case, str], Case]
_Tell = Callable[[Sequence[Suspicion]], None]

#: So often an oracle is asked again with the answers to its checks; one that goes on wants the same again and again.
_MOST_ROUNDS = 200
#: A key convicted so often says nothing new; what only shares all but its last part may be another defect, though not
#: more than so many convictions tell.
ENOUGH, MORE_THAN_ENOUGH = 2, 8
#: How often a row is repeated until it shows what it did among others: some kernels treat the body of a long array in
#: another way than its end.
_COPIES = (1, 16, 64)

Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Examined:
    """What came of one case; the one result type of every examination.

    Args:
        outcomes: by target, for each side of the case.
        judged: by the first oracle; suspicions are not confirmed yet.
        measured: by the others, which decide nothing.
        known: keys of checks that were not run, because they had been convicted often enough.
        convicted: what its own convictions are known by, in their order.
        shown: by digest, the outcomes of the cases of its suspicions.
        oracle: who decided.
        times: what judging took, by the first oracle and then by the others.
    """

    ask: Ask
    outcomes: tuple[Outcomes, ...]
    judged: Judged
    measured: tuple[Judged, ...] = ()
    known: tuple[tuple[str, ...], ...] = ()
    convicted: tuple[tuple[str, ...], ...] = ()
    shown: Mapping[str, Outcomes] = field(default_factory=dict)
    oracle: str = ""
    times: tuple[JudgingTime, ...] = ()

    @property
    def case(self) -> Case:
        return self.ask.case

    @property
    def own(self) -> Outcomes:
        return self.outcomes[0]


@dataclass(frozen=True)
class BegunExamination:
    """Cases that are on their way to the targets."""

    asks: tuple[Ask, ...]
    jobs: tuple[_Job, ...]
    pending: Pending

    def cancel(self) -> None:
        self.pending.cancel()


@dataclass
class _Job:
    """One case under one oracle: what is known of it so far."""

    case: Case
    targets: tuple[str, ...]
    oracle: str
    deadline: float = 1.0
    claim: Key | None = None
    ran: tuple[Mapping[str, Case], ...] = ()
    outcomes: tuple[Outcomes, ...] = ()
    answers: tuple[Answer, ...] = ()
    judged: Judged = field(default_factory=Judged)
    known: list[tuple[str, ...]] = field(default_factory=list)
    time: JudgingTime = field(default_factory=JudgingTime)


class Examiner:
    """Runs, judges and confirms; it keeps count of what was convicted, so that nothing is tried without end.

    Args:
        deliver: what each target is given of a case; by default as much of it as the target can run.
        oracle: whom the user chose to decide, wherever it can.
        settings: by the name of an oracle, its settings.
    """

    def __init__(
        self,
        runner: Runner,
        setup: Setup,
        *,
        deliver: Deliver | None = None,
        oracle: str = "",
        settings: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        self._runner = runner
        self._setup = setup
        self._deliver = deliver or (lambda case, target: case)
        self._chosen = oracle
        self._settings = settings or {}
        self._oracles: dict[str, Oracle] = {}
        self._convicted: Counter[tuple[str, ...]] = Counter()
        self._is_counting = True
        #: Told what is convicted in a round while others of it are still examined.
        self.when_convicted: _Tell = _nobody

    @property
    def runner(self) -> Runner:
        return self._runner

    @property
    def setup(self) -> Setup:
        return self._setup

    def on(self, runner: Runner) -> Examiner:
        """The same examiner with another runner, which counts no convictions: each case is examined in full."""
        other = Examiner(runner, self._setup, deliver=self._deliver, oracle=self._chosen, settings=self._settings)
        other._oracles = self._oracles
        other._is_counting = False
        return other

    # Running and judging

    def examine(self, asks: Sequence[Ask], *, fresh: bool = False, claim: Key | None = None) -> list[Examined]:
        """Run these cases and judge each of them.

        Args:
            fresh: in new workers, with every cache off.
            claim: what is looked for, when a suspicion is confirmed or replayed.
        """
        jobs = [job for ask in asks for job in self._jobs(ask, claim)]
        with one_fresh_set(self._runner) if fresh else nullcontext():
            self._run(jobs, fresh)
            return self._examine_jobs(asks, jobs, fresh)

    def begin(self, asks: Sequence[Ask]) -> BegunExamination:
        """Send cases out without waiting for them; ``judge`` takes them up."""
        jobs = [job for ask in asks for job in self._jobs(ask, None)]
        pairs = list(self._pairs(jobs))
        return BegunExamination(tuple(asks), tuple(jobs), begin(self._runner, pairs))

    def judge(self, begun: BegunExamination, before: Sequence[Sequence[tuple[str, ...]]] = ()) -> list[Examined]:
        """Judge what was begun; what has to be run for that goes first.

        Args:
            before: for each case, what those between it and the one before it were convicted by in an earlier part of
                the campaign: their convictions count as if they had been judged now.
        """
        jobs = list(begun.jobs)
        pairs = list(self._pairs(jobs))
        self._take(jobs, dict(zip(map(_place, pairs), begun.pending.outcomes(), strict=True)))
        return self._examine_jobs(begun.asks, jobs, fresh=False, before=before, tell=self.when_convicted)

    def judge_known(self, ask: Ask, outcomes: Outcomes, claim: Key | None = None) -> Examined:
        """Judge a case that somebody has run, as it is, on all of these targets; what else has to be run is."""
        ask = replace(ask, targets=tuple(outcomes))
        jobs = self._jobs(ask, claim)
        for job in jobs:
            job.ran, job.outcomes = (dict.fromkeys(outcomes, ask.case),), (outcomes,)
        (examined,) = self._examine_jobs([ask], jobs, fresh=False)
        return examined

    def _jobs(self, ask: Ask, claim: Key | None) -> list[_Job]:
        targets = ask.targets or self._setup.targets
        first, *others = ask.oracles or (oracle_of(ask.case),)
        names = [chosen_instead(self._chosen, first), *others]
        return [_Job(ask.case, tuple(targets), name, claim=claim) for name in names]

    def _examine_jobs(
        self,
        asks: Sequence[Ask],
        jobs: Sequence[_Job],
        fresh: bool,
        before: Sequence[Sequence[tuple[str, ...]]] = (),
        tell: _Tell | None = None,
    ) -> list[Examined]:
        shown: dict[str, Outcomes] = {}
        self._settle(jobs, fresh, shown, tell)
        waiting = iter(jobs)
        found = []
        for position, ask in enumerate(asks):
            self.remember(before[position] if before else ())
            first, *others = (next(waiting) for _ in ask.oracles or ("",))
            measured = tuple(other.judged for other in others)
            own = {s.case.digest: shown[s.case.digest] for s in first.judged.suspicions if s.case.digest in shown}
            found.append(
                self._count_convictions(
                    Examined(
                        ask,
                        first.outcomes,
                        first.judged,
                        measured,
                        tuple(first.known),
                        shown=own,
                        oracle=first.oracle,
                        times=(first.time, *(other.time for other in others)),
                    )
                )
            )
        return found

    def _count_convictions(self, examined: Examined) -> Examined:
        """Count its convictions; what others of the same batch have shown often enough is not kept once more."""
        kept, known = [], list(examined.known)
        for suspicion in examined.judged.suspicions:
            if suspicion.known_by and self.is_known(suspicion.known_by):
                known.append(suspicion.known_by)
                continue
            self._count(suspicion.known_by)
            kept.append(suspicion)
        judged = replace(examined.judged, suspicions=tuple(kept))
        convicted = tuple(s.known_by for s in kept if s.known_by)
        return replace(examined, judged=judged, known=tuple(known), convicted=convicted)

    def remember(self, convicted: Sequence[tuple[str, ...]]) -> None:
        """Count what an earlier part of the campaign convicted."""
        for key in convicted:
            self._count(key)

    def is_known(self, key: tuple[str, ...]) -> bool:
        """Whether a check of this key was convicted often enough."""
        return self._convicted[key] >= ENOUGH or self._convicted[key[:-1]] >= MORE_THAN_ENOUGH

    def _count(self, key: tuple[str, ...]) -> None:
        """When it is judged, and for good: what confirmation says of it comes at a time that depends on the machine."""
        if key and self._is_counting:
            self._convicted[key] += 1
            self._convicted[key[:-1]] += 1

    def _settle_again(self, jobs: Sequence[_Job], fresh: bool) -> None:
        """What was convicted is asked about once more, however often its key was convicted."""
        self._settle(jobs, fresh, {}, skips_known=False)

    def _settle(
        self,
        jobs: Sequence[_Job],
        fresh: bool,
        shown: dict[str, Outcomes],
        tell: _Tell | None = None,
        skips_known: bool = True,
    ) -> None:
        """Ask the oracles, run their checks together, and ask again, until none of them wants more."""
        active = list(jobs)
        rounds = itertools.count()
        while active:
            if next(rounds) >= _MOST_ROUNDS:
                for job in active:
                    job.judged = _unexamined(job, f"the oracle {job.oracle} had no end of checks")
                break
            for job in active:
                began = time.monotonic()
                job.judged = self._judge(job)
                job.time = job.time.plus(time.monotonic() - began, is_first=not job.answers)
            if tell is not None:
                tell([s for job in active if not job.judged.checks for s in job.judged.suspicions])
            active = [job for job in active if job.judged.checks]
            began = time.monotonic()
            self._answer(active, fresh, shown, skips_known)
            for job in active:  # they are run together
                job.time = job.time.plus((time.monotonic() - began) / len(active), is_first=False)
        for job in jobs:
            if job.judged.suspicions:
                shown.setdefault(job.case.digest, job.outcomes[0])

    def _answer(self, jobs: Sequence[_Job], fresh: bool, shown: dict[str, Outcomes], skips_known: bool) -> None:
        """Run the checks of these jobs and judge each by its own oracle."""
        wanted: dict[tuple[object, ...], _Job] = {}
        for job in jobs:
            for check in job.judged.checks:
                if not (skips_known and check.key and self.is_known(check.key)):
                    wanted.setdefault(_question(check), _Job(check.case, check.targets, check.oracle, check.deadline))
        asked = list(wanted.values())
        self._run(asked, fresh)
        self._settle([job for job in asked if job.oracle != OUTCOMES], fresh, shown, skips_known=skips_known)
        for job in jobs:
            answers = []
            for check in job.judged.checks:
                found = wanted.get(_question(check))
                if found is None or (skips_known and check.key and self.is_known(check.key)):
                    job.known.append(check.key)
                    answers.append(Answer(check))
                else:
                    answers.append(Answer(check, found.outcomes[0], found.judged, found.ran[0]))
            job.answers = (*job.answers, *answers)

    def _judge(self, job: _Job) -> Judged:
        seen = Seen(job.case, job.outcomes, job.ran, self._setup.traits, job.answers, job.claim, job.judged.memo)
        oracle = self.oracle_named(job.oracle)
        try:
            judged = oracle.judge(seen)
            signed = tuple(s if s.oracle else replace(s, oracle=job.oracle) for s in judged.suspicions)
        except (DataError, CaseFileError, ValueError) as error:
            # what our own code cannot do with a case is that case's answer, not the run's end
            return _unexamined(job, f"could not be examined: {type(error).__name__}: {gist(str(error))}")
        except Exception as error:
            if ORACLES.is_ours(job.oracle):
                raise
            return _unexamined(job, f"the oracle {job.oracle} ended with {type(error).__name__}: {gist(str(error))}")
        return replace(judged, suspicions=signed)

    def oracle_named(self, name: str) -> Oracle:
        """An oracle with its settings of this campaign."""
        if name not in self._oracles:
            setup = replace(self._setup, settings=self._settings.get(name, {}))
            self._oracles[name] = make_oracle(name, setup)
        return self._oracles[name]

    # Outcomes

    def _run(self, jobs: Sequence[_Job], fresh: bool) -> None:
        for deadline in dict.fromkeys(job.deadline for job in jobs):
            alike = [job for job in jobs if job.deadline == deadline]
            pairs = list(self._pairs(alike))
            if fresh:
                outcomes = run_fresh(self._runner, pairs, deadline)
            else:
                outcomes = self._runner.run_pairs(pairs, deadline_factor=deadline) if pairs else []
            self._take(alike, dict(zip(map(_place, pairs), outcomes, strict=True)))

    def _pairs(self, jobs: Sequence[_Job]) -> list[tuple[Case, str]]:
        """What has to be run for these jobs, each case once on each target."""
        found: dict[tuple[str, str], tuple[Case, str]] = {}
        for job in jobs:
            job.ran = job.ran or tuple(self._cases_by_target(side, job.targets) for side in job.case.sides())
            for side in job.ran:
                for target, case in side.items():
                    found.setdefault((case.digest, target), (case, target))
        return list(found.values())

    def _cases_by_target(self, case: Case, targets: Sequence[str]) -> dict[str, Case]:
        traits = self._setup.traits
        return {target: within_reach(self._deliver(case, target), traits[target]) for target in targets}

    def _take(self, jobs: Sequence[_Job], outcomes: Mapping[tuple[str, str], Outcome]) -> None:
        for job in jobs:
            job.outcomes = tuple(
                {target: outcomes[case.digest, target] for target, case in side.items()} for side in job.ran
            )

    # Rows

    def cut_out(self, suspicions: Sequence[Suspicion]) -> list[Suspicion]:
        """Each suspicion of a row on that row alone, or repeated as often as it takes; as it is where nothing does."""
        found = dict(enumerate(suspicions))
        for copies in _COPIES:
            left = {place: s for place, s in found.items() if s.row is not None}
            jobs = [_Job(_row_of(s, copies), s.targets, s.oracle, claim=s.key) for s in left.values()]
            self._run(jobs, fresh=False)
            self._settle_again(jobs, fresh=False)
            for (place, suspicion), job in zip(left.items(), jobs, strict=True):
                again = _alike(suspicion, job.judged)
                if again is not None:
                    found[place] = replace(again, known_by=suspicion.known_by, row=None)
        return list(found.values())

    # Confirmation

    def confirm(self, found: Sequence[Examined]) -> list[tuple[Suspicion, Outcomes]]:
        """All suspicions of these; defects again in one set of fresh processes, with what the targets did there.

        What does not fail again is ``flaky``; what is no defect blames nobody, and stands as it is.
        """
        shown = {digest: outcomes for item in found for digest, outcomes in item.shown.items()}
        return self._confirm([suspicion for item in found for suspicion in item.judged.suspicions], shown)

    def confirm_all(self, suspicions: Sequence[Suspicion]) -> list[Suspicion]:
        """Suspicions in their order, defects again in one set of fresh processes; each of a row on that row."""
        return [suspicion for suspicion, _ in self._confirm(suspicions, {})]

    def _confirm(
        self, suspicions: Sequence[Suspicion], shown: Mapping[str, Outcomes]
    ) -> list[tuple[Suspicion, Outcomes]]:
        """Confirm together, because fresh workers are dear.

        Args:
            shown: by digest, what the targets did when they were convicted, where that is known.
        """
        with one_fresh_set(self._runner):
            return self._confirmed(suspicions, shown)

    def _confirmed(
        self, suspicions: Sequence[Suspicion], shown: Mapping[str, Outcomes]
    ) -> list[tuple[Suspicion, Outcomes]]:
        packs = {place: pack for place, s in enumerate(suspicions) if (pack := companions_of(self._runner, s))}
        whole = {place: suspicions[place] for place in packs}
        suspicions = self.cut_out(suspicions)
        defects = [s for s in suspicions if s.diagnosis.klass is Class.DEFECT]
        jobs = [_Job(s.case, s.targets, s.oracle or oracle_of(s.case), _patience(s), s.key) for s in defects]
        self._run(jobs, fresh=True)
        self._settle_again(jobs, fresh=True)
        waiting = iter(jobs)
        found: list[tuple[Suspicion, Outcomes]] = []
        for suspicion in suspicions:
            before = shown.get(suspicion.case.digest)
            if suspicion.diagnosis.klass is Class.DEFECT:
                job = next(waiting)
                found.append((self._seen_again(suspicion, job, before), job.outcomes[0]))
            else:
                found.append((suspicion, before or {}))
        alone = {place: s for place, s in whole.items() if found[place][0].diagnosis.klass is Class.FLAKY}
        return [
            self._together(alone[place], packs[place]) or item if place in alone else item
            for place, item in enumerate(found)
        ]

    def _together(self, suspicion: Suspicion, pack: Sequence[Case]) -> tuple[Suspicion, Outcomes] | None:
        """What does not show alone, as a program of the calls it was compiled with; None where that shows nothing."""
        oracle = suspicion.oracle or oracle_of(suspicion.case)
        jobs = [_Job(case, suspicion.targets, oracle) for case in programs_of(suspicion, pack)]
        self._run(jobs, fresh=True)
        self._settle_again(jobs, fresh=True)
        for job in jobs:
            for again in _defects(job.judged):
                (cut,) = self.cut_out([replace(again, oracle=oracle, known_by=suspicion.known_by)])
                return only_together(cut), job.outcomes[0]
        return None

    def _seen_again(self, suspicion: Suspicion, job: _Job, before: Outcomes | None) -> Suspicion:
        return seen_again(suspicion, before, job.judged, job.outcomes[0], self._families(suspicion))

    def _families(self, suspicion: Suspicion) -> dict[str, str]:
        return self._setup.traits.families(suspicion.targets)

    def agree(self, looks: Sequence[Examined]) -> list[Suspicion]:
        """What all looks at one case convict, by key; a defect that only some of them see is flaky."""
        first, *others = looks
        found = list(first.judged.suspicions)
        for other in others:
            found = [self._agreed(suspicion, first, other) for suspicion in found]
            missed = [s for s in _defects(other.judged) if not any(s.key == known.key for known in found)]
            found += [replace(s, diagnosis=flaky(s.diagnosis, SOMETIMES)) for s in missed]
        return list({suspicion.signature: suspicion for suspicion in reversed(found)}.values())[::-1]

    def _agreed(self, suspicion: Suspicion, first: Examined, other: Examined) -> Suspicion:
        if suspicion.diagnosis.klass is not Class.DEFECT:
            return suspicion
        return seen_again(suspicion, first.own, other.judged, other.own, self._families(suspicion), SOMETIMES)


def _unexamined(job: _Job, reason: str) -> Judged:
    return Judged((Verdict(Judgement.UNDECIDED, job.targets, reason),), notes=(reason,))


def _nobody(suspicions: Sequence[Suspicion]) -> None:
    """Nobody listens."""


def _defects(judged: Judged) -> list[Suspicion]:
    return [suspicion for suspicion in judged.suspicions if suspicion.diagnosis.klass is Class.DEFECT]


def _patience(suspicion: Suspicion) -> float:
    """What hung was given its time already: it is believed if it hangs for ten times as long."""
    return HANG_FACTOR if suspicion.kind is Kind.HANG else 1.0


def _alike(suspicion: Suspicion, judged: Judged) -> Suspicion | None:
    """What is said again, with the same key and of the same class."""
    klass = suspicion.diagnosis.klass
    same = (s for s in judged.suspicions if s.key == suspicion.key and s.diagnosis.klass is klass)
    return next(same, None)


def _row_of(suspicion: Suspicion, copies: int) -> Case:
    assert suspicion.row is not None
    shared = shared_inputs(suspicion.case)
    return repeated(one_row(suspicion.case, suspicion.row, shared), copies, shared)


def _place(pair: tuple[Case, str]) -> tuple[str, str]:
    return pair[0].digest, pair[1]


def _question(check: Check) -> tuple[object, ...]:
    """Checks that ask the same are run and judged once."""
    return check.case.digest, check.targets, check.oracle, check.deadline
