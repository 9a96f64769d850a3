"""Only when fused: a target's whole run gives another answer than its own run layer by layer (decision 6).

No layer alone is wrong then, so none can be replayed into a confession. The model is cut instead: a stretch of its
layers runs as a whole on what flowed into it, and the ends are moved by bisection until no shorter stretch differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.evidence import Evidence, observed
from ...core.finding import Class, Diagnosis
from ...core.graph import LayerGraph, Node
from ...core.oracle import Check
from ...core.outcome import Outcome
from ...core.procedure import Procedure
from ...core.verdict import Measure
from ..base import Asking
from .diagnose import public_name
from .editing import graph_of, subgraph
from .roundoff import SCREEN, output_units, scaled_difference

#: Without a guilty layer, outputs this close (relative) are taken for amplified rounding.
AMPLIFIED = 1e-2


@dataclass(frozen=True)
class Stretch:
    """The shortest run of layers that differs from its own steps.

    Args:
        case: these layers alone, on what flowed into them.
        checks: runs that it took to find.
    """

    case: Case
    checks: int

    @property
    def nodes(self) -> tuple[Node, ...]:
        assert isinstance(self.case.subject, LayerGraph)
        return self.case.subject.nodes

    @property
    def api(self) -> str:
        """Its ends: what lies between them is often a bystander, and goes when the case is reduced."""
        ends = dict.fromkeys(public_name(node.op) for node in (self.nodes[0], self.nodes[-1]))
        return "+".join(ends)

    @property
    def evidence(self) -> Evidence:
        return observed("stretch", layers=[node.layer for node in self.nodes], checks=self.checks)


@dataclass(frozen=True)
class Apart:
    """How far a target's whole run is from its own steps: in roundoffs, and relative to the output's scale."""

    target: str
    units: float
    relative: float

    def diagnosis(self, stretch: Stretch | None, doubts: Sequence[Evidence] = ()) -> Diagnosis:
        """A defect of the target, at the last layer of the stretch where one was found."""
        evidence = [
            observed("fused", target=self.target, relative=self.relative),
            *([stretch.evidence] if stretch else []),
            *doubts,
        ]
        return Diagnosis(
            Class.DEFECT,
            (self.target,),
            node=stretch.nodes[-1].key if stretch else None,
            api=stretch.api if stretch else None,
            evidence=tuple(evidence),
            measure=Measure("roundoff", self.units),
            threshold=SCREEN,
            relative=self.relative,
            fused=True,
        )


def guilty_of_fusion(
    outcomes: Mapping[str, Outcome], traces: Mapping[str, Outcome], name: str, rows: Sequence[int]
) -> list[Apart]:
    """Targets whose output ``name`` is not what their own steps give, where everybody else's is.

    Args:
        rows: the instances of ``outcomes`` that were traced.
    """
    apart = _apart(outcomes, traces, name, rows)
    return [
        item
        for item in apart
        if item.relative > AMPLIFIED
        and len(apart) > 1
        and all(other.units <= SCREEN for other in apart if other is not item)
    ]


def _apart(
    outcomes: Mapping[str, Outcome], traces: Mapping[str, Outcome], name: str, rows: Sequence[int]
) -> list[Apart]:
    found = []
    for target, trace in traces.items():
        if name not in trace.outputs or name not in outcomes[target].outputs:
            continue
        output, stepwise = outcomes[target].outputs[name], trace.outputs[name]
        if len(output) <= max(rows, default=0):
            continue
        whole = output[list(rows)]
        if whole.shape == stepwise.shape:  # otherwise the pair's verdict says so already
            found.append(Apart(target, output_units(whole, stepwise), relative_difference(whole, stepwise)))
    return found


def relative_difference(a: Array, b: Array) -> float:
    return float(scaled_difference(a, b).max(initial=0.0)) if a.shape == b.shape else float("inf")


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
    traced = yield from _outcome(replace(plain, procedure=replace(plain.procedure, trace=True)), target)
    values = {node.name: array for node in graph.nodes if (array := traced.trace.nodes.get(node.key)) is not None}
    if len(values) < len(graph.nodes):
        return None
    return (yield from _Cutting(plain, target, values).shortest(graph))


def _outcome(case: Case, target: str) -> Asking[Outcome]:
    (answer,) = yield [Check(case, (target,))]
    return answer.outcomes[target]


class _Cutting:
    def __init__(self, case: Case, target: str, values: Arrays) -> None:
        self._case, self._target, self._values = case, target, values
        self._checks = 0

    def shortest(self, graph: LayerGraph) -> Asking[Stretch | None]:
        names = [node.name for node in graph.nodes]
        if not (yield from self._differs(names)):
            return None
        # An end at the last layer differs, and so does a beginning at the first.
        end = yield from _first(1, len(names), lambda end: self._differs(names[:end]))
        length = yield from _first(1, end, lambda length: self._differs(names[end - length : end]))
        kept = self._without_bystanders(graph, names[end - length : end])
        case = (yield from self._differing_case(kept)) or (yield from self._differing_case(names[end - length : end]))
        return Stretch(case, self._checks) if case else None

    def _differs(self, names: Sequence[str]) -> Asking[bool]:
        return (yield from self._differing_case(names)) is not None

    def _differing_case(self, names: Sequence[str]) -> Asking[Case | None]:
        """The case of these layers, if the target's whole run of them is not what its steps gave."""
        case = subgraph(self._case, set(names), self._values)
        if case is None:
            return None
        assert isinstance(case.subject, LayerGraph)
        if {node.name for node in case.subject.nodes} != set(names):
            return None  # a later call of a shared layer has become its first: the values are another's
        self._checks += 1
        outcome = yield from _outcome(case, self._target)
        for ref in case.subject.outputs:
            whole, stepwise = outcome.outputs.get(ref.node), self._values.get(ref.node)
            if whole is not None and stepwise is not None and relative_difference(whole, stepwise) > AMPLIFIED:
                return case
        return None

    def _without_bystanders(self, graph: LayerGraph, names: Sequence[str]) -> list[str]:
        """Of a stretch across branches, only what leads to its last layer."""
        needed = graph.leading_to(names[-1])
        return [name for name in names if name in needed]


def _first(low: int, high: int, holds: Callable[[int], Asking[bool]]) -> Asking[int]:
    """The smallest number in ``low..high`` that holds, if all above it do; ``high`` is known to."""
    while low < high:
        middle = (low + high) // 2
        if (yield from holds(middle)):
            high = middle
        else:
            low = middle + 1
    return high
