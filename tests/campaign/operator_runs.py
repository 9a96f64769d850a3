"""The searches of ``precision`` on a runner of our own, and what is filed of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorparity.campaign.operator_findings import REDUCING, Filing, sightings_of
from tensorparity.campaign.reducing import Preparation
from tensorparity.campaign.traits import traits_of
from tensorparity.commands.rounds import rounds
from tensorparity.core.arrays import Array, dtype_name, dtype_named
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Finding
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import Traits
from tensorparity.engines.predoo.engine import PredooEngine
from tensorparity.engines.predoo.notebook import Notebook
from tensorparity.operators.calls.catalogue import operator_of
from tensorparity.oracles.operator_error import PRECISION
from tensorparity.targets.packing import packs_of
from tensorparity.triage.examine import Examined, Examiner
from tensorparity.triage.operator_suspicions import Sighting

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
    """The notebooks of a run, and what was suspected in it."""

    def __init__(self, notebooks: Sequence[Notebook], sightings: Sequence[Sighting]) -> None:
        super().__init__(notebooks)
        self.sightings = list(sightings)


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
    found = [item for batch in rounds(engine, Examiner(runner, setup), go_on) for one in batch for item in seen(one)]
    assert engine.searching is not None
    return Searched(engine.searching.notebooks, found)


def seen(examined: Examined) -> list[Sighting]:
    return sightings_of(examined)


@dataclass(frozen=True)
class Filed:
    finding: Finding
    suspicion: Suspicion


class Shelf:
    """A store that keeps nothing but findings."""

    def __init__(self) -> None:
        self.kept: list[tuple[Finding, Case]] = []

    def add_finding(self, campaign: int, finding: Finding, file: Any, **_: Any) -> Finding:
        self.kept.append((finding, file.case))
        return finding


class _Watching(Filing):
    """Remembers what it files."""

    def _put(self, item: Any, ready: Any) -> None:
        before = len(self.findings)
        super()._put(item, ready)
        self.put = [*getattr(self, "put", []), *(Filed(f, ready.suspicion) for f in self.findings[before:])]


def findings_of(runner: Any, found: Searched | Sequence[Sighting], known: Collection[str] = ()) -> list[Filed]:
    """Confirmed, reduced, and filed without scripts."""
    sightings = found.sightings if isinstance(found, Searched) else found
    preparation = Preparation(runner, runner, replace(REDUCING, scripts=False))
    filing = _Watching(examiner_of(runner), preparation, Shelf(), 0, {}, {}, known)  # type: ignore[arg-type]
    filing.file(sightings)
    return list(getattr(filing, "put", []))


def examined_call(runner: Any, case: Case) -> Examined:
    """One call, judged as a hunt does it."""
    (examined,) = examiner_of(runner).examine([Ask(case, oracles=(PRECISION,))])
    return examined


def filed_call(runner: Any, case: Case) -> list[Filed]:
    return findings_of(runner, sightings_of(examined_call(runner, case)))
