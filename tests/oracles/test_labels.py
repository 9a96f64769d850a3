"""Labels that do not fit their loss: nobody is wrong about those."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, Ref
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Kind
from tensorparity.engines.muffin.engine import MuffinEngine
from tensorparity.generators.single_cases.losses import loss_cases
from tensorparity.oracles.measure.labels import unfit

from ..examining import judge_case


def held_against(loss: Recipe, labels: tuple[int, ...], predictions: tuple[int, ...]) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", predictions[1:]), name="y"))
    procedure = Procedure(goal=Goal.GRADIENTS, loss=loss)
    return Case(graph, procedure, {"x": np.zeros(predictions, np.float32)}, {"y": np.zeros(labels, np.float32)})


@pytest.mark.parametrize(
    ("loss", "labels", "predictions"),
    [
        (Recipe("MeanSquaredError"), (2, 3), (2, 3)),
        (Recipe("MeanSquaredError"), (2,), (2, 1)),
        (Recipe("SparseCategoricalCrossentropy"), (2,), (2, 3)),
        (Recipe("SparseCategoricalCrossentropy"), (2, 4, 1), (2, 4, 3)),
        (Recipe("SparseCategoricalCrossentropy", {"axis": 1}), (2, 4), (2, 3, 4)),
        (Recipe("CTC"), (2, 5), (2, 4, 3)),
        (Recipe("MeanSquaredError"), (2, 0, 3), (2, 0, 3)),
    ],
)
def test_labels_that_fit(loss: Recipe, labels: tuple[int, ...], predictions: tuple[int, ...]) -> None:
    assert not unfit(held_against(loss, labels, predictions))


@pytest.mark.parametrize(
    ("loss", "labels", "predictions"),
    [
        (Recipe("MeanSquaredError"), (1, 2), (1, 1, 3)),
        (Recipe("SparseCategoricalCrossentropy"), (2, 3), (2, 3)),
        (Recipe("CTC"), (1, 2), (1, 1, 1)),
    ],
)
def test_who_fails_of_others_is_not_accused(loss: Recipe, labels: Any, predictions: Any) -> None:
    case = held_against(loss, labels, predictions)
    raised = Outcome("keras:torch", Status.RAISED, failure=Failure("RuntimeError", "sizes must match", stage="loss"))
    completed = Outcome("keras:jax", Status.COMPLETED, {"y": case.inputs["x"]})
    checked = judge_case(None, case, {"keras:torch": raised, "keras:jax": completed})  # type: ignore[arg-type]
    assert not checked.suspicions
    assert "do not fit" in checked.undecided


@pytest.mark.parametrize(
    ("status", "failure", "kind"),
    [
        (Status.CRASHED, Failure("SIGSEGV", "died", stage="loss"), Kind.CRASH),
        (Status.RAISED, Failure("ValueError", "cannot be built", stage="build"), Kind.ERROR),
    ],
)
def test_but_deaths_and_what_was_before_are_not_explained_by_them(status: Status, failure: Failure, kind: Kind) -> None:
    case = held_against(Recipe("MeanSquaredError"), (1, 2), (1, 1, 3))
    ended = Outcome("keras:torch", status, failure=failure)
    completed = Outcome("keras:jax", Status.COMPLETED, {"y": case.inputs["x"]})
    (found,) = judge_case(None, case, {"keras:torch": ended, "keras:jax": completed}).suspicions  # type: ignore[arg-type]
    assert (found.diagnosis.suspects, found.kind) == (("keras:torch",), kind)


def test_a_second_output_of_a_layer_has_labels_of_its_own() -> None:
    build = GraphBuilder()
    lstm = build.add("LSTM", build.input("x", (3, 2)), name="m", units=4, return_sequences=True, return_state=True)
    graph = build.build(lstm, Ref("m", 1))
    labels = {"m": np.zeros((2, 3, 4), np.float32), "m.1": np.zeros((2, 4), np.float32)}
    procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
    case = Case(graph, procedure, {"x": np.zeros((2, 3, 2), np.float32)}, labels)
    assert not unfit(case)
    assert unfit(Case(graph, procedure, case.inputs, {**labels, "m.1": np.zeros((2, 3), np.float32)}))


def test_all_that_is_drawn_fits() -> None:
    engine = MuffinEngine(Setup(settings={"single_cases": []}))
    drawn = [ask.case for _ in range(8) for ask in engine.ask()]
    assert sum(bool(case.labels) for case in drawn) > len(drawn) / 2
    drawn += islice(loss_cases(0), 120)
    assert not [reason for case in drawn if (reason := unfit(case))]
