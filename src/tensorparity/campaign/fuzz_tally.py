"""What a fuzzing run counts: the paper's tables 3 to 6 and figure 5 for the targets of today, and more."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..core.arrays import Array
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..core.messages import normalised
from ..core.model import node_inputs
from ..core.outcome import Outcome, Status
from ..core.verdict import Stage
from ..oracles.muffin import SWEEP, Inconsistency, by_threshold, odd_ones
from .open_questions import open_questions
from .stepped import Stepped

_PAPER = (Stage.FORWARD, Stage.LOSS, Stage.BACKWARD)
#: Forward, NaN is counted where it arises; here, where the paper's rule places it.
_LATER = (Stage.LOSS, Stage.BACKWARD)


class FuzzTally:
    """Counts as the paper does: a layer once per pair, stage and data set; a crash once per message."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = tuple(targets)
        self.models = 0
        self.undecided = 0
        self.unsupported = 0
        self.unbuildable = 0
        self.depths: list[int] = []
        self.nodes: list[int] = []
        self.seconds: dict[str, float] = {}
        self.executions: Counter[str] = Counter()
        self.lacks: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.cpu: dict[str, float] = {}
        self._inconsistent: set[tuple[str, str, str, str]] = set()
        self._endings: set[tuple[str, str, str, str]] = set()
        self._voted: set[tuple[str, str, str]] = set()
        self._sweep: dict[float, set[tuple[str, str, str]]] = {threshold: set() for threshold in SWEEP}

    def add(self, step: Stepped, data: str, layers: int, seconds: float) -> None:
        assert isinstance(step.case.subject, LayerGraph)
        self.models += 1
        self.depths.append(layers)
        self.nodes.append(len(step.case.subject.nodes))
        self.seconds[data] = self.seconds.get(data, 0.0) + seconds
        left = open_questions(step.verdicts, {target: outcome.status for target, outcome in step.outcomes.items()})
        self.undecided += bool(left.undecided)
        self.unsupported += bool(left.unsupported)
        self.reasons.update(left.undecided)
        self.unbuildable += all(_failed_to_build(outcome) for outcome in step.outcomes.values())
        self.lacks.update(f"{target}: {normalised(said)}" for target, said in step.unsupported.items())
        for target, outcome in step.outcomes.items():
            self.executions[outcome.status.value] += 1
            self.cpu[target] = self.cpu.get(target, 0.0) + outcome.cpu_seconds
        self._count_inconsistencies(step, data)
        self._count_endings(step, data)

    def _count_inconsistencies(self, step: Stepped, data: str) -> None:
        """Tables 3 and 4 and figure 5; NaN on one side is no distance, and has a column of table 5."""
        found = [item for item in step.inconsistent if not item.nan]
        self._inconsistent.update((_pair(item), item.stage.value, data, item.layer) for item in found)
        for place, odd in odd_ones(found, step.outcomes).items():
            self._voted.add((odd, place[0].value, place[1]))
        for threshold, above in by_threshold([item for item in step.parting if not item.nan]).items():
            self._sweep[threshold].update((_pair(item), item.stage.value, item.layer) for item in above)

    def _count_endings(self, step: Stepped, data: str) -> None:
        """NaN, generation and execution crashes, where at least one target is well (section 4.3.3)."""
        done = {target: outcome for target, outcome in step.outcomes.items() if outcome.completed}
        for target, outcome in step.outcomes.items():
            if outcome.status in (Status.RAISED, Status.CRASHED) and outcome.failure and done:
                column = "generation" if outcome.failure.stage == "build" else "execution"
                self._endings.add((target, column, data, normalised(outcome.failure.message)))
        later = {(item.broken, item.layer) for item in step.inconsistent if item.broken and item.stage in _LATER}
        for target, op in _nan_layers(step, done) | later:
            self._endings.add((target, "nan", data, op))

    def tables(self) -> dict[str, Json]:
        pairs = [f"{a} / {b}" for a, b in itertools.combinations(self._targets, 2)]
        data = sorted(self.seconds)
        return {
            "inconsistencies": [
                {"pair": pair, "data": name, **{s.value: self._layers(pair, s.value, name) for s in _PAPER}}
                for pair in pairs
                for name in [*data, "total"]
            ],
            "endings": [
                {
                    "target": target,
                    "data": name,
                    **{column: self._ends(target, column, name) for column in ("nan", "generation", "execution")},
                }
                for target in self._targets
                for name in [*data, "total"]
            ],
            "voted": [
                {"target": target, **{s.value: self._voted_layers(target, s.value) for s in _PAPER}}
                for target in self._targets
            ],
            "seconds": {name: round(seconds, 3) for name, seconds in sorted(self.seconds.items())},
            "thresholds": {f"{threshold:g}": len(found) for threshold, found in self._sweep.items()},
        }

    def _layers(self, pair: str, stage: str, data: str) -> int:
        return len({e[3] for e in self._inconsistent if e[:2] == (pair, stage) and data in (e[2], "total")})

    def _ends(self, target: str, column: str, data: str) -> int:
        return len({e[3] for e in self._endings if e[:2] == (target, column) and data in (e[2], "total")})

    def _voted_layers(self, target: str, stage: str) -> list[str]:
        return sorted(layer for own, at, layer in self._voted if (own, at) == (target, stage))

    def stats(self) -> dict[str, Json]:
        """What ``stats`` of the document has beside the tables."""
        executions = sum(self.executions.values())
        return {
            "models": self.models,
            "mean_layers": float(np.mean(self.depths)) if self.depths else 0.0,
            "mean_nodes": float(np.mean(self.nodes)) if self.nodes else 0.0,
            "unbuildable": self.unbuildable,
            "executions": dict(self.executions),
            "unsupported_share": self.executions["unsupported"] / executions if executions else 0.0,
            "unsupported_reasons": dict(self.lacks.most_common()),
            "cpu_seconds": {target: round(seconds, 3) for target, seconds in self.cpu.items()},
        }


def _pair(item: Inconsistency) -> str:
    return f"{item.a} / {item.b}"


def _failed_to_build(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.stage == "build"


def _nan_layers(step: Stepped, done: Mapping[str, Outcome]) -> set[tuple[str, str]]:
    """(target, layer) where a target makes what is not finite of what is, and another does not."""
    assert isinstance(step.case.subject, LayerGraph)
    graph = step.case.subject
    found: set[tuple[str, str]] = set()
    for node in graph.nodes:
        broken, well = [], 0
        for target, outcome in done.items():
            output = outcome.trace.nodes.get(node.key)
            if output is None or _finite(output):
                well += output is not None
                continue
            try:
                given = node_inputs(graph, node, step.case.inputs, outcome.trace.nodes)
            except KeyError:
                continue
            if all(_finite(array) for array in given):
                broken.append(target)
        if well:
            found.update((target, node.op) for target in broken)
    return found


def _finite(array: Array) -> bool:
    return array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())
