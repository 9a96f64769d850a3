"""Examining training steps: one run of each case everywhere, a screening, trials of what is doubted.

Cases go out in batches, so that workers stay busy. What a trial convicts is kept until ``confirm``, which runs all of
them again in one set of fresh processes: starting a worker costs more than a hundred trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.capabilities import within_reach
from ..core.case import Case
from ..core.finding import Class
from ..core.graph import LayerGraph, Node
from ..core.messages import gist
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal, Mode, Procedure
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Stage
from ..oracles.muffin import SWEEP, THRESHOLD
from ..targets.catalogue import traits_of
from ..triage.confirm import flaky, run_fresh, two_answers, unsteady
from ..triage.cuts import before
from ..triage.diagnose import accusation_of, blame, how_at
from ..triage.endings import EndingSearch, EndingTrial, ending_search
from ..triage.node_errors import NodeErrors
from ..triage.screening import Screening
from ..triage.support import is_refusal
from ..triage.trials import KINK, Trial, step_alone
from .paper_rule import PaperTrial, by_paper, paper_trials
from .stepped import ENDINGS, Known, Pairing, Stepped
from .witnesses import Witnesses, with_testimony

STAGES = (Stage.BUILD, Stage.FORWARD, Stage.LOSS, Stage.BACKWARD, Stage.UPDATE)
#: A layer convicted so often with parameters of the same classes says nothing new; it may have several defects, though
#: not more than so many convictions tell.
_ENOUGH, _MORE_THAN_ENOUGH = 2, 8


@dataclass(frozen=True)
class _Pending:
    """A conviction that waits to be confirmed, with what the targets did when it was made.

    Args:
        counted: the trial by which it is known.
    """

    suspicion: Suspicion
    trial: Trial | EndingTrial | PaperTrial
    outcomes: Mapping[str, Outcome]
    counted: Trial | EndingTrial | PaperTrial


@dataclass(frozen=True)
class _Attempt:
    """A trial that was run, and what is to be thought of it."""

    trial: Trial
    outcomes: Mapping[str, Outcome]
    errors: NodeErrors
    suspicion: Suspicion | None


@dataclass(frozen=True)
class _Ending:
    """A target that did not complete a step, and where to look for the reason."""

    step: Stepped
    outcome: Outcome
    search: EndingSearch

    @property
    def known_by(self) -> EndingTrial:
        return self.search.known_by


class StepExaminer:
    """Judges training steps on several targets.

    Args:
        families: which code each target shares with others.
        oracle: ``parity`` (decision 5) or ``muffin`` (section 3.3 of the paper).
        stages: those that are judged.
        witnesses: who is asked about what is confirmed, and accused of nothing.
    """

    def __init__(
        self,
        runner: Runner,
        targets: Sequence[str],
        families: Mapping[str, str],
        *,
        oracle: str = "parity",
        stages: Sequence[Stage] = STAGES,
        witnesses: Sequence[str] = (),
    ) -> None:
        self._runner = runner
        self._targets = list(targets)
        self._traits = traits_of([*targets, *witnesses])
        self._families = families
        self._oracle = oracle
        self._stages = frozenset(stages)
        self._pairing = Pairing(self._targets, families, oracle)
        self._witnesses = Witnesses(runner, witnesses)
        self._pending: list[_Pending] = []
        self._places: Counter[tuple[str, ...]] = Counter()
        self._suspects: dict[tuple[str, ...], tuple[str, ...]] = {}

    @property
    def waiting(self) -> int:
        """How many convictions are not confirmed yet."""
        return len(self._pending)

    def examine(self, cases: Sequence[Case]) -> list[Stepped]:
        """Run a batch and judge each case of it."""
        return self.judge(cases, self._runner.run_pairs(self.pairs(cases)))

    def pairs(self, cases: Sequence[Case]) -> list[tuple[Case, str]]:
        """What ``judge`` wants the outcomes of."""
        return [(within_reach(case, self._traits[target]), target) for case in cases for target in self._targets]

    def judge(self, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> list[Stepped]:
        """Judge each case of a batch that was run; the trials of all of them are a second batch."""
        answers = iter(outcomes)
        steps = [self._screened(case, {target: next(answers) for target in self._targets}) for case in cases]
        if self._oracle == "muffin":
            for step in steps:
                self._file_paper(step)
        else:
            self._try_doubts(steps)
        self._try_endings(steps)
        for step in steps:
            step.verdicts = list(self._pairing.verdicts(step))
        return steps

    def _screened(self, case: Case, outcomes: dict[str, Outcome]) -> Stepped:
        step = Stepped(case, outcomes)
        for target, outcome in outcomes.items():
            failure = outcome.failure
            if failure and is_refusal(outcome, case.procedure.dtype):
                step.unsupported[target] = gist(failure.message)
                step.outcomes = {**step.outcomes, target: replace(outcome, status=Status.UNSUPPORTED)}
            elif outcome.status is Status.UNSUPPORTED and failure:
                step.unsupported[target] = gist(failure.message)
        step.parting = by_paper(case, step.outcomes, self._stages, min(SWEEP))
        step.inconsistent = [item for item in step.parting if item.distance > THRESHOLD]
        return step

    # The paper's rule

    def _file_paper(self, step: Stepped) -> None:
        for trial in paper_trials(step.case, step.inconsistent, step.outcomes):
            stage, suspects = trial.item.stage, trial.diagnosis.suspects
            if self._places[trial.key]:
                step.known.append(Known(trial.place, stage, trial.api, suspects or trial.parted))
                continue
            self._count(trial, suspects)
            suspicion = Suspicion(trial.kind, trial.diagnosis, step.case, tuple(self._targets), stage=stage)
            self._keep(step, suspicion, trial, step.outcomes)

    # Decision 5

    def _try_doubts(self, steps: Sequence[Stepped]) -> None:
        """Run the trials of all steps at once; judge them in the order in which one by one would have been."""
        doubts = [
            (step, trial)
            for step in steps
            for trial in Screening(step.case, step.outcomes, self._traits).trials()
            if trial.is_part_of(self._stages)
        ]
        wanted = [trial for _, trial in doubts if trial.runs and not self._is_known(trial)]
        attempts = self._attempted([trial.again or trial for trial in wanted])
        attempts |= self._attempted([trial for trial in wanted if trial.again and _asks_for_more(trial, attempts)])
        for step, trial in doubts:
            if self._is_known(trial):
                step.known.append(self._known(trial, Kind.INCONSISTENCY))
            elif not trial.runs:
                step.open.append(trial)
            elif not any(self._covers(suspicion, trial) for suspicion in step.convicted):
                self._try(step, trial, attempts)

    def _attempted(self, trials: Sequence[Trial]) -> dict[int, _Attempt]:
        cases = {trial.case.digest: trial.case for trial in trials}  # a loss' value and gradient are of one case
        pairs = [
            (within_reach(case, self._traits[target]), target) for case in cases.values() for target in self._targets
        ]
        answers = iter(self._runner.run_pairs(pairs) if pairs else ())
        given = {digest: {target: next(answers) for target in self._targets} for digest in cases}
        found: dict[int, _Attempt] = {}
        for trial in trials:
            outcomes = given[trial.case.digest]
            errors = trial.judge(outcomes, self._traits)
            found[id(trial)] = _Attempt(trial, outcomes, errors, self._convict(trial, errors))
        return found

    def _try(self, step: Stepped, trial: Trial, attempts: Mapping[int, _Attempt]) -> None:
        tried = [attempts[id(one)] for one in (trial, trial.again) if id(one) in attempts]
        last = tried[0]
        convicting = next((attempt for attempt in tried if attempt.suspicion), None)
        if convicting is not None and convicting.trial is trial.again and _is_hurried(convicting):
            convicting = self._as_users_have_it(convicting)
        if convicting is not None and convicting.suspicion is not None:
            self._count(trial, convicting.suspicion.diagnosis.suspects)
            shown = self._without_network(convicting)
            assert shown.suspicion is not None
            self._keep(step, shown.suspicion, shown.trial, shown.outcomes, trial)
        elif last.errors.judged_by == KINK or trial.is_explained(last.errors):
            self._settle(step, last.errors)
        else:
            step.open.append(trial)

    def _as_users_have_it(self, convicting: _Attempt) -> _Attempt | None:
        """What convicts only as networks are compiled here, unoptimized, convicts nobody."""
        users = convicting.trial.again
        if users is None:
            return None
        (attempt,) = self._attempted([users]).values()
        return attempt if attempt.suspicion else None

    def _without_network(self, convicting: _Attempt) -> _Attempt:
        """An optimizer's step of one layer, where that convicts the same: a network takes long to reduce."""
        trial, suspicion = convicting.trial, convicting.suspicion
        single = step_alone(trial, convicting.outcomes) if trial.stage is Stage.UPDATE else None
        if single is None or suspicion is None:
            return convicting
        (attempt,) = self._attempted([single]).values()
        alike = attempt.suspicion and attempt.suspicion.key == suspicion.key
        return attempt if alike else convicting

    def _covers(self, suspicion: Suspicion, trial: Trial) -> bool:
        """A loss whose value is wrong has a wrong gradient, too, and so has what a layer adds to it."""
        added = suspicion.stage is Stage.LOSS and suspicion.diagnosis.node is not None
        if added and trial.stage is Stage.LOSS and not trial.node.inputs:
            return all(
                self._pairing.concerns(suspicion.diagnosis.suspects, (target, target)) for target in trial.suspects
            )
        same_layer = trial.stage is Stage.BACKWARD and suspicion.diagnosis.node == trial.node.key
        return suspicion.case is trial.case or (added and same_layer)

    def _is_known(self, trial: Trial | EndingTrial) -> bool:
        return self._places[trial.key] >= _ENOUGH or self._places[trial.place] >= _MORE_THAN_ENOUGH

    def _known(self, trial: Trial | EndingTrial, kind: Kind) -> Known:
        suspects = self._suspects.get(trial.place, tuple(trial.suspects))
        return Known(trial.place, trial.stage, trial.api, suspects, kind)

    def _count(self, trial: Trial | EndingTrial | PaperTrial, suspects: tuple[str, ...]) -> None:
        self._places.update([trial.key, trial.place])
        self._suspects[trial.place] = suspects

    @property
    def _independent(self) -> bool:
        """More than one implementation takes part; of one alone nobody can say that the shared code is wrong."""
        return len(self._traits.implementations(self._targets)) > 1

    def _blame(self, errors: NodeErrors) -> tuple[Class | None, tuple[str, ...]]:
        klass, suspects = blame(errors, self._families)
        shared = len(suspects) == 1 and suspects[0] not in errors.errors
        return klass, tuple(errors.errors) if shared and not self._independent else suspects

    def _settle(self, step: Stepped, errors: NodeErrors) -> None:
        """Innocent: a matter of convention, or every target is right on its own numbers, which rounding has parted."""
        name = "at a kink" if errors.judged_by == KINK else "rounding carried along"
        step.settled.append(f"{errors.node.op}: {name}")

    def _convict(self, trial: Trial, errors: NodeErrors) -> Suspicion | None:
        klass, suspects = self._blame(errors)
        if klass is None:
            return None
        accusation = accusation_of(klass, suspects, [errors], how_at(trial.stage))
        diagnosis = replace(
            accusation.diagnosis,
            api=trial.api,
            parameters=trial.parameters,
            node=trial.node.key if trial.node.inputs else None,
        )
        return Suspicion(accusation.kind, diagnosis, trial.case, tuple(self._targets), stage=trial.stage)

    # Endings

    def _try_endings(self, steps: Sequence[Stepped]) -> None:
        """Run the trials of all steps together, the smallest first; judge them in their order, as one by one."""
        endings = [ending for step in steps for ending in self._endings(step)]
        shown = self._shown([ending for ending in endings if not self._is_known(ending.known_by)])
        earlier: dict[str, Stepped] = {}
        for ending in endings:
            step, outcome = ending.step, ending.outcome
            if any(self._accuses(suspicion, outcome) for suspicion in step.convicted):
                continue
            trial, found = shown.get(id(ending), (ending.known_by, {}))
            known = next((one for one in (ending.known_by, trial) if self._is_known(one)), None)
            if known is not None:
                step.known.append(self._known(known, ENDINGS[outcome.status]))
            elif id(ending) not in shown:
                step.open.append(ending.search.whole)
            elif not self._is_wrong_before(ending, trial, earlier):
                self._file_ending(ending, trial, found)

    def _accuses(self, suspicion: Suspicion, outcome: Outcome) -> bool:
        """Whether it says why the target ended: by its name, or by that of the code that it shares."""
        suspects = suspicion.diagnosis.suspects
        shared = suspicion.kind is ENDINGS[outcome.status] and self._families.get(outcome.target) in suspects
        return outcome.target in suspects or shared

    def _is_wrong_before(self, ending: _Ending, trial: EndingTrial, examined: dict[str, Stepped]) -> bool:
        """Whether a layer that is well alone is handed something wrong: what hands it over is convicted instead.

        Args:
            examined: what is known of the cases before others, by their digests.
        """
        node, procedure = trial.node, ending.step.case.procedure
        if trial.case.procedure.goal is not Goal.FORWARD or node is None or len(_nodes(trial.case)) < 2:
            return False
        traced = Procedure(trace=True, training=procedure.training, dtype=procedure.dtype, mode=procedure.mode)
        earlier = before(trial.case, node, traced)
        if earlier is None or self._oracle == "muffin":
            return False
        if earlier.digest not in examined:
            (examined[earlier.digest],) = self.examine([earlier])
            ending.step.convicted += examined[earlier.digest].convicted
            ending.step.known += examined[earlier.digest].known
        step = examined[earlier.digest]
        blamed = [*(s.diagnosis.suspects for s in step.convicted), *(known.suspects for known in step.known)]
        own = (ending.outcome.target, ending.outcome.target)
        return any(self._pairing.concerns(suspects, own) for suspects in blamed)

    def _endings(self, step: Stepped) -> Iterator[_Ending]:
        done = [outcome for outcome in step.outcomes.values() if outcome.completed]
        for target, outcome in step.outcomes.items():
            accused = any(target in suspicion.diagnosis.suspects for suspicion in step.convicted)
            if outcome.status in ENDINGS and not accused:
                yield _Ending(step, outcome, ending_search(step.case, outcome, done))

    def _shown(self, endings: Sequence[_Ending]) -> dict[int, tuple[EndingTrial, Mapping[str, Outcome]]]:
        """By ending, the smallest trial on which its target ends in the same way, and what all targets did there.

        It is looked for on that target alone: where it raises there is nothing to compile.
        """
        smallest: dict[int, EndingTrial] = {}
        depth = 0
        while waiting := [e for e in endings if id(e) not in smallest and depth < len(e.search.groups)]:
            tried = [(ending, trial) for ending in waiting for trial in ending.search.groups[depth]]
            outcomes = self._runner.run_pairs([(trial.case, ending.outcome.target) for ending, trial in tried])
            for (ending, trial), outcome in zip(tried, outcomes, strict=True):
                if _ended_so(trial, {outcome.target: outcome}):
                    smallest.setdefault(id(ending), trial)
            depth += 1
        cases = {trial.case.digest: trial.case for trial in smallest.values()}  # of several targets it may be one
        pairs = [(case, target) for case in cases.values() for target in self._targets]
        answers = iter(self._runner.run_pairs(pairs) if pairs else ())
        found = {digest: {target: next(answers) for target in self._targets} for digest in cases}
        return {key: (trial, found[trial.case.digest]) for key, trial in smallest.items()}

    def _file_ending(self, ending: _Ending, trial: EndingTrial, found: Mapping[str, Outcome]) -> None:
        """Accuse everybody who ends so on the smallest case."""
        kind, exception = ENDINGS[ending.outcome.status], trial.ending[1]
        diagnosis = trial.diagnosis(self._suspects_of_ending(_ended_so(trial, found)), found)
        suspicion = Suspicion(kind, diagnosis, trial.case, tuple(self._targets), exception, trial.stage)
        # It is known by the same trial, whichever shows it, unless that is the whole network: there may be another
        # reason for it another time. What nothing shows teaches nothing.
        counted = trial if ending.known_by is ending.search.whole else ending.known_by
        self._count(counted, diagnosis.suspects)
        if not trial.api:
            self._places.subtract([counted.key])
        self._keep(ending.step, suspicion, trial, found, counted)

    def _suspects_of_ending(self, ended: tuple[str, ...]) -> tuple[str, ...]:
        """Who ended so; where everybody did, the code they share."""
        shared = {self._families.get(target, target) for target in ended}
        everybody = len(ended) == len(self._targets) and len(shared) == 1
        return (shared.pop(),) if everybody and self._independent else ended

    def _keep(
        self,
        step: Stepped,
        suspicion: Suspicion,
        trial: Trial | EndingTrial | PaperTrial,
        outcomes: Mapping[str, Outcome],
        counted: Trial | EndingTrial | None = None,
    ) -> None:
        step.convicted.append(suspicion)
        self._pending.append(_Pending(suspicion, trial, outcomes, counted or trial))

    # Confirmation

    def confirm(self) -> list[Suspicion]:
        """Everything convicted since the last time, again in fresh processes; what does not fail again is flaky."""
        pending = list(self._pending)
        answers = iter(run_fresh(self._runner, [pair for item in pending for pair in self._pairs_of(item)]))
        outcomes = [{target: next(answers) for target in self._targets} for _ in pending]
        found = self._testified(pending, outcomes, list(map(self._seen_again, pending, outcomes)))
        del self._pending[: len(pending)]  # not before: who is interrupted here may ask again
        return found

    def _testified(
        self, pending: Sequence[_Pending], outcomes: Sequence[Mapping[str, Outcome]], found: Sequence[Suspicion]
    ) -> list[Suspicion]:
        """With what witnesses say of the defects of single layers; whole networks are beyond them."""
        asked = {
            index: item.trial
            for index, item in enumerate(pending)
            if found[index].diagnosis.klass is Class.DEFECT and not isinstance(item.trial, PaperTrial)
        }
        heard = self._witnesses.heard([pending[index].suspicion.case for index in asked])
        said = list(found)
        for (index, trial), answers in zip(asked.items(), heard, strict=True):
            diagnosis = with_testimony(said[index].diagnosis, trial, outcomes[index], answers)
            said[index] = replace(said[index], diagnosis=diagnosis)
        return said

    def _pairs_of(self, item: _Pending) -> list[tuple[Case, str]]:
        case = item.suspicion.case
        if isinstance(item.trial, EndingTrial):  # how it ends is asked of everybody, as it is
            return [(case, target) for target in self._targets]
        return self.pairs([case])

    def _seen_again(self, item: _Pending, outcomes: Mapping[str, Outcome]) -> Suspicion:
        suspicion, diagnosis = item.suspicion, item.suspicion.diagnosis
        if not self._again(item, outcomes):
            self._places.subtract([item.counted.key, item.counted.place])  # it may come again, and be real
            return replace(suspicion, diagnosis=flaky(diagnosis))
        notes = two_answers(diagnosis.suspects, self._families, item.outcomes, outcomes)
        return replace(suspicion, diagnosis=unsteady(diagnosis, *notes))

    def _again(self, item: _Pending, outcomes: Mapping[str, Outcome]) -> bool:
        diagnosis, trial = item.suspicion.diagnosis, item.trial
        if isinstance(trial, PaperTrial):
            return trial.shows_in(outcomes)
        if isinstance(trial, EndingTrial):
            return self._suspects_of_ending(_ended_so(trial, outcomes)) == diagnosis.suspects
        return self._blame(trial.judge(outcomes, self._traits)) == (diagnosis.klass, diagnosis.suspects)


