"""Which nodes receive a mask, and of which nobody knows what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder, Ref
from tensorparity.core.model import Model
from tensorparity.core.procedure import Procedure
from tensorparity.operators.reference.evaluate import draw_weights, evaluate
from tensorparity.oracles.measure.replay import _masked_nodes


def chain(x: Array, *layers: tuple[str, dict[str, Any]]) -> tuple[Model, dict[str, Array]]:
    build = GraphBuilder("chain")
    ref: Ref = build.input("x", x.shape[1:])
    for op, params in layers:
        ref = build.add(op, ref, **params)
    graph = build.build(ref)
    return Model("chain", graph, draw_weights(graph, np.random.default_rng(0))), {"x": x}


def masked(x: Array, *layers: tuple[str, dict[str, Any]], like: Procedure | None = None) -> tuple[set[str], set[str]]:
    """Types of layers behind masks that are known, and that are not."""
    model, inputs = chain(x, *layers)
    assert model.graph is not None
    values = evaluate(model.graph, inputs, model.weights)
    activations = {key: found[0].value.astype(np.float32) for key, found in values.items()}
    found = _masked_nodes(model, model.graph.nodes, inputs, activations, like or Procedure())
    ops = {node.key: node.op for node in model.graph.nodes}
    return {ops[key] for key in found.known}, {ops[key] for key in found.unknown}


SEQUENCE = ("LSTM", {"units": 2, "return_sequences": True})
POOL, DENSE = ("GlobalAveragePooling1D", {}), ("Dense", {"units": 2})
PLAIN = np.array([[[1.0], [3.0], [0.0]]], np.float32)
#: Of these, no number is left that could mark a hidden step.
FULL = np.array([[[0.0], [-1.0], [1.0], [2.0], [5.0]]], np.float32)


def test_a_mask_that_is_known_is_passed_on() -> None:
    assert masked(PLAIN, ("Masking", {}), DENSE, POOL) == ({"GlobalAveragePooling1D"}, set())


def test_one_that_no_graph_makes_is_not_and_nor_is_what_follows() -> None:
    assert masked(FULL, ("Masking", {"mask_value": 5.0}), SEQUENCE, DENSE, POOL) == (
        set(),
        {"LSTM", "GlobalAveragePooling1D"},
    )


def test_what_is_saved_and_loaded_in_between_has_unknown_masks() -> None:
    assert masked(PLAIN, ("Masking", {}), POOL, like=Procedure(reload=True)) == (set(), {"GlobalAveragePooling1D"})


def test_layers_that_read_no_mask_are_as_good_without() -> None:
    assert masked(PLAIN, ("Masking", {}), DENSE, like=Procedure(reload=True)) == (set(), set())


@pytest.mark.parametrize("maker", ["Masking", "Embedding"])
def test_what_hands_no_mask_on_ends_it(maker: str) -> None:
    layers = (("Masking", {}), ("LSTM", {"units": 2}), ("Reshape", {"target_shape": [2, 1]}), POOL)
    if maker == "Embedding":
        layers = (("Embedding", {"input_dim": 4, "output_dim": 2, "mask_zero": True}), *layers[1:])
    x = PLAIN if maker == "Masking" else np.array([[1, 2, 0]], np.int32)
    _, unknown = masked(x, *layers, like=Procedure(reload=True))
    assert "LSTM" in unknown


def test_without_masks_there_is_nothing_to_know() -> None:
    assert masked(PLAIN, SEQUENCE, POOL) == (set(), set())
