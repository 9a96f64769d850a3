"""Training steps with layers of which training is a formula of its own, on each backend of Keras."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import Runner
from tensorparity.core.verdict import Judgement
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.states import judge_states
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.runner import open_runner

from ..stepping import ExaminedSteps

TRAITS = traits_of(TARGETS)

TARGETS = ("keras:tensorflow", "keras:torch", "keras:jax")
CLIPPINGS = next(p for p in layer("BatchNormalization").parameters if p.name == "renorm_clipping").valid
pytestmark = [pytest.mark.tensorflow, pytest.mark.torch, pytest.mark.jax]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with open_runner(list(TARGETS)) as found:
        yield found


def _step(op: str, shape: tuple[int, ...], **params: Any) -> Case:
    build, rng = GraphBuilder(), np.random.default_rng(0)
    hidden = build.add(op, build.input("x", shape), name="layer", **params)
    graph = build.build(build.add("Dense", hidden, name="end", units=2))
    procedure = Procedure(Goal.UPDATE, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    inputs = {"x": rng.normal(1.0, 2.0, (6, *shape)).astype(np.float32)}
    labels = {"end": rng.normal(size=(6, *shape[:-1], 2)).astype(np.float32)}
    return Case(graph, procedure, inputs, labels, draw_weights(graph, rng))


@pytest.mark.parametrize("clipping", CLIPPINGS, ids=str)
def test_batch_renormalization(runner: Runner, clipping: Any) -> None:
    """Outputs, gradients and what the layer holds after the step, each against the reference."""
    case = _step("BatchNormalization", (4, 3), renorm=True, renorm_clipping=clipping, renorm_momentum=0.9)
    examiner = ExaminedSteps(runner, TARGETS, dict.fromkeys(TARGETS, "keras"))
    (step,) = examiner.examine([case])
    assert {verdict.judgement for verdict in step.verdicts} == {Judgement.PASS}
    assert examiner.confirm() == []
    outcomes = dict(zip(TARGETS, runner.run_pairs([(case, target) for target in TARGETS]), strict=True))
    (held,) = [found for found in judge_states(case, outcomes, traits=TRAITS) if found.node.op == "BatchNormalization"]
    assert held.judged_by == "reference"
    assert set(held.errors) == set(TARGETS)
    assert all(error <= K for error in held.errors.values()), held.errors
