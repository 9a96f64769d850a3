"""CRADLE's localization: deviation per layer, introduction rate, third quartile (equations 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.channels import distance, magnitude
from ...core.comparison import LayerDeviation
from ...core.graph import LayerGraph

#: The paper's smoothing constant.
EPSILON = 1e-7


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
    """Equation 6, with equation 5 for the inbound layers; nothing before counts as no deviation."""
    largest = max(before, default=0.0)
    return (own - largest) / (largest + EPSILON)


def localization_map(
    graph: LayerGraph,
    a: Mapping[str, Array],
    b: Mapping[str, Array],
    errors: Mapping[str, float],
) -> tuple[LayerDeviation, ...]:
    """The map of one pair: every node both traces have, in the order of the graph.

    Args:
        errors: the isolated replay's e by node key, where it was measured.
    """
    deltas: dict[str, float] = {}
    rates: dict[str, float] = {}
    for node in graph.nodes:
        if node.key in a and node.key in b:
            deltas[node.key] = deviation(a[node.key], b[node.key])
            before = [deltas[other.key] for other in graph.predecessors(node) if other.key in deltas]
            rates[node.key] = introduction_rate(deltas[node.key], before)
    finite = [rate for rate in rates.values() if np.isfinite(rate)]
    quartile = float(np.quantile(finite, 0.75)) if finite else float("inf")
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
