"""A regularizer or a constraint that one backend gets wrong: suspect, stage and layer are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.faults import parse_faults
from tensorparity.targets.runner import RunnerSettings, open_runner

from ..stepping import ExaminedSteps

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

TARGETS = ["keras:tensorflow", "keras:torch"]

#: What is planted in torch, and by what it is found.
FAULTS = {
    "keras.regularizers.L2.__call__ = lambda self, x: 0.005 * keras.ops.sum(keras.ops.square(x))": "loss",
    (
        "keras.regularizers.L2.__call__ = lambda self, x: "
        "self.l2 * keras.ops.sum(x * keras.ops.stop_gradient(keras.ops.convert_to_tensor(x)))"
    ): "backward",
    "keras.constraints.NonNeg.__call__ = lambda self, w: w": "update",
}


def step() -> Case:
    """Two layers with a regularizer and a constraint, and one with neither."""
    build = GraphBuilder()
    h = build.add("Dense", build.input("x", (3,)), name="first", units=4, activation="tanh")
    h = build.add("Dense", h, name="held", units=4, kernel_regularizer="l2", bias_constraint="non_neg")
    graph = build.build(build.add("Dense", h, name="last", units=2))
    rng = np.random.default_rng(1)
    weights = draw_weights(graph, rng)
    weights["held/kernel"] *= np.float32(8.0)
    procedure = Procedure(
        goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD", {"learning_rate": 0.1})
    )
    x, y = rng.standard_normal((4, 3)).astype(np.float32), rng.standard_normal((4, 2)).astype(np.float32)
    return Case(graph, procedure, {"x": x}, {"last": y}, weights)


@pytest.mark.parametrize(("fault", "stage"), FAULTS.items(), ids=list(FAULTS.values()))
def test_the_layer_is_named(fault: str, stage: str, tmp_path: Path) -> None:
    planted = tmp_path / "fault.py"
    planted.write_text(f"import keras\n\n{fault}\n", encoding="utf-8")
    faults = parse_faults([f"keras:torch={planted}"])
    with open_runner(TARGETS, RunnerSettings(faults=faults)) as runner:
        examiner = ExaminedSteps(runner, TARGETS, dict.fromkeys(TARGETS, "keras"))
        (stepped,) = examiner.examine([step()])
        found = examiner.confirm()
    assert [(s.diagnosis.klass, s.stage.value, s.diagnosis.suspects, s.diagnosis.api) for s in found] == [
        (Class.DEFECT, stage, ("keras:torch",), "keras.layers.Dense")
    ]
    assert not stepped.open or stage == "loss"
