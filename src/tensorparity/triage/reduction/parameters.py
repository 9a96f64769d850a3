"""Parameters back to their defaults: all at once, else as many as do not matter."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.case import Case
from ...oracles.measure.editing import graph_inputs, graph_of, refit, with_params
from .order import odd_parameters
from .reducer import Attempts
from .splitting import apply_most

#: A layer by the name of its first node, and one of its parameters.
_Place = tuple[str, str]


def reset_parameters(attempts: Attempts) -> None:
    graph = graph_of(attempts.case)
    if graph is None:
        return
    first = {node.layer: node for node in reversed(graph.nodes)}
    places = [(node.name, name) for node in first.values() for name in odd_parameters(node)]
    apply_most(attempts, places, _reset)


def _reset(case: Case, places: Sequence[_Place]) -> Case | None:
    graph = graph_of(case)
    assert graph is not None
    inputs = graph_inputs(case)
    for node in graph.nodes:
        names = {name for owner, name in places if owner == node.name}
        if names:
            params = {name: value for name, value in node.params.items() if name not in names}
            call_params = {name: value for name, value in node.call_params.items() if name not in names}
            graph = with_params(graph, node, params, call_params)
    return refit(case, graph, inputs)
