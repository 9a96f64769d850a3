"""``precision``: the largest precision error of every operator, found by search, with the input that causes it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import __version__
from ..campaign.budget import StopReason
from ..campaign.events import Event, Listener, Progress, silent
from ..campaign.filing import target_facts
from ..campaign.loop import run_engines
from ..campaign.sections import Sections
from ..campaign.session import CampaignSession
from ..core.engine import Ask, Result
from ..core.errors import UsageError
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.operator_errors import ModelRun, PaperRun, Precision
from ..core.oracle import Setup
from ..core.verdict import Judgement
from ..engines.predoo.algorithm import MODES, STRATEGIES
from ..engines.predoo.engine import Phase, PredooEngine, Searching
from ..engines.predoo.paper import PaperSearching, PaperTask, instance_settings
from ..engines.predoo.searches import ALL_STRATEGIES
from ..operators.functions.catalogue import SEVEN, find_operators
from ..operators.functions.spec import DTYPES, Operator
from ..operators.reference.rounding import K
from ..oracles.measure.operator_errors import MEASURES
from ..oracles.precision_instances import PAPER_DTYPES
from ..reporting.facts import Facts
from ..store.database import Store, open_store
from ..targets.catalogue import TARGETS, spec_of, trainers, traits_of
from ..targets.environments import find_environment, inventory
from ..targets.names import parse_target
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..targets.selection import named_targets
from ..triage.examine import Examiner
from ..triage.reduction.preparation import Preparation
from .compare import CompareSettings, compare
from .operator_findings import REDUCING, OncePerOperator
from .worst_inputs import WorstInputs

#: Table 3: models of the zoo made of the paper's operators.
TABLE_3 = ("zoo:lenet5", "zoo:vgg16")
#: The paper's 20,000 inputs; and how many an operator gets in each dtype where all of them are swept.
INPUTS, SWEEP_INPUTS = 20_000, 400
#: What a user says for every installed target that can be called, compiled flavours too.
ALL_TARGETS = "all"
_ENGINE = PredooEngine.name
_INTERRUPTED, _BUDGET = StopReason.INTERRUPTED.value, StopReason.BUDGET.value
#: How much of the budget is for searching; the rest is for reducing and confirming.
_SEARCHING = 0.75
_UNJUDGED = "what is beyond the bound was not blamed, reduced or confirmed"


@dataclass(frozen=True)
class PrecisionSettings:
    """What ``precision`` is told.

    Args:
        operators: globs; all by default.
        strategies: for measure ``paper`` those of the paper; else how inputs are searched.
        modes: of the paper's measure.
        inputs: tn, per operator and run.
        times: apply the operator so many times in a row (measure ``paper``).
        models: also compare these models (Table 3).
        budget: seconds after which no further operator is begun.
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
    seed: int = 0
    budget: float | None = None
    models: tuple[str, ...] = ()
    store: str | Path = "tensorparity-out"
    folder: Path | None = None
    runner: RunnerSettings = field(default_factory=RunnerSettings)
    sections: Sections = field(default_factory=Sections)

    def check(self) -> None:
        """Raise UsageError for a name that is none."""
        for what, given, known in (
            ("measure", (self.measure,), MEASURES),
            ("dtype", self.dtypes, DTYPES),
            ("mode", self.modes, MODES),
            ("strategy", self.strategies, STRATEGIES if self.measure == "paper" else ALL_STRATEGIES),
        ):
            for name in given:
                if name not in known:
                    raise UsageError(f"unknown {what} {name!r}; known are {', '.join(known)}")
        if self.measure != "paper" and (self.modes or self.times > 1):
            raise UsageError("modes, and operators applied several times, are of measure 'paper': add --measure paper")
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
    stiff = [operator.name for operator in operators if settings.times > 1 and not operator.unary]
    if stiff:
        raise UsageError(f"the output of {', '.join(stiff)} is no input of the same kind: --times is not for them")
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
        self.seconds: dict[tuple[str, ...], float] = {}
        self._setup = Setup(settings.seed, tuple(settings.targets), traits_of(runner.targets), self._searched())
        self._engine = PredooEngine(self._setup)
        identity = {"tensorparity": __version__, "targets": list(settings.targets), "measure": settings.measure}
        self._campaign = store.begin_campaign("precision", settings.seed, identity)
        self._selection = OncePerOperator(self._setup.traits, self._is_piece_done)
        self._session = self._open_session()
        self._undecided: list[str] = []
        self._left_out: list[str] = []
        self._unjudged = _UNJUDGED
        self._stop = "all searches were run"

    def _open_session(self) -> CampaignSession:
        """Results are not recorded: a search has no end of them, and nobody resumes it."""
        settings = self._settings
        oracles = {**settings.sections.oracles, **instance_settings(settings.dtypes or PAPER_DTYPES)}
        examiner = Examiner(self._runner, self._setup, settings=oracles)
        return CampaignSession(
            examiner,
            Preparation(self._runner, examiner, REDUCING, self._tell),
            self._heard,
            self._store,
            self._campaign,
            settings.runner.faults,
            selection=self._selection,
            resumable=False,
        )

    def _heard(self, event: Event) -> None:
        """How far the searches are is told by themselves; the loop only counts their batches."""
        if not (isinstance(event, Progress) and event.phase == _ENGINE):
            self._tell(event)

    def run(self) -> Searched:
        settings = self._settings
        worst = WorstInputs(self._store, self._campaign, settings.runner.faults, self._session.outcomes)
        models: list[ModelRun] = []
        try:
            if self._engine.paper is not None:
                self._search_paper(self._engine.paper)
            else:
                self._search()
            if self._stop != _INTERRUPTED:
                self._models(models)
        except KeyboardInterrupt:
            self._stop = _INTERRUPTED
        notebooks = self._engine.searching.notebooks if self._engine.searching else []
        paper = self._paper_runs(worst)
        runs = [run for notebook in notebooks for run in worst.of_notebook(notebook)]
        self._left_out += [f"not every worst input was kept: {worst.problem}"] if worst.problem else []
        self._store.finish_campaign(self._campaign, self._stop)
        self._undecided += [notebook.undecided for notebook in notebooks if notebook.undecided]
        precision = Precision(settings.measure, K, tuple(paper), tuple(runs), tuple(models))
        findings = tuple(self._session.findings.values())
        return Searched(self._facts(precision, findings), bool(self._runner.broken), self._store.folder)

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
            **settings.sections.engine(_ENGINE),
        }

    @property
    def _searching(self) -> Searching:
        assert self._engine.searching is not None
        return self._engine.searching

    @property
    def share(self) -> float:
        """Of the budget, for each of the two kinds of targets there are."""
        compiled = [target for target in self._settings.targets if self._setup.traits[target].compiled]
        return _SEARCHING / 2 if 0 < len(compiled) < len(self._settings.targets) else _SEARCHING

    def tell_progress(self, searching: Searching) -> None:
        if searching.phase in (Phase.EAGER, Phase.COMPILED):
            detail = ", ".join(searching.under_way)
            self._tell(Progress(searching.phase.value, searching.done, searching.total, detail))

    def go_on(self, share: float = 1.0, since: float | None = None) -> bool:
        """Whether to begin something: not once this share of the budget is used up, counted from ``since`` on."""
        budget, began = self._settings.budget, self._began if since is None else since
        if budget is None or time.monotonic() - began < share * budget:
            return True
        self._stop = _BUDGET
        return False

    def _search_paper(self, searching: PaperSearching) -> None:
        """Run the paper's searches to their end; calls that ended badly are filed after them."""
        first = self._operators[0]
        for target in self._settings.targets:  # a worker's start is no part of anybody's time
            task = PaperTask(first, target, "random", "op_mode", shape=first.shapes[0], inputs=3)
            asks = [task.ask(batch) for batch in task.search().ask(task.inputs)]
            for examined in self._session.examiner.examine(asks):
                self._session.remember(examined.own)
        if run_engines(self._session, [_TimedPaper(self, self._engine, searching)]) is StopReason.INTERRUPTED:
            self._stop = _INTERRUPTED
        self._undecided += searching.problems
        left = self._selection.unfiled
        self._unjudged = f"{_UNJUDGED} of {', '.join(left)}" if left else ""

    def tell_paper_progress(self, searching: PaperSearching, task: PaperTask) -> None:
        detail = f"{task.operator.name}, {task.mode}, {task.strategy}"
        self._tell(Progress("search", searching.done, searching.total, detail))

    def _paper_runs(self, worst: WorstInputs) -> list[PaperRun]:
        searched = self._engine.paper.searched if self._engine.paper else []
        return [replace(worst.of_paper(one), seconds=self.seconds[one.task.name]) for one in searched]

    def _is_piece_done(self) -> bool:
        """Whether what was convicted is filed now; of the paper's searches it is in the end."""
        return self._engine.searching is not None and self._engine.searching.piece_done

    def _search(self) -> None:
        """Run the engine to its end; what it finds is filed a piece at a time."""
        if run_engines(self._session, [_Timed(self, self._engine)]) is StopReason.INTERRUPTED:
            self._stop = _INTERRUPTED
        if self._searching.phase in (Phase.JUDGE, Phase.DONE):
            left = dict.fromkeys([*self._searching.unjudged, *self._selection.unfiled])
            self._unjudged = f"{_UNJUDGED} of {', '.join(left)}" if left else ""

    def _models(self, found: list[ModelRun]) -> None:
        models = self._settings.models
        backends = [name for name in trainers() if _is_installed(name)][:2]
        if models and len(backends) < 2:
            self._left_out.append("Table 3 is left out: it compares two backends of Keras, and fewer are installed")
            return
        for position, model in enumerate(models):
            if not self.go_on():
                self._left_out.append(f"Table 3 is without {', '.join(models[position:])}: {_BUDGET}")
                return
            self._tell(Progress("compare", position, len(models), model))
            try:
                found.append(_run_compare(model, self._settings, backends))
            except Exception as error:
                self._undecided.append(_told(model, error))

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
                "operators": len(self._operators),
                "unsupported": len(silent),
                "stop_reason": self._stop,
            },
            findings=tuple(findings),
            subject=f"{len(self._operators)} operators" if len(self._operators) > 1 else self._operators[0].name,
            notes=self._notes(),
            isolated_threshold=K,
            precision=precision,
        )

    def _notes(self) -> tuple[str, ...]:
        planted = (
            f"fault {fault.name} is planted in {target}" for target, fault in self._settings.runner.faults.items()
        )
        early = f"ended early: {self._stop}" + (f"; {self._unjudged}" if self._unjudged else "")
        return (
            *([early] if self._stop in (_INTERRUPTED, _BUDGET) else []),
            *self._left_out,
            *(f"undecided: {what}" for what in self._undecided),
            *planted,
        )


