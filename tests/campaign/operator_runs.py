"""The searches of ``precision`` on a runner of our own, and what is filed of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorparity.campaign.budget import CampaignBudget
from tensorparity.campaign.engine_search import result_of
from tensorparity.campaign.events import silent
from tensorparity.campaign.loop import Loop
from tensorparity.campaign.session import CampaignSession, Everything
from tensorparity.commands.operator_findings import REDUCING, OncePerOperator
from tensorparity.core.arrays import Array, dtype_name, dtype_named
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.engine import Ask, Result
from tensorparity.core.finding import Finding
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import Traits
from tensorparity.engines.predoo.engine import PredooEngine
from tensorparity.engines.predoo.notebook import Notebook
from tensorparity.engines.predoo.paper import PaperSearched, PaperSearching, PaperTask, instance_settings
from tensorparity.operators.functions.catalogue import operator_of
from tensorparity.oracles.operator_error import PRECISION
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.hanging import HangMemory
from tensorparity.targets.packing import packs_of
from tensorparity.targets.runner import RunnerSettings
from tensorparity.triage.examine import Examined, Examiner
from tensorparity.triage.reduction.preparation import Preparation, Prepared

Answer = Callable[[Case], Outcome | Array]


class Exact:
    """Targets that compute with our own references, rounded once; some do something else."""

    broken: Mapping[str, Any] = {}

    def __init__(self, targets: Sequence[str], odd: dict[str, Answer] | None = None) -> None:
        self.targets = tuple(targets)
        self._odd = odd or {}
        self.asked: list[tuple[Case, str]] = []
        self.fresh = 0
        self.packs: list[int] = []
        self.hanging, self.settings = HangMemory(), RunnerSettings()

    def within(self, limit: object) -> Exact:
        return self

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], *, fresh: bool = False, **_: Any) -> list[Outcome]:
        self.fresh += fresh
        self.asked += pairs
        compiled = eager_traits(self.targets)
        self.packs += [len(pack) for pack in packs_of(pairs, lambda target: compiled[target].compiled)]
        return [self._one(case, target) for case, target in pairs]

    def _one(self, case: Case, target: str) -> Outcome:
        found = self._odd[target](case) if target in self._odd else exact(case)
        return found if isinstance(found, Outcome) else Outcome(target, Status.COMPLETED, {"0": found})


def exact(case: Case) -> Array:
    assert isinstance(case.subject, ApiCall)
    operator = operator_of(case.subject.api)
    assert operator is not None
    dtype = case.procedure.dtype or dtype_name(next(iter(case.inputs.values())))
    arrays = [array.astype(dtype_named(dtype)).astype(np.float64) for array in operator.operand_arrays(case.inputs)]
    with np.errstate(all="ignore"):
        return np.asarray(operator.evaluate(dict(case.subject.kwargs), arrays).value).astype(dtype_named(dtype))


def absolute_sigmoid(case: Case) -> Array:
    """As a polynomial that is good to 1e-7 of one, and not of the value."""
    return np.maximum(np.round(exact(case).astype(np.float64), 7), 0).astype(exact(case).dtype)


def skipping_nan(case: Case) -> Array:
    return np.nan_to_num(exact(case), nan=0.0, posinf=np.inf, neginf=-np.inf)


class Searched(list[Notebook]):
    """The notebooks of a run, and where something was suspected in it."""

    def __init__(self, notebooks: Sequence[Notebook], examined: Sequence[Examined]) -> None:
        super().__init__(notebooks)
        self.examined = list(examined)


def eager_traits(targets: Sequence[str]) -> Traits:
    """As the catalogue has them, but only ``torch:compile`` compiles."""
    known = traits_of(targets)
    return Traits({target: replace(known[target], compiled=target == "torch:compile") for target in targets})


def setup_of(targets: Sequence[str], **settings: Any) -> Setup:
    return Setup(0, tuple(targets), eager_traits(targets), settings)


def examiner_of(runner: Any) -> Examiner:
    return Examiner(runner, setup_of(runner.targets))


def searched(
    runner: Any,
    operators: str | Sequence[str],
    dtypes: Sequence[str] = ("float32",),
    *,
    inputs: int = 200,
    strategy: str = "guided",
    go_on: Callable[[], bool] = lambda: True,
) -> Searched:
    """Run the engine to its end."""
    names = [operators] if isinstance(operators, str) else list(operators)
    setup = setup_of(runner.targets, operators=names, dtypes=dtypes, inputs=inputs, strategies=(strategy,))
    engine = PredooEngine(setup)
    seen = run(runner, engine, go_on)
    assert engine.searching is not None
    return Searched(engine.searching.notebooks, seen)


@dataclass(frozen=True)
class SearchedPaper:
    """A run of Algorithm 1, and where something was suspected in it."""

    searched: PaperSearched
    examined: list[Examined]


def search_paper(runner: Any, task: PaperTask) -> SearchedPaper:
    """One run to its end, without the loop's filing."""
    setup = setup_of(runner.targets)
    examiner = Examiner(runner, setup, settings=instance_settings(task.dtypes))
    searching = PaperSearching([task], setup.traits)
    suspected: list[Examined] = []
    while asks := searching.ask():
        examined = examiner.examine(asks)
        suspected += [item for item in examined if item.judged.suspicions]
        searching.tell([result_of(index, item) for index, item in enumerate(examined)])
    assert not searching.problems
    return SearchedPaper(searching.searched[0], suspected)


