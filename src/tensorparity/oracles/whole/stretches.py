"""The shortest stretch of layers that differs from its own steps, found by checks: the ends are moved by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.graph import LayerGraph
from ...core.oracle import Check
from ...core.procedure import Procedure
from ...triage.fusion import AMPLIFIED, Stretch, relative_difference
from ...triage.reduction.editing import graph_of, subgraph
from .sight import Asking


def shortest_stretch(case: Case, target: str) -> Asking[Stretch | None]:
    """The stretch of the case's graph that ``target`` still gets wrong as a whole.

    None where the graph cannot be cut: it has layers unknown to the catalogue, it cannot be traced on the target, or
    the difference does not show in the graph (a file that an exporter wrote may be fused in other ways).
    """
    graph = graph_of(case)
    if graph is None:
        return None
    procedure = case.procedure
    plain = replace(case, procedure=Procedure(mode=procedure.mode, training=procedure.training, dtype=procedure.dtype))
    (answer,) = yield [Check(replace(plain, procedure=replace(plain.procedure, trace=True)), (target,))]
    traced = answer.outcomes[target].trace.nodes
    values = {node.name: array for node in graph.nodes if (array := traced.get(node.key)) is not None}
    if len(values) < len(graph.nodes):
        return None
    stretch = yield from _Cutting(plain, target, values).shortest(graph)
    return stretch


class _Cutting:
    def __init__(self, case: Case, target: str, values: Arrays) -> None:
        self._case, self._target, self._values = case, target, values
        self._checks = 0

    def shortest(self, graph: LayerGraph) -> Asking[Stretch | None]:
        names = [node.name for node in graph.nodes]
        if (yield from self._differing(names)) is None:
            return None
        # An end at the last layer differs, and so does a beginning at the first.
        end = yield from self._first(len(names), lambda end: names[:end])
        length = yield from self._first(end, lambda length: names[end - length : end])
        stretch = names[end - length : end]
        kept = _leading(graph, stretch)
        case = (yield from self._differing(kept)) or (yield from self._differing(stretch))
        return Stretch(case, self._checks) if case else None

    def _first(self, high: int, names: Callable[[int], Sequence[str]]) -> Asking[int]:
        """The smallest number whose layers differ, if all above it do; ``high`` is known to."""
        low = 1
        while low < high:
            middle = (low + high) // 2
            if (yield from self._differing(names(middle))) is not None:
                high = middle
            else:
                low = middle + 1
        return high

    def _differing(self, names: Sequence[str]) -> Asking[Case | None]:
        """The case of these layers, if the target's whole run of them is not what its steps gave."""
        case = subgraph(self._case, set(names), self._values)
        if case is None:
            return None
        assert isinstance(case.subject, LayerGraph)
        if {node.name for node in case.subject.nodes} != set(names):
            return None  # a later call of a shared layer has become its first: the values are another's
        self._checks += 1
        (answer,) = yield [Check(case, (self._target,))]
        outcome = answer.outcomes[self._target]
        for ref in case.subject.outputs:
            whole, stepwise = outcome.outputs.get(ref.node), self._values.get(ref.node)
            if whole is not None and stepwise is not None and relative_difference(whole, stepwise) > AMPLIFIED:
                return case
        return None


def _leading(graph: LayerGraph, names: Sequence[str]) -> list[str]:
    """Of a stretch across branches, only what leads to its last layer."""
    needed = graph.leading_to(names[-1])
    return [name for name in names if name in needed]
