"""Activations taken out of a layer, and what that explains of gradients where they saturate."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.core.jsontext import Json
from tensorparity.operators.layers.nested import serialized_layer
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.backward import judge_gradients, layer_function
from tensorparity.oracles.measure.without_activations import without_activations
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)


def node(op: str, **params: Json) -> Node:
    return Node("y", op, (Ref("x"),), params, "y")


def test_defaults_and_what_is_inside_are_taken_out() -> None:
    lstm = without_activations(node("LSTM", units=2))
    assert lstm is not None
    assert lstm.params == {"units": 2, "activation": "linear"}, "gates stay bounded"
    around = without_activations(node("Bidirectional", layer=serialized_layer("SimpleRNN", "r", units=2)))
    assert around is not None
    assert around.params["layer"]["config"] == {"name": "r", "units": 2, "activation": "linear"}
    cells = serialized_layer("StackedRNNCells", "s", cells=[serialized_layer("GRUCell", "g", units=2)])
    stacked = without_activations(node("RNN", cell=cells))
    assert stacked is not None
    assert stacked.params["cell"]["config"]["cells"][0]["config"]["activation"] == "linear"
    softmax = without_activations(node("Softmax"))
    assert softmax is not None
    assert softmax.op == "Identity"


@pytest.mark.parametrize(
    "straight", [node("Dense", units=2), node("Dense", units=2, activation="relu"), node("Flatten")], ids=str
)
def test_what_does_not_bend_stays(straight: Node) -> None:
    assert without_activations(straight) is None


@pytest.mark.parametrize(("off", "right"), [(3 * 2.0**-24, True), (1e-3, False)], ids=["rounding", "wrong"])
def test_a_saturated_output_off_by_roundings_explains_a_gradient(off: float, right: bool) -> None:
    """tanh(10) is 1 - 4e-9, which float32 rounds to 1 or to a neighbour of it: 1 - y * y is 0 or some 1e-7."""
    dense = node("Dense", units=1, activation="tanh", use_bias=False)
    x, kernel, pulled = np.full((1, 1), 20.0, np.float32), np.full((1, 1), 0.5, np.float32), np.ones((1, 1), np.float32)
    function = layer_function(dense, [x], {"y/kernel": kernel}, pulled, training=False)
    answers = {
        "keras:jax": {"weight:y/kernel": x * np.float32(2.0 * off)},
        "keras:torch": {"weight:y/kernel": np.zeros((1, 1), np.float32)},
    }
    errors = judge_gradients(dense, answers, function, traits=TRAITS).errors.errors
    assert errors["keras:torch"] <= K
    assert (errors["keras:jax"] <= K) == right