def _is_hurried(attempt: _Attempt) -> bool:
    """Whether it convicts nobody but those whose ``eager`` is no mode that users have: JAX' unoptimized compilation."""
    suspects = attempt.suspicion.diagnosis.suspects if attempt.suspicion else ()
    eager = attempt.trial.case.procedure.mode is Mode.EAGER
    traits = traits_of(suspects)
    return eager and all(traits[suspect].unoptimized_eager for suspect in suspects)


def _asks_for_more(trial: Trial, attempts: Mapping[int, _Attempt]) -> bool:
    """Whether a trial as the network had it is to be followed by one as users have it, which compilers make dearer.

    Whoever is convicted is shown that way; and so is a doubt that is not rounding carried along.
    """
    attempt = attempts[id(trial.again)]
    if attempt.suspicion is not None:
        return True
    return attempt.errors.judged_by != KINK and not trial.is_explained(attempt.errors)


def _nodes(case: Case) -> tuple[Node, ...]:
    return case.subject.nodes if isinstance(case.subject, LayerGraph) else ()


def _ended_so(trial: EndingTrial, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Who ended as expected; who says that it has no such thing is not wrong."""
    alike = {target: outcome for target, outcome in outcomes.items() if trial.ends_so(outcome)}
    return tuple(t for t, outcome in alike.items() if not is_refusal(outcome, trial.case.procedure.dtype))
