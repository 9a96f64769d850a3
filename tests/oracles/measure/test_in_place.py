"""Layers that cannot be run alone are cleared by the traced run, and never accused by it."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.oracles.measure.in_place import clear_in_place
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

X = np.array([[1.0, -2.0]], np.float32)


def model() -> Model:
    build = GraphBuilder("pair")
    x = build.add("ZeroPadding1D", build.input("x", (2, 1)), name="pad", padding=1)
    return Model("pair", build.build(build.add("ReLU", x, name="relu")))


def traced(**nodes: Array) -> Outcome:
    named = {f"{name}#0": array for name, array in nodes.items()}
    return Outcome("onnxruntime", Status.COMPLETED, trace=Trace(nodes=named))


PADDED = np.array([[[0.0], [1.0], [-2.0], [0.0]]], np.float32)


@pytest.mark.parametrize(
    ("nodes", "cleared"),
    [
        ({"pad": PADDED, "relu": np.maximum(PADDED, 0)}, True),
        ({"pad": PADDED, "relu": PADDED}, False),
        ({"relu": np.maximum(PADDED, 0)}, False),
        ({"pad": PADDED}, False),
    ],
    ids=["right", "wrong", "input not traced", "not traced"],
)
def test_only_a_right_answer_on_known_inputs_counts(nodes: dict[str, Array], cleared: bool) -> None:
    pair = model()
    assert pair.graph is not None
    before = NodeErrors(pair.graph.node("relu"), {"keras:torch": 0.5}, {"keras:torch": 1e-7})
    (after,) = clear_in_place([before], pair, {"x": X[..., None]}, {"onnxruntime": traced(**nodes)}, traits=TRAITS)
    assert ("onnxruntime" in after.errors) is cleared
    assert after.errors["keras:torch"] == 0.5
    assert not cleared or after.errors["onnxruntime"] == 0.0


def test_what_was_measured_alone_stays() -> None:
    pair = model()
    assert pair.graph is not None
    before = NodeErrors(pair.graph.node("relu"), {"onnxruntime": 99.0})
    right = traced(pad=PADDED, relu=np.maximum(PADDED, 0))
    assert clear_in_place([before], pair, {"x": X[..., None]}, {"onnxruntime": right}, traits=TRAITS) == [before]
