"""Fewer nodes: the one that the isolated replay accuses, else halves, else whatever can go.

What flows into the kept nodes from the dropped ones is captured: the reference's activations, rounded to the
dtype under test. Nothing arrives from upstream any more, so a node that is guilty alone shows at once.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array, is_floating
from ...core.case import Case
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph
from ...core.procedure import Goal
from ...operators.reference.evaluate import evaluate
from ...operators.spec import ShapeError
from ...oracles.measure.editing import graph_of, subgraph
from .reducer import Attempts


def drop_nodes(attempts: Attempts) -> None:
    """The accused node alone, else the half that still fails, down to nodes that cannot go."""
    graph = graph_of(attempts.case)
    if graph is None or len(graph.nodes) < 2 or attempts.case.procedure.goal is Goal.REPLAY:
        return
    values = activations(attempts.case)
    accused = attempts.best.diagnosis.node
    guess = {node.name for node in graph.nodes if node.key == accused}
    if guess and attempts.first([subgraph(attempts.case, guess, values)]):
        return
    _halve(attempts, values)


def _halve(attempts: Attempts, values: dict[str, Array]) -> None:
    """Keep one half where it fails alone; else take out pieces, large ones first."""
    size = len(_graph(attempts).nodes)
    piece = (size + 1) // 2
    while piece >= 1 and len(_graph(attempts).nodes) > 1:
        names = [node.name for node in _graph(attempts).nodes]
        windows = [names[start : start + piece] for start in range(0, len(names), piece)]
        kept = attempts.first(subgraph(attempts.case, set(window), values) for window in windows)
        if kept is None:
            kept = _without_one(attempts, windows, set(names), values)
        if kept is None:
            piece //= 2
        else:
            piece = min(piece, (len(_graph(attempts).nodes) + 1) // 2)


def _without_one(
    attempts: Attempts, windows: list[list[str]], names: set[str], values: dict[str, Array]
) -> Case | None:
    if len(windows) < 3:
        return None  # of two halves, leaving one out is keeping the other
    return attempts.first(subgraph(attempts.case, names - set(window), values) for window in windows)


def _graph(attempts: Attempts) -> LayerGraph:
    graph = attempts.case.subject
    assert isinstance(graph, LayerGraph)
    return graph


def activations(case: Case) -> dict[str, Array]:
    """What every node gives by the reference, by node name, in the dtype that flows."""
    graph = graph_of(case)
    if graph is None:
        return {}
    try:
        values = evaluate(graph, case.inputs, case.weights)
    except (TensorParityError, ShapeError):
        return {}
    dtype = case.procedure.dtype or "float32"
    dtype = dtype if is_floating(dtype) and dtype != "bfloat16" else "float32"
    with np.errstate(all="ignore"):
        return {node.name: values[node.key][0].value.astype(dtype) for node in graph.nodes}