class _Timed:
    """The engine under a budget: three quarters for searching, half of it for what compiles; the rest for filing.

    A phase that used up its time is ended, so that the next one has its own.
    """

    def __init__(self, run: _Run, engine: PredooEngine) -> None:
        assert engine.searching is not None
        self.name, self.ahead = engine.name, engine.ahead
        self._run, self._engine, self._searching = run, engine, engine.searching
        self._phase, self._since = engine.searching.phase, time.monotonic()
        self._pieces = 0

    def ask(self) -> Sequence[Ask]:
        while self._searching.phase is not Phase.DONE:
            self._run.tell_progress(self._searching)
            if self._has_time():
                return self._engine.ask()
            self._searching.end_phase()
        return ()

    def tell(self, results: Sequence[Result]) -> None:
        judged = self._searching.is_judging
        self._engine.tell(results)
        self._pieces += judged and self._searching.piece_done

    def tables(self) -> Mapping[str, Json]:
        return self._engine.tables()

    def _has_time(self) -> bool:
        phase = self._searching.phase
        if phase is not self._phase:  # its share is its own, however long the others took
            self._phase, self._since = phase, time.monotonic()
        if phase is Phase.JUDGE:  # so that a search that took all the time does not leave all undecided
            return not self._pieces or self._run.go_on(1 - _SEARCHING, self._since)
        return self._run.go_on(self._run.share, None if phase is Phase.EAGER else self._since)


