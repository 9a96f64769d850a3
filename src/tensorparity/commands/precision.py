"""``precision``: the largest precision error of every operator, found by search, with the input that causes it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import __version__
from ..campaign.budget import StopReason
from ..campaign.events import CaseDone, EngineEnded, Event, Listener, Progress, silent, to_all
from ..campaign.explained import defects_in_figures
from ..campaign.filing import target_facts
from ..campaign.loop import run_engines
from ..campaign.phases import PartTimes
from ..campaign.sections import Sections
from ..campaign.session import CampaignSession
from ..campaign.settings_trial import try_settings, without_trial
from ..core.engine import Engine, Phased
from ..core.errors import UsageError
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.near_misses import meant
from ..core.operator_errors import ModelRun, OperatorRun, PaperRun, Precision
from ..core.oracle import Setup
from ..engines.predoo.algorithm import MODES, STRATEGIES
from ..engines.predoo.engine import PredooEngine
from ..engines.predoo.paper import instance_settings
from ..engines.predoo.searches import ALL_STRATEGIES
from ..operators.functions.catalogue import SEVEN, find_operators
from ..operators.functions.spec import DTYPES, Operator
from ..operators.reference.rounding import K
from ..oracles.kinds import check_choice
from ..oracles.measure.operator_errors import MEASURES
from ..oracles.operator_error import PRECISION
from ..oracles.precision_instances import PAPER_DTYPES
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import PAPER_TARGETS, TARGETS, spec_of, trainers, traits_of
from ..targets.environments import find_environment, inventory
from ..targets.names import parse_target
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..targets.selection import named_targets
from ..triage.examine import Examiner
from ..triage.reduction.preparation import Preparation
from .chosen_oracle import notes_on_oracle
from .operator_findings import REDUCING, OncePerOperator
from .operator_models import TABLE_3, compare_model
from .texts import with_texts
from .worst_inputs import WorstInputs

#: The paper's 20,000 inputs; and how many an operator gets in each dtype where all of them are swept.
INPUTS, SWEEP_INPUTS = 20_000, 400
#: What a user says for every installed target that can be called, compiled flavours too.
ALL_TARGETS = "all"
_ENGINE = PredooEngine.name
_UNJUDGED = "what is beyond the bound was not blamed, reduced or confirmed"


@dataclass(frozen=True)
class PrecisionSettings:
    """What ``precision`` is told.

    Args:
        operators: globs; all by default.
        strategies: for measure ``paper`` those of the paper; else how inputs are searched.
        modes: of the paper's measure.
        inputs: tn, per operator and run.
        times: apply the operator so many times in a row (measure ``paper``, like those that follow).
        shape: of an input; each operator's own by default.
        size: seeds of a corpus; as many as a group has inputs by default.
        params: of the operators' other parameters, those that are not drawn.
        models: also compare these models (Table 3).
        budget: seconds, for everything.
        oracle: who judges the worst inputs instead of the default, if it can.
        settings_seconds: after which no other settings are tried for what was found; 0 tries none.
        sections: settings of engines and oracles.
    """

    targets: Sequence[str]
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    measure: str = "operator"
    inputs: int = INPUTS
    times: int = 1
    shape: tuple[int, ...] = ()
    size: int | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    seed: int = 0
    budget: float | None = None
    settings_seconds: float = 0.0
    models: tuple[str, ...] = ()
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    oracle: str = ""
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    sections: Sections = field(default_factory=Sections)

    def check(self) -> None:
        """Raise UsageError for a name that is none."""
        if self.oracle:
            check_choice(self.oracle)
        for what, given, known in (
            ("measure", (self.measure,), MEASURES),
            ("dtype", self.dtypes, DTYPES),
            ("mode", self.modes, MODES),
            ("strategy", self.strategies, STRATEGIES if self.measure == "paper" else ALL_STRATEGIES),
        ):
            for name in given:
                if name not in known:
                    raise UsageError(f"unknown {what} {name!r}{meant(name, known)}; known are {', '.join(known)}")
        if self.measure != "paper" and (self.modes or self.times > 1 or self.shape or self.size or self.params):
            raise UsageError(
                "modes, shape, size, parameters, and operators applied several times, are of measure 'paper': "
                "add --measure paper"
            )
        if self.measure == "paper" and len(self.dtypes) == 1:
            raise UsageError("measure 'paper' compares precisions: give more than one --dtype, or none")


@dataclass(frozen=True)
class Searched:
    facts: Facts
    broken: bool
    store: Path


def precision(settings: PrecisionSettings, listener: Listener = silent) -> Searched:
    """Run the searches to their end and return what was found.

    Raises:
        UsageError: for an unknown operator, target, dtype, strategy, mode or measure.
        StoreError: if the store cannot be written.
    """
    settings.check()
    operators = find_operators(settings.operators)
    stiff = [operator.name for operator in operators if settings.times > 1 and not (operator.unary or operator.again)]
    if stiff:
        raise UsageError(f"the output of {', '.join(stiff)} is no input of the same kind: --times is not for them")
    known = {parameter.name for operator in operators for parameter in operator.parameters}
    for name in settings.params:
        if name not in known:
            raise UsageError(f"no chosen operator has a parameter {name!r}; there are {', '.join(sorted(known))}")
    with (
        open_store(settings.store, folder=settings.folder) as store,
        open_runner(settings.targets, settings.runner) as runner,
    ):
        return _Run(settings, operators, runner, store, listener).run()


class _Run:
    def __init__(
        self, settings: PrecisionSettings, operators: list[Operator], runner: LocalRunner, store: Store, tell: Listener
    ) -> None:
        self._settings, self._operators = settings, operators
        self._runner, self._store, self._tell = runner, store, tell
        self._began = time.monotonic()
        #: How long each run of the paper's took.
        self._times = PartTimes()
        self._ended: EngineEnded | None = None
        self._judges: set[str] = set()
        self._setup = Setup(settings.seed, tuple(settings.targets), traits_of(runner.targets), self._searched())
        self._engine: Engine = PredooEngine(self._setup)
        identity = {"tensorparity": __version__, "targets": list(settings.targets), "measure": settings.measure}
        self._campaign = store.begin_campaign("precision", settings.seed, identity)
        self._selection = OncePerOperator(self._setup.traits, self._is_settled)
        self._session = self._open_session()
        self._undecided: list[str] = []
        self._left_out: list[str] = []
        self._unjudged = _UNJUDGED
        self._stop: StopReason | None = None

    def _open_session(self) -> CampaignSession:
        """Results are not recorded: a search has no end of them, and nobody resumes it."""
        settings = self._settings
        oracles = {**settings.sections.oracles, **instance_settings(settings.dtypes or PAPER_DTYPES)}
        examiner = Examiner(self._runner, self._setup, oracle=settings.oracle, settings=oracles)
        return CampaignSession(
            examiner,
            Preparation(self._runner, examiner, REDUCING, self._tell, settings.runner.time_limit),
            to_all([self._times, self._hear, self._tell]),
            self._store,
            self._campaign,
            settings.runner.faults,
            selection=self._selection,
            resumable=False,
            local=self._runner,
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, EngineEnded):
            self._ended = event
        elif isinstance(event, CaseDone) and event.oracle:
            self._judges.add(event.oracle)

    def run(self) -> Searched:
        settings = self._settings
        worst = WorstInputs(self._store, self._campaign, settings.runner.faults, self._session.outcomes)
        models: list[ModelRun] = []
        try:
            self._search()
            if self._stop is not StopReason.INTERRUPTED:
                self._try_settings()
                self._models(models)
        except KeyboardInterrupt:
            self._stop = StopReason.INTERRUPTED
        paper, runs = self._rows(worst)
        self._left_out += [f"not every worst input was kept: {worst.problem}"] if worst.problem else []
        self._store.finish_campaign(self._campaign, self._stop_reason)
        precision = Precision(settings.measure, K, tuple(paper), tuple(runs), tuple(models))
        findings = tuple(self._session.findings.values())
        facts = with_texts(self._facts(precision, findings), self._store)
        return Searched(facts, bool(self._runner.broken), self._store.folder)

    def _searched(self) -> dict[str, object]:
        """The engine's settings."""
        settings = self._settings
        return {
            "measure": settings.measure,
            "modes": settings.modes,
            "times": settings.times,
            "operators": [operator.name for operator in self._operators],
            "dtypes": settings.dtypes,
            "strategies": settings.strategies,
            "inputs": settings.inputs,
            "shape": settings.shape,
            "size": settings.size,
            "params": dict(settings.params),
            **settings.sections.engine(_ENGINE),
        }

    @property
    def _stop_reason(self) -> str:
        return self._stop.value if self._stop else "all searches were run"

    def _has_time(self) -> bool:
        budget = self._settings.budget
        if budget is None or time.monotonic() - self._began < budget:
            return True
        self._stop = StopReason.BUDGET
        return False

    def _is_settled(self) -> bool:
        """Whether what was convicted is filed now."""
        return isinstance(self._engine, Phased) and self._engine.settled

    def _search(self) -> None:
        """Run the engine to its end; what it finds is filed a piece at a time, or in the end."""
        seconds = without_trial(self._settings.budget, self._settings.settings_seconds)
        stop = run_engines(self._session, [self._engine], seconds=seconds, began=self._began)
        self._stop = None if stop is StopReason.CASES else stop

    def _try_settings(self) -> None:
        """What was found, under other settings; Ctrl-C ends this alone, and with it the run."""
        if not try_settings(self._session, self._runner, self._tell, self._settings.settings_seconds):
            raise KeyboardInterrupt

    def _rows(self, worst: WorstInputs) -> tuple[list[PaperRun], list[OperatorRun]]:
        """The rows of the engine's tables, with their worst inputs kept, and what was left open."""
        assert self._ended is not None
        tables, kept = self._ended.tables, worst.keep(self._ended.kept)
        self._undecided += tables["undecided"]
        if tables["unjudged"] is not None:
            left = dict.fromkeys([*tables["unjudged"], *self._selection.unfiled])
            self._unjudged = f"{_UNJUDGED} of {', '.join(left)}" if left else ""
        paper = [PaperRun.from_json(row) for row in tables.get("paper", ())]
        operators = [OperatorRun.from_json(row) for row in tables.get("operators", ())]
        return (
            [
                replace(run, seconds=self._times.seconds.get(_part(run), 0.0), case=kept.get(("paper", place), ""))
                for place, run in enumerate(paper)
            ],
            [replace(run, case=kept.get(("operators", place), "")) for place, run in enumerate(operators)],
        )

    def _models(self, found: list[ModelRun]) -> None:
        settings, models = self._settings, self._settings.models
        backends = [name for name in trainers() if _is_installed(name)][:2]
        if models and len(backends) < 2:
            self._left_out.append("Table 3 is left out: it compares two backends of Keras, and fewer are installed")
            return
        for position, model in enumerate(models):
            if not self._has_time():
                self._left_out.append(f"Table 3 is without {', '.join(models[position:])}: {StopReason.BUDGET.value}")
                return
            self._tell(Progress("compare", position, len(models), model))
            try:
                found.append(compare_model(model, backends, settings.store, settings.folder, settings.runner))
            except Exception as error:
                self._undecided.append(_error_in_words(model, error))

    def _facts(self, precision: Precision, findings: Sequence[Finding]) -> Facts:
        settings = self._settings
        inputs = sum(run.inputs for run in precision.paper) + sum(run.inputs for run in precision.operators)
        silent = [run for run in precision.operators if run.status != "measured"]
        seconds = time.monotonic() - self._began
        return Facts(
            command="precision",
            seed=settings.seed,
            targets=target_facts(self._runner, settings.targets, self._session.outcomes),
            stats={
                "cases": inputs,
                "seconds": seconds,
                "undecided": len(self._undecided),
                "per_engine": {
                    _ENGINE: {
                        "cases": inputs,
                        "seconds": seconds,
                        "undecided": len(self._undecided),
                        "findings": len(findings),
                    }
                },
                **defects_in_figures(self._session),
                "operators": len(self._operators),
                "unsupported": len(silent),
                "stop_reason": self._stop_reason,
            },
            findings=tuple(findings),
            subject=f"{len(self._operators)} operators" if len(self._operators) > 1 else self._operators[0].name,
            notes=self._notes(),
            isolated_threshold=K,
            interrupted=self._stop is StopReason.INTERRUPTED,
            planted={target: fault.name for target, fault in settings.runner.faults.items()},
            suspected=self._session.suspected(),
            precision=precision,
        )

    def _notes(self) -> tuple[str, ...]:
        early = f"ended early: {self._stop_reason}" + (f"; {self._unjudged}" if self._unjudged else "")
        return (
            *([early] if self._stop else []),
            *self._left_out,
            *notes_on_oracle(self._settings.oracle, {_ENGINE: self._judges}, PRECISION),
            *(f"undecided: {what}" for what in self._undecided),
            *self._session.open_questions(),
        )


