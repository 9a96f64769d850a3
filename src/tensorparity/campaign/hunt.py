"""``hunt``: the engines one after another, under one budget, against the installed targets."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from .. import __version__
from ..core.case import ApiCall, Case
from ..core.engine import Ask
from ..core.errors import CaseFileError, DataError, UsageError
from ..core.finding import Class, Finding
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.oracle import Setup
from ..core.outcome import Outcome
from ..core.procedure import Procedure
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Verdict
from ..engines.base import ENGINES, Engine
from ..engines.muffin import MuffinEngine
from ..operators.rounding import K
from ..oracles.operator_error import PRECISION
from ..oracles.pair import ORACLES
from ..reporting.facts import Facts
from ..store.database import Result, Store, open_store
from ..targets.runner import LocalRunner, RunnerSettings, cached, open_runner
from ..triage.examine import Examiner
from .asking import can_train
from .beside import Beside
from .distinct import Distinct
from .events import Listener, Progress, silent
from .examination import Examination, Examined, Rules, model_of
from .filing import file_findings, make_finding, scripts_of, target_facts
from .open_questions import open_questions
from .operator_findings import REDUCING, Filing, sightings_of
from .reducing import Preparation, ReducingSettings
from .selection import families_of
from .stages import StepExaminer
from .stepped import Stepped
from .traits import traits_of
from .witnesses import witnesses_for

#: The oracle that judges training steps and nothing else.
STEPS_ALONE = "muffin"


class StopReason(Enum):
    """Why a hunt ended; the value is what the user reads."""

    BUDGET = "the budget was used up"
    CASES = "all cases were run"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class HuntSettings:
    """What ``hunt`` is told.

    Args:
        budget: seconds for all engines together.
        cases: exactly so many cases per engine instead of a budget.
        resume: go on with the last hunt of the same seed, settings and versions in the store.
        folder: where case files go if the store is a URL.
        reducing: how much work goes into reducing what is found; None files it as it is.
    """

    targets: Sequence[str]
    engines: Sequence[str] = ()
    seed: int = 0
    budget: float = 300.0
    cases: int | None = None
    oracle: str = "parity"
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    resume: bool = False
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    reducing: ReducingSettings | None = None

    def identity(self, runner: LocalRunner) -> dict[str, Json]:
        """What must be equal for one hunt to be the continuation of another; a budget only cuts."""
        circumstances = "\n".join(runner.desk(target).circumstances for target in self.targets)
        return {
            "tensorparity": __version__,
            "circumstances": hashlib.sha256(circumstances.encode()).hexdigest(),
            "targets": list(self.targets),
            "oracle": self.oracle,
            "faults": {target: [fault.name, fault.digest] for target, fault in self.runner.faults.items()},
        }


@dataclass
class _Tally:
    """Counts of one engine."""

    cases: int = 0
    resumed: int = 0
    undecided: int = 0
    unsupported: int = 0
    seconds: float = 0.0
    findings: int = 0

    def to_json(self) -> Json:
        return {
            "cases": self.cases,
            "resumed": self.resumed,
            "undecided": self.undecided,
            "unsupported": self.unsupported,
            "seconds": self.seconds,
            "findings": self.findings,
        }


class Hunt:
    """One campaign over several engines."""

    def __init__(self, settings: HuntSettings, runner: LocalRunner, store: Store, listener: Listener) -> None:
        self._settings = settings
        self._runner = runner
        self._cached = cached(runner, settings.runner)
        self._store = store
        self._tell = listener
        self._notes: list[str] = []
        self._campaign = self._open_campaign()
        self._rules = Rules(
            families_of(settings.targets), oracle=ORACLES.get(model_oracle(settings.oracle)), seed=settings.seed
        )
        self._preparation = Preparation(runner, self._cached, settings.reducing, listener)
        self.scripts: dict[str, str] = {}
        self.findings: dict[str, Finding] = {f.id: f for f in store.findings(self._campaign)}
        self.distinct = Distinct(self.findings.values())
        self.tallies: dict[str, _Tally] = {}
        self._examiners: dict[str, StepExaminer] = {}
        setup = Setup(settings.seed, tuple(settings.targets), traits_of(settings.targets))
        self._judge = Examiner(self._cached, setup)
        self._beside = Beside(self._cached, settings.targets, settings.seed)
        self._otherwise: dict[str, None] = {}
        self.undecided: Counter[str] = Counter()
        self.unsupported: Counter[str] = Counter()
        self.outcomes: dict[str, Outcome] = {}
        self.stop = StopReason.CASES

    def _open_campaign(self) -> int:
        settings = self._settings
        identity = settings.identity(self._runner)
        if settings.resume:
            earlier = self._store.find_campaign("hunt", settings.seed, identity)
            if earlier:
                return earlier.id
            self._notes.append("nothing to resume: no hunt of this seed with these settings and versions; begun anew")
        return self._store.begin_campaign("hunt", settings.seed, identity)

    def run(self) -> None:
        """Run every engine for its share of the budget; Ctrl-C ends the hunt, not the report."""
        names = list(self._settings.engines or ENGINES.names())
        began = time.monotonic()
        try:
            for position, name in enumerate(names):
                left = self._settings.budget - (time.monotonic() - began)
                self._run_engine(ENGINES.get(name)(self._settings.seed), left / (len(names) - position))
        except KeyboardInterrupt:
            self.stop = StopReason.INTERRUPTED
        self._store.finish_campaign(self._campaign, self.stop.value)

    def _run_engine(self, engine: Engine, budget: float) -> None:
        tally = self.tallies.setdefault(engine.name, _Tally())
        known = {result.index: result for result in self._store.results(self._campaign, engine.name)}
        began, index, round_index = time.monotonic(), 0, 0
        try:
            while True:
                if engine.name == MuffinEngine.name:
                    self._run_beside(engine, tally)
                cases = engine.propose(round_index)
                verdicts: list[Sequence[Verdict]] = []
                ahead: dict[int, Result] = {}
                for position, case in enumerate(cases):
                    # what was examined with the others of its round is counted with them
                    stop = None if index in ahead else self._stop(index, time.monotonic() - began, budget)
                    if stop:
                        self.stop = stop
                        return
                    if position == 0:
                        ahead = self._round_of_steps(engine, dict(enumerate(cases, index)), known, tally)
                    verdicts.append(self._one(engine, index, case, known, ahead, tally))
                    index += 1
                engine.learn(round_index, [_taught(said) for said in verdicts])
                round_index += 1
        finally:
            tally.seconds = time.monotonic() - began

    def _run_beside(self, engine: Engine, tally: _Tally) -> None:
        """Single cases beside every round of networks, as in ``fuzz``."""
        self._beside.round()
        confirmed = [suspicion for found in self._beside.confirm() for suspicion in found]
        examined = Examined(outcomes={**self.outcomes, **self._beside.outcomes}, suspicions=confirmed)
        self._file(engine, examined, tally, lambda found: found.diagnosis.api or found.case.digest)

    def _stop(self, index: int, spent: float, budget: float) -> StopReason | None:
        if self._settings.cases is not None:
            return StopReason.CASES if self._is_beyond(index) else None
        return StopReason.BUDGET if spent >= budget else None

    def _round_of_steps(
        self, engine: Engine, cases: Mapping[int, Case], known: Mapping[int, Result], tally: _Tally
    ) -> dict[int, Result]:
        """The training steps of a round, examined together: workers stay busy, and fresh ones are started once."""
        wanted = {
            index: case
            for index, case in cases.items()
            if _is_step(case) and not _is_known(index, case, known) and not self._is_beyond(index)
        }
        if not wanted:
            return {}
        examiner = self._examiner(engine)
        try:
            steps = examiner.examine(list(wanted.values()))
        except (DataError, CaseFileError, ValueError):
            return {}  # one of them; alone it will be its own answer
        return self._keep_steps(engine, dict(zip(wanted, steps, strict=True)), tally)

    def _is_beyond(self, index: int) -> bool:
        return self._settings.cases is not None and index >= self._settings.cases

    def _one(
        self,
        engine: Engine,
        index: int,
        case: Case,
        known: Mapping[int, Result],
        ahead: Mapping[int, Result],
        tally: _Tally,
    ) -> Sequence[Verdict]:
        tally.cases += 1
        if self._settings.oracle != STEPS_ALONE and not _asks_oracle(case):
            self._otherwise.setdefault(engine.name)
        if _is_known(index, case, known):
            tally.resumed += 1
            result = known[index]
        else:
            result = ahead[index] if index in ahead else self._examine(engine, index, case, tally)
        self._count_open(result, tally)
        self._tell(Progress(engine.name, tally.cases, self._settings.cases, f"{len(self.findings)} findings"))
        return result.verdicts

    def _count_open(self, result: Result, tally: _Tally) -> None:
        left = open_questions(result.verdicts, result.statuses)
        self.unsupported.update(left.unsupported)
        self.undecided.update(left.undecided)
        tally.unsupported += bool(left.unsupported)
        tally.undecided += bool(left.undecided)

    def _examine(self, engine: Engine, index: int, case: Case, tally: _Tally) -> Result:
        """Examine one case; what our own code cannot do with it is that case's answer, not the hunt's end."""
        try:
            return self._examined(engine, index, case, tally)
        except (DataError, CaseFileError, ValueError) as error:
            reason = f"could not be examined: {type(error).__name__}: {gist(str(error))}"
            verdict = Verdict(Judgement.UNDECIDED, tuple(self._settings.targets), reason)
            result = Result(engine.name, index, case.digest, (verdict,))
            self._store.record_result(self._campaign, result)
            return result

    def _examined(self, engine: Engine, index: int, case: Case, tally: _Tally) -> Result:
        if isinstance(case.subject, ApiCall):
            return self._examined_call(engine, index, case, tally)
        if _is_step(case):
            (step,) = self._examiner(engine).examine([case])
            return self._keep_steps(engine, {index: step}, tally)[index]
        if case.procedure != Procedure() or case.counterpart is not None:
            raise ValueError(f"no examination of procedure {case.procedure.to_json()} exists yet")
        examination = Examination(self._cached, model_of(case), self._rules, listener=self._tell)
        examined = examination.run(case.inputs, case.labels, self._settings.targets)
        self.outcomes.update(examined.outcomes)
        return self._keep(engine, index, case, examined, tally)

    def _examiner(self, engine: Engine) -> StepExaminer:
        """Who judges training steps: their stages, not only their outputs."""
        if engine.name not in self._examiners:
            families = families_of(self._settings.targets)
            oracle = STEPS_ALONE if self._settings.oracle == STEPS_ALONE else HuntSettings.oracle
            witnesses = [name for name in self._runner.targets if name not in self._settings.targets]
            self._examiners[engine.name] = StepExaminer(
                self._cached, self._steppers(), families, oracle=oracle, witnesses=witnesses
            )
        return self._examiners[engine.name]

    def _keep_steps(self, engine: Engine, steps: Mapping[int, Stepped], tally: _Tally) -> dict[int, Result]:
        """Confirm, reduce and file what was found in these steps, and record them by their index."""
        examiner = self._examiner(engine)
        outcomes = {target: outcome for step in steps.values() for target, outcome in step.outcomes.items()}
        self.outcomes.update(outcomes)
        examined = Examined(outcomes=outcomes, suspicions=examiner.confirm())
        # a layer is one defect, whatever network it was found in
        self._file(engine, examined, tally, lambda found: found.diagnosis.api or found.case.digest)
        results: dict[int, Result] = {}
        for index, step in steps.items():
            statuses = {target: outcome.status for target, outcome in step.outcomes.items()}
            results[index] = Result(engine.name, index, step.case.digest, tuple(step.verdicts), statuses)
            self._store.record_result(self._campaign, results[index])
        return results

    def _steppers(self) -> list[str]:
        """The targets that can train; the others have nothing to say of a training step."""
        able = [target for target in self._settings.targets if can_train(target)]
        return able if len(able) > 1 else list(self._settings.targets)

    def _file(self, engine: Engine, examined: Examined, tally: _Tally, name_of: Callable[[Suspicion], str]) -> None:
        """Reduce and keep what is new.

        Args:
            name_of: what tells one finding of a layer from another: the model it was found in, or nothing.
        """

        def finding(suspicion: Suspicion, original: Suspicion) -> Finding:
            return make_finding(suspicion, engine.name, examined.outcomes, name_of(original), original)

        new = [found for found in examined.suspicions if not self._is_filed(finding(found, found).id)]
        prepared = self._preparation.prepare(new)
        found = self.distinct.of([(finding(item.suspicion, item.original), item) for item in prepared])
        filed = file_findings(self._store, self._campaign, found, self._settings.runner.faults)
        self.scripts = scripts_of(filed, [item for _, item in found]) | self.scripts
        for item in filed:
            tally.findings += item.id not in self.findings
            self.findings.setdefault(item.id, item)

    def _is_filed(self, identity: str) -> bool:
        return identity in self.findings or self.distinct.is_merged(identity)

    def _keep(self, engine: Engine, index: int, case: Case, examined: Examined, tally: _Tally) -> Result:
        """Findings first: a result that is recorded has nothing left to do."""
        name = model_of(case).name
        self._file(engine, examined, tally, lambda suspicion: name)
        statuses = {target: outcome.status for target, outcome in examined.outcomes.items()}
        result = Result(engine.name, index, case.digest, tuple(examined.verdicts), statuses)
        self._store.record_result(self._campaign, result)
        return result

    def _examined_call(self, engine: Engine, index: int, case: Case, tally: _Tally) -> Result:
        """One operator: judged, confirmed, reduced and filed at once."""
        steady = {id for id, finding in self.findings.items() if finding.diagnosis.klass is not Class.FLAKY}
        (examined,) = self._judge.examine([Ask(case, tuple(self._settings.targets), (PRECISION,))])
        self.outcomes.update(examined.own)
        preparation = Preparation(self._runner, self._cached, REDUCING, self._tell)
        faults = self._settings.runner.faults
        filing = Filing(self._judge, preparation, self._store, self._campaign, faults, self.outcomes, steady)
        filing.file(sightings_of(examined))
        for finding in filing.findings:
            tally.findings += finding.id not in self.findings
            self.findings.setdefault(finding.id, finding)
        statuses = {target: outcome.status for target, outcome in examined.own.items()}
        result = Result(engine.name, index, case.digest, examined.judged.verdicts, statuses)
        self._store.record_result(self._campaign, result)
        return result

    def _note_on_oracle(self) -> list[str]:
        if self._settings.oracle == STEPS_ALONE:
            return [f"the oracle {STEPS_ALONE} judges training steps; all else is judged by {HuntSettings.oracle}"]
        if self._settings.oracle == HuntSettings.oracle or not self._otherwise:
            return []
        names = ", ".join(self._otherwise)
        return [f"the oracle {self._settings.oracle} compares whole models; of {names} cases are judged by other rules"]

    def facts(self, seconds: float) -> Facts:
        undecided = sum(tally.undecided for tally in self.tallies.values())
        return Facts(
            command="hunt",
            seed=self._settings.seed,
            targets=target_facts(self._runner, self._settings.targets, self.outcomes),
            stats={
                "cases": sum(tally.cases for tally in self.tallies.values()),
                "seconds": seconds,
                "undecided": undecided,
                "per_engine": {name: tally.to_json() for name, tally in self.tallies.items()},
                "stop_reason": self.stop.value,
                "again": dict(self.distinct.again),
                **self._beside.counts(),
            },
            findings=tuple(self.findings.values()),
            notes=(
                f"ended because {self.stop.value}" if self.stop is not StopReason.INTERRUPTED else "interrupted",
                *self._notes,
                *self._note_on_oracle(),
                *(f"fault {f.name} is planted in {t}" for t, f in self._settings.runner.faults.items()),
            ),
            isolated_threshold=K,
            undecided=self.undecided,
            unsupported=self.unsupported,
            scripts=self.scripts,
        )


def model_oracle(name: str) -> str:
    """Who judges whole models: the paper's rule of training steps has nothing to say of them.

    Raises:
        UsageError: for an unknown oracle.
    """
    if name not in ORACLES and name != STEPS_ALONE:
        raise UsageError(f"unknown oracle {name!r}; known are {', '.join(sorted([*ORACLES.names(), STEPS_ALONE]))}")
    return HuntSettings.oracle if name == STEPS_ALONE else name


def _is_step(case: Case) -> bool:
    return case.procedure.loss is not None and case.counterpart is None and not isinstance(case.subject, ApiCall)


def _is_known(index: int, case: Case, known: Mapping[int, Result]) -> bool:
    return index in known and known[index].case_digest == case.digest


def _asks_oracle(case: Case) -> bool:
    """Calls and training steps have judges of their own."""
    return not isinstance(case.subject, ApiCall) and (case.procedure.loss is None or case.counterpart is not None)


def _taught(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """What an engine may learn from: time-outs, memory and what did not show again never teach."""
    return [v for v in verdicts if v.judgement is not Judgement.UNDECIDED and v.kind is not Kind.HANG]


@dataclass(frozen=True)
class Hunted:
    facts: Facts
    broken: bool
    store: Path


def hunt(settings: HuntSettings, listener: Listener = silent) -> Hunted:
    """Run a hunt to its end and return what was found.

    Raises:
        UsageError: for unknown targets or engines.
        StoreError: if the store cannot be written.
    """
    began = time.monotonic()
    for name in settings.engines:
        ENGINES.get(name)
    with (
        open_store(settings.store, folder=settings.folder) as store,
        open_runner([*settings.targets, *witnesses_for(settings.targets)], settings.runner) as runner,
    ):
        campaign = Hunt(settings, runner, store, listener)
        campaign.run()
        broken = any(target in settings.targets for target in runner.broken)
        return Hunted(campaign.facts(time.monotonic() - began), broken, store.folder)
