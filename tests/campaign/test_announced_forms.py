"""A library whose model says one shape and gives another is found out, also where gradients had to be worked around."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.core.verdict import Kind
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.reporting.words import sentences
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings, open_runner

from ..stepping import ExaminedSteps

BACKENDS = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("jax", marks=[pytest.mark.jax, pytest.mark.slow]),
]
#: The model is built with a last axis that is one too long; the layer computes as ever.
FAULT = """
import keras

true_shape = keras.layers.ZeroPadding1D.compute_output_shape
keras.layers.ZeroPadding1D.compute_output_shape = lambda self, shape: true_shape(self, shape)[:-1] + (shape[-1] + 1,)
keras.layers.ZeroPadding1D.compute_output_spec = lambda self, x: keras.KerasTensor(
    self.compute_output_shape(x.shape), x.dtype
)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_shape_than_was_announced_is_found(backend: str) -> None:
    target = f"keras:{backend}"
    build, rng = GraphBuilder(), np.random.default_rng(0)
    x = build.add("Activation", build.input("x", (3, 2)), name="a", activation="tanh")
    graph = build.build(build.add("ZeroPadding1D", x, name="pad", padding=1))
    procedure = Procedure(goal=Goal.GRADIENTS, mode=Mode.EAGER, loss=Recipe("MeanSquaredError"))
    inputs = {"x": rng.standard_normal((2, 3, 2)).astype(np.float32)}
    labels = {"pad": np.zeros((2, 5, 2), np.float32)}
    case = Case(graph, procedure, inputs, labels, draw_weights(graph, rng))
    settings = RunnerSettings(faults={target: Fault("announces-more", FAULT)}, cache=None)
    with open_runner([target, "keras:numpy"], settings) as runner:
        examiner = ExaminedSteps(runner, [target, "keras:numpy"], {target: "keras", "keras:numpy": "keras"})
        examiner.examine([case])
        (found,) = examiner.confirm()
    assert (found.kind, found.diagnosis.klass, found.diagnosis.suspects) == (Kind.SHAPE, Class.DEFECT, (target,))
    assert found.diagnosis.api == "keras.layers.ZeroPadding1D"
    assert "although it announces float32 (any, 5, 3)" in sentences(found.diagnosis)[0]
