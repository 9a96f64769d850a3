"""CRADLE's localization: deviation per layer, introduction rate, third quartile (equations 5 and 6)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.channels import distance, magnitude
from ...core.comparison import LayerDeviation
from ...core.graph import LayerGraph, Node

#: The paper's smoothing constant.
EPSILON = 1e-7
#: Layers whose rate is above this quantile of all rates are highlighted.
QUARTILE = 0.75


def deviation(a: Array, b: Array) -> float:
    """Equation 3 on hidden states: their mean absolute difference; of strings and booleans, the share that differs."""
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    apart = distance(a, b)
    undefined = np.isinf(apart) & (np.isnan(magnitude(a)) | np.isnan(magnitude(b)))
    return float("nan") if undefined.any() else float(apart.mean())


def introduction_rate(own: float, before: Sequence[float]) -> float:
    """Equation 6, with equation 5 for the inbound layers; nothing before counts as no deviation.

    Where a NaN or an infinity is on one side only, which has no mean, the limits of the equation stand: the layer that
    introduces it has an infinite rate, one that passes it on has 0, one that loses it again has -1.
    """
    largest = max((value if np.isfinite(value) else np.inf for value in before), default=0.0)
    if not np.isfinite(own):
        return 0.0 if np.isinf(largest) else float("inf")
    if np.isinf(largest):
        return -1.0
    return (own - largest) / (largest + EPSILON)


def localization_map(
    graph: LayerGraph,
    a: Mapping[str, Array],
    b: Mapping[str, Array],
    errors: Mapping[str, float],
) -> tuple[LayerDeviation, ...]:
    """The map of one pair: every node, in the order of the graph; rates of those that both traces have.

    What flows into a layer from one that has no trace is what flowed into that one.

    Args:
        errors: the isolated replay's e by node key, where it was measured.
    """
    deltas: dict[str, float] = {}
    rates: dict[str, float] = {}
    for node in graph.nodes:
        if node.key in a and node.key in b:
            deltas[node.key] = deviation(a[node.key], b[node.key])
            before = [deltas[key] for key in _traced_before(graph, node, deltas)]
            rates[node.key] = introduction_rate(deltas[node.key], before)
    finite = [rate for rate in rates.values() if np.isfinite(rate)]
    quartile = float(np.quantile(finite, QUARTILE)) if finite else -np.inf
    keys = {node.name: node.key for node in graph.nodes}
    return tuple(
        LayerDeviation(
            name=node.layer,
            call=node.call,
            type=node.op,
            deviation=deltas.get(node.key),
            rate=rates.get(node.key),
            highlighted=rates.get(node.key, -np.inf) > quartile,
            isolated_error=errors.get(node.key),
            inputs=tuple(keys.get(ref.node, ref.node) for ref in node.inputs),
            parameters={**node.params, **node.call_params},
        )
        for node in graph.nodes
    )


def _traced_before(graph: LayerGraph, node: Node, traced: Container[str]) -> list[str]:
    """The nearest nodes before this one, on every way, that were traced."""
    looked_at: dict[str, None] = {}
    waiting = list(graph.predecessors(node))
    while waiting:
        other = waiting.pop(0)
        if other.key not in looked_at and other.key not in traced:
            waiting += graph.predecessors(other)
        looked_at[other.key] = None
    return [key for key in looked_at if key in traced]
