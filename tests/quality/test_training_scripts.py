"""Training that goes wrong by the optimizer, on real libraries: found, reduced, and shown by a script."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Stage
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.reporting.words import sentences
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.reduction.preparation import Prepared, prepare_one
from tensorparity.triage.reduction.reducer import ReductionBudget

from ..examining import examine_case, examiner_for

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.jax, pytest.mark.torch]

#: The velocity is lost after every step: the first one is right, the second is not.
FORGETS = """
from keras.src.backend.torch.optimizers import torch_sgd

right = torch_sgd.SGD._parallel_update_step


def forgetting(self, *args):
    right(self, *args)
    for velocity in getattr(self, "momentums", None) or ():
        velocity.assign(0.0 * velocity.value)


torch_sgd.SGD._parallel_update_step = forgetting
"""
#: A tenth too far.
HASTY = """
from keras.src.backend.torch.optimizers import torch_sgd

right = torch_sgd.SGD._parallel_update_step
torch_sgd.SGD._parallel_update_step = lambda self, g, v, rate: right(self, g, v, 1.1 * rate)
"""
TORCH = "keras:torch"


def training(procedure: Procedure, rows: int) -> Case:
    build = GraphBuilder("line")
    x = build.add("Dense", build.input("x", (4,)), name="hidden", units=3, activation="tanh")
    graph = build.build(build.add("Dense", x, name="out", units=2))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((rows, 4)).astype(np.float32)}
    labels = {"out": rng.standard_normal((rows, 2)).astype(np.float32)}
    return Case(graph, procedure, inputs=inputs, labels=labels, weights=draw_weights(graph, rng))


def prepared(case: Case, targets: list[str], fault: str) -> Prepared:
    with open_runner(targets, RunnerSettings(faults={TORCH: Fault("optimizer", fault)})) as runner:
        checked, _ = examine_case(runner, case, targets)
        assert len(checked.suspicions) == 1, checked.undecided
        return prepare_one(runner, examiner_for(runner, targets), checked.suspicions[0], ReductionBudget())


def test_several_steps() -> None:
    optimizer = Recipe("SGD", {"learning_rate": 0.1, "momentum": 0.9})
    procedure = Procedure(Goal.FIT, training=True, steps=4, loss=Recipe("MeanSquaredError"), optimizer=optimizer)
    found = prepared(training(procedure, 8), ["keras:tensorflow", "keras:jax", TORCH], FORGETS)
    assert (found.suspicion.stage, found.suspicion.diagnosis.suspects) == (Stage.UPDATE, (TORCH,))
    assert found.suspicion.case.procedure.steps != 1  # the first step is right
    assert found.reproducer is not None, sentences(found.suspicion.diagnosis)
    assert found.reproducer.verified, (found.reproducer.remark, found.reproducer.text)
    assert "for k in range(2):" in found.reproducer.text


def test_one_step_by_its_formula_on_two_targets() -> None:
    procedure = Procedure(Goal.UPDATE, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    found = prepared(training(procedure, 2), ["keras:tensorflow", TORCH], HASTY)
    diagnosis = found.suspicion.diagnosis
    assert (found.suspicion.stage, diagnosis.suspects) == (Stage.UPDATE, (TORCH,))
    assert diagnosis.api == "keras.optimizers.SGD"
    assert found.reproducer is not None, sentences(diagnosis)
    assert found.reproducer.verified, (found.reproducer.remark, found.reproducer.text)