def _part(run: PaperRun) -> str:
    """What its cases are asked as part of."""
    return "/".join((run.operator, run.target, run.mode, run.strategy))


def _error_in_words(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__}: {gist(str(error))}"


def _is_installed(target: str) -> bool:
    return not inventory(find_environment("")).missing(TARGETS.get(target))


def choose_operator_targets(text: str | None, measure: str) -> list[str]:
    """The targets a user named, or every installed library that can be called; compiled flavours by name, or "all".

    Raises:
        UsageError: for an unknown target, one that is not installed or runs no calls, or none at all.
    """
    if text is not None and text != ALL_TARGETS:
        chosen = named_targets(text)
    elif measure == "paper":
        chosen = [name for name in PAPER_TARGETS if _is_installed(name)]
    else:
        specs = [TARGETS.get(name) for name in TARGETS.names()]
        chosen = [s.name for s in specs if s.traits.calls and not s.traits.arbiter and _is_installed(s.name)]
        if text != ALL_TARGETS:
            chosen = [name for name in chosen if not TARGETS.get(name).traits.compiled]
    for name in chosen:
        if not spec_of(parse_target(name)).traits.calls:
            raise UsageError(f"{name} runs no single calls")
    if not chosen:
        raise UsageError("no installed library can be called; 'tensorparity targets' says how to get one")
    return chosen


__all__ = ["SEVEN", "TABLE_3", "PrecisionSettings", "Searched", "choose_operator_targets", "precision"]
