"""A fault that shows only when two layers are compiled together: found, and cut down to the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorparity.core.graph import LayerGraph
from tensorparity.store.casefile import read_case
from tensorparity.triage.reduction.order import elements

pytestmark = [pytest.mark.tensorflow, pytest.mark.torch, pytest.mark.slow]

#: An activation that is wrong in a compiled graph, directly behind a convolution's bias.
FAULT = """
import tensorflow as tf
from keras.src import backend

right = backend.nn.relu


def relu(x):
    compiled = not tf.executing_eagerly()
    return right(x) + (0.25 if compiled and x.op.type in ("AddV2", "BiasAdd", "Conv2D") else 0.0)


backend.nn.relu = relu
"""


def test_a_convolution_and_the_activation_behind_it(tensorparity: Any, save_keras: Any, tmp_path: Path) -> None:
    fault = tmp_path / "fused_relu.py"
    fault.write_text(FAULT)
    model = save_keras(
        "fused.keras",
        """
        layers = keras.layers
        model = keras.Sequential([
            keras.Input((8, 8, 3)),
            layers.Activation("relu", name="first"), layers.Conv2D(4, 3, name="conv"),
            layers.Activation("relu", name="second"), layers.MaxPooling2D(name="pool"), layers.Flatten(name="flat"),
            layers.Dense(3, name="logits")])
        """,
    )
    targets = "keras:tensorflow,keras:torch"
    ended = tensorparity(
        "compare", model, "--targets", targets, "--fault", f"keras:tensorflow={fault}", "--instances", 4,
        "--out", tmp_path / "out", "--format", "json",
    )  # fmt: skip
    assert ended.code == 1, ended.stderr
    (finding,) = ended.document["findings"]
    assert (finding["class"], finding["suspects"]) == ("defect", ["keras:tensorflow"])
    assert finding["api"] == "keras.layers.Conv2D+keras.layers.Activation"
    assert finding["node"] == "second#0"
    assert any(line.startswith("only when fused: ") for line in finding["evidence"])
    case = read_case(tmp_path / "out" / finding["case"]).case
    assert isinstance(case.subject, LayerGraph)
    assert [node.op for node in case.subject.nodes] == ["Conv2D", "Activation"]
    assert elements(case) <= 4  # the input and the weights of a convolution of one number
    assert finding["reproducer"]
