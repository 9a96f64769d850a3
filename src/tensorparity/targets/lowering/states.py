"""States that go from one call of a layer to the next, which no lowered form has."""

from __future__ import annotations

from ...core.case import Case
from ...core.graph import LayerGraph
from ...operators.masks_and_states import keeps_states


def carried_state(case: Case, graph: LayerGraph) -> str:
    """Why the case depends on states that are carried from call to call; empty where every layer starts anew."""
    rows = min((len(array) for array in case.inputs.values()), default=0)
    sliced = bool(case.procedure.batch_size) and (case.procedure.batch_size or 0) < rows
    for node in graph.nodes:
        if keeps_states(node) and (sliced or node.call > 0):
            return f"the stateful {node.layer!r} ({node.op}) starts from the states of its last call"
    return ""