class _Remembering(Everything):
    """Files nothing, and keeps what it would have filed."""

    def __init__(self) -> None:
        self.examined: list[Examined] = []

    def choose(self, examined: Sequence[Examined]) -> list[Examined]:
        self.examined += examined
        return []


class _Asked:
    """An engine that is asked only as long as somebody says so."""

    def __init__(self, engine: PredooEngine, go_on: Callable[[], bool]) -> None:
        self.name, self.ahead = engine.name, engine.ahead
        self._engine, self._go_on = engine, go_on

    def ask(self) -> Sequence[Ask]:
        return self._engine.ask() if self._go_on() else ()

    def tell(self, results: Sequence[Result]) -> None:
        self._engine.tell(results)

    def tables(self) -> Mapping[str, Any]:
        return self._engine.tables()


def run(runner: Any, engine: PredooEngine, go_on: Callable[[], bool] = lambda: True) -> list[Examined]:
    """An engine through the loop; what was suspected."""
    selection = _Remembering()
    examiner = examiner_of(runner)
    session = CampaignSession(examiner, Preparation(runner, examiner, None), silent, selection=selection)
    Loop(session, [_Asked(engine, go_on)], CampaignBudget()).run()
    return selection.examined


@dataclass(frozen=True)
class Filed:
    finding: Finding
    suspicion: Suspicion


class Shelf:
    """A store that keeps nothing but findings."""

    def __init__(self) -> None:
        self.kept: list[Finding] = []

    def findings(self, campaign: int) -> list[Finding]:
        return []

    def add_finding(self, campaign: int, finding: Finding, file: Any, **_: Any) -> Finding:
        self.kept.append(finding)
        return finding


class _Watched(CampaignSession):
    """Remembers what was filed as what."""

    def _completed(self, item: Prepared, chosen: Any) -> tuple[Finding, Prepared]:
        finding, item = super()._completed(item, chosen)
        self.__dict__.setdefault("seen", {})[finding.id] = item.suspicion
        return finding, item


def findings_of(
    runner: Any, found: Searched | Sequence[Examined], known: Mapping[str, Finding] | None = None
) -> list[Filed]:
    """Confirmed, reduced, and filed without scripts.

    Args:
        known: by their ids, findings that need not be reduced again.
    """
    examiner, shelf = examiner_of(runner), Shelf()
    preparation = Preparation(runner, examiner, replace(REDUCING, scripts=False))
    selection = OncePerOperator(examiner.setup.traits, lambda: True)
    session = _Watched(examiner, preparation, silent, shelf, selection=selection)  # type: ignore[arg-type]
    session.findings.update(known or {})
    session.confirm({"predoo": found.examined if isinstance(found, Searched) else found})
    session.file()
    return [Filed(finding, session.__dict__["seen"][finding.id]) for finding in shelf.kept]


def examined_call(runner: Any, case: Case) -> Examined:
    """One call, judged as a hunt does it."""
    (examined,) = examiner_of(runner).examine([Ask(case, oracles=(PRECISION,))])
    return examined


def filed_call(runner: Any, case: Case) -> list[Filed]:
    return findings_of(runner, [examined_call(runner, case)])
