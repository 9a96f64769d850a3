"""Does it shrink to that? One wrong number in a large image, on real libraries."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Procedure
from tensorparity.core.verdict import Stage
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.faults import Fault, load_fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.reduction.preparation import prepare_one
from tensorparity.triage.reduction.reducer import ReductionBudget

from ..examining import examine_case, examiner_for

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

#: Wrong in one narrow place of the line only.
SILU = """
import keras
from keras.src import activations


def silu(x):
    return keras.ops.where((x > 6.2) & (x < 6.3), 1.01 * x, x * keras.ops.sigmoid(x))


for name in ("silu", "swish"):
    activations.ALL_OBJECTS_DICT[name] = silu
activations.silu = silu
"""


def image(rng: np.random.Generator) -> np.ndarray:
    x = rng.uniform(-3, 3, (1, 3, 45, 37)).astype(np.float32)
    x[0, 2, 31, 17] = 6.25
    return x


def test_one_wrong_number_of_an_image() -> None:
    build = GraphBuilder("image")
    graph = build.build(build.add("Activation", build.input("x", (3, 45, 37)), name="act", activation="silu"))
    rng = np.random.default_rng(0)
    case = Case(graph, inputs={"x": image(rng)}, weights=draw_weights(graph, rng))
    targets = ["keras:tensorflow", "keras:torch"]
    with open_runner(targets, RunnerSettings(faults={"keras:torch": Fault("silu", SILU)})) as runner:
        checked, _ = examine_case(runner, case, targets)
        (suspicion,) = checked.suspicions
        prepared = prepare_one(runner, examiner_for(runner, targets), suspicion, ReductionBudget())
    reduced = prepared.suspicion
    assert reduced.diagnosis.suspects == ("keras:torch",)
    assert reduced.case.inputs["x"].shape == (1, 1, 1, 1)
    assert 6.2 < reduced.case.inputs["x"].item() < 6.3
    assert prepared.reduction is not None
    assert prepared.reduction.checks <= 15
    assert prepared.reproducer is not None
    assert prepared.reproducer.verified, prepared.reproducer.remark


def test_a_setting_that_saving_loses_in_a_network() -> None:
    build = GraphBuilder("network")
    x = build.add("Dense", build.input("x", (3,)), name="first", units=4)
    x = build.add("LeakyReLU", x, name="leaky", negative_slope=0.7)
    graph = build.build(build.add("Dense", x, name="last", units=2))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    case = Case(graph, Procedure(reload=True), inputs=inputs, weights=draw_weights(graph, rng))
    targets = ["keras:tensorflow", "keras:torch"]
    with open_runner(targets, RunnerSettings(faults={"keras:torch": load_fault("config-loses-setting")})) as runner:
        checked, _ = examine_case(runner, case, targets)
        (suspicion,) = checked.suspicions
        prepared = prepare_one(runner, examiner_for(runner, targets), suspicion, ReductionBudget())
    assert (suspicion.stage, suspicion.diagnosis.node) == (Stage.SAVE_LOAD, "leaky#0")
    assert [node.layer for node in prepared.suspicion.case.subject.nodes] == ["leaky"]  # type: ignore[union-attr]
    assert prepared.reproducer is not None
    assert prepared.reproducer.verified, prepared.reproducer.remark