class _TimedPaper:
    """The engine of the paper's searches: no run is begun once the time is used up, and each is timed."""

    def __init__(self, run: _Run, engine: PredooEngine, searching: PaperSearching) -> None:
        self.name, self.ahead = engine.name, engine.ahead
        self._run, self._engine, self._searching = run, engine, searching
        self._since = time.monotonic()

    def ask(self) -> Sequence[Ask]:
        following = self._searching.following
        if following is not None:
            if not self._run.go_on(_SEARCHING):
                return ()
            self._run.tell_paper_progress(self._searching, following)
            self._since = time.monotonic()
        return self._engine.ask()

    def tell(self, results: Sequence[Result]) -> None:
        task = self._searching.task
        assert task is not None
        self._engine.tell(results)
        self._run.seconds[task.name] = time.monotonic() - self._since

    def tables(self) -> Mapping[str, Json]:
        return self._engine.tables()


def _told(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__}: {gist(str(error))}"


_LAYERS = {"Conv2D": "conv2d", "MaxPooling2D": "pooling", "BatchNormalization": "norm", "Softmax": "softmax"}


def _run_compare(model: str, settings: PrecisionSettings, backends: Sequence[str]) -> ModelRun:
    """What ``compare`` sees of the same operators in a model, and how long it takes."""
    began = time.monotonic()
    result = compare(
        model,
        CompareSettings(
            targets=backends,
            instances=16,
            store=settings.store,
            folder=settings.folder,
            runner=settings.runner,
            localize="always",
        ),
    )
    seconds = time.monotonic() - began
    comparisons = result.facts.comparisons or ()
    types = {layer.type for pair in comparisons for layer in pair.layers}
    worst = max((layer.deviation or 0.0 for pair in comparisons for layer in pair.layers), default=0.0)
    failed = [pair for pair in comparisons if pair.verdict.judgement is Judgement.FAIL]
    problem = "; ".join(pair.verdict.reason for pair in failed) or f"none (largest deviation of a layer {worst:.2g})"
    return ModelRun(model, seconds, tuple(_LAYERS[name] for name in _LAYERS if name in types), problem)


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
        chosen = [name for name in ("tensorflow:eager",) if _is_installed(name)]
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
