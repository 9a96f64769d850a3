"""Optimizers of Keras by those of torch: which of them make the same first step, and that they do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.capabilities import within_reach
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, Node
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.steps import judge_update, stepped_weights, update_error
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.lowering.pytorch.graph import lower_to_torch
from tensorparity.targets.lowering.pytorch.optimizers import WRITERS
from tensorparity.targets.runner import open_runner

TARGET = "torch:eager"
TRAITS = traits_of(TARGETS)
KNOWN = TRAITS[TARGET].optimizers


def _case(name: str, dtype: str | None = None, *, held: bool = False, **params: Any) -> Case:
    rng = np.random.default_rng(3)
    build = GraphBuilder("step")
    extra = {"kernel_constraint": {"class_name": "NonNeg", "config": {}}} if held else {}
    hidden = build.add("Dense", build.input("x", (4,)), name="hidden", units=3, activation="tanh", **extra)
    graph = build.build(build.add("Dense", hidden, name="end", units=2))
    procedure = Procedure(
        Goal.UPDATE, training=True, dtype=dtype, loss=Recipe("MeanSquaredError"), optimizer=Recipe(name, params)
    )
    inputs = {"x": rng.normal(0, 1, (5, 4)).astype(np.float32)}
    labels = {"end": rng.normal(0, 1, (5, 2)).astype(np.float32)}
    return Case(graph, procedure, inputs=inputs, labels=labels, weights=draw_weights(graph, rng))


def _values(name: str) -> list[dict[str, Any]]:
    """The defaults, and each other value of the arguments that torch has an equal of, one at a time."""
    own = [item for item in OPTIMIZERS[name].parameters if item.name in KNOWN[name]]
    others = [{item.name: value} for item in own for value in item.valid if value != item.default]
    return [{}, *others, {"clipvalue": 0.01}]


def test_the_traits_name_what_is_written() -> None:
    assert set(KNOWN) == set(WRITERS)


@pytest.mark.parametrize(
    ("recipe", "goal"),
    [
        (Recipe("SGD", {"momentum": 0.9, "nesterov": True}), Goal.UPDATE),
        (Recipe("Adam", {"weight_decay": 0.1, "use_ema": False}), Goal.UPDATE),
        (Recipe("SGD", {"weight_decay": 0.1}), Goal.GRADIENTS),
        (Recipe("Adam", {"clipnorm": 1.0}), Goal.GRADIENTS),
        (Recipe("Adam", {"learning_rate": {"class_name": "ExponentialDecay"}}), Goal.GRADIENTS),
        (Recipe("RMSprop"), Goal.GRADIENTS),
    ],
)
def test_a_step_is_asked_for_where_torch_makes_the_same(recipe: Recipe, goal: Goal) -> None:
    case = _case("SGD")
    case = replace(case, procedure=replace(case.procedure, optimizer=recipe))
    assert within_reach(case, TRAITS[TARGET]).procedure.goal is goal
    assert within_reach(case, TRAITS["torch:compile"]).procedure.goal is Goal.GRADIENTS


def test_what_a_layer_holds_to_something_is_not_moved() -> None:
    subject, _ = lower_to_torch(_case("SGD", held=True))
    assert subject["moved"] == ["end/bias", "end/kernel", "hidden/bias"]


@pytest.mark.torch
def test_steps_are_those_of_the_formula() -> None:
    cases = [_case(name, dtype, **params) for dtype in (None, "float64") for name in KNOWN for params in _values(name)]
    with open_runner([TARGET]) as runner:
        outcomes = runner.run_pairs([(case, TARGET) for case in cases])
    for case, outcome in zip(cases, outcomes, strict=True):
        assert outcome.completed, outcome.failure
        assert set(stepped_weights(case, outcome)) == set(case.weights)
        assert any((outcome.trace.weights[name] != case.weights[name]).any() for name in case.weights)
        assert update_error(case, outcome) <= K, case.procedure.optimizer


@pytest.mark.torch
def test_it_votes_on_a_step() -> None:
    """Beside a target whose weights did not move: one is wrong and the other right, on its own gradients."""
    case = _case("Adam")
    with open_runner([TARGET]) as runner:
        (mine,) = runner.run_pairs([(case, TARGET)])
    idle = replace(mine, target="other", trace=replace(mine.trace, weights=dict(case.weights)))
    errors = judge_update(case, {TARGET: mine, "other": idle})
    assert errors is not None
    assert errors.node == Node("Adam", "Adam", ())
    assert errors.errors[TARGET] <= K < errors.errors["other"]
