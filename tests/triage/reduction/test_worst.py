"""The worst number stays, whatever its place; what it is computed from stays with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import WorstElement
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.triage.reduction.order import elements
from tensorparity.triage.reduction.passes import PASSES
from tensorparity.triage.reduction.reducer import Reduction, ReductionBudget, reduce_case
from tensorparity.triage.reduction.worst import keep_worst

from .conftest import make_case, suspicion_of


def one_layer(op: str, shape: tuple[int, ...], batch: int = 1, **params: Any) -> Case:
    build = GraphBuilder()
    return make_case(build.build(build.add(op, build.input("x", shape), name="layer", **params)), batch)


def outputs(case: Case) -> Array:
    (node,) = case.subject.nodes  # type: ignore[union-attr]
    return evaluate_node(node, list(case.inputs.values()), case.weights)[0].value


def reduce_by(case: Case, wrong: Callable[[Case], Array], passes: Any = PASSES) -> Reduction:
    """Reduce a case that is wrong wherever ``wrong`` is positive; the most positive is the worst."""

    def check(cases: Sequence[Case]) -> list[Judged]:
        return [examined(case) for case in cases]

    def examined(case: Case) -> Judged:
        apart = wrong(case)
        if not (apart > 0).any():
            return Judged()
        index = np.unravel_index(int(np.argmax(apart)), apart.shape)
        return Judged((), (replace(suspicion_of(case), worst=WorstElement(tuple(int(part) for part in index))),))

    return reduce_case(case, suspicion_of(case).key, check, passes, ReductionBudget(60))


ALONE = [("keep the worst number", keep_worst)]


def test_one_number_of_an_image() -> None:
    case = one_layer("Activation", (3, 45, 37), activation="silu")
    x = case.inputs["x"].copy()
    x[0, 2, 31, 17] = -87.5
    result = reduce_by(replace(case, inputs={"x": x}), lambda case: (case.inputs["x"] < -80).astype(float))
    assert result.case.inputs["x"].shape == (1, 1, 1, 1)
    assert result.case.inputs["x"][0, 0, 0, 0] < -80
    assert result.checks <= 12


def test_weights_go_with_their_numbers() -> None:
    case = one_layer("BatchNormalization", (4, 5, 7))
    weights = {**case.weights, "layer/gamma": np.arange(7, dtype=np.float32)}
    case = replace(case, weights=weights)
    result = reduce_by(case, lambda case: outputs(case) * 0 + (case.weights["layer/gamma"] == 5), ALONE)
    assert elements(result.case) == 5
    assert result.case.weights["layer/gamma"].tolist() == [5.0]


def test_one_weight_per_input() -> None:
    case = one_layer("PReLU", (4, 4))
    alpha = np.zeros((4, 4), np.float32)
    alpha[3, 2] = 7.0
    case = replace(case, weights={"layer/alpha": alpha})
    result = reduce_by(case, lambda case: case.weights["layer/alpha"][None] / 7.0, ALONE)
    assert result.case.weights["layer/alpha"].tolist() == [[7.0]]


def test_a_window_round_it() -> None:
    case = one_layer("Conv2D", (20, 18, 2), batch=3, filters=4, kernel_size=3)
    x = case.inputs["x"].copy()
    x[1, 12, 9, 0] = 50.0
    case = replace(case, inputs={"x": x})
    result = reduce_by(case, lambda case: np.abs(outputs(case)) * (np.abs(case.inputs["x"]).max() > 40), ALONE)
    assert result.case.inputs["x"].shape == (1, 3, 3, 2)
    assert 50.0 in result.case.inputs["x"]
    assert result.case.subject.nodes[0].params["filters"] == 1  # type: ignore[union-attr]


def test_channel_that_is_wrong() -> None:
    case = one_layer("Dense", (5,), units=6)
    bias = np.array([0, 0, 0, 0, 9, 0], np.float32)
    case = replace(case, weights={**case.weights, "layer/bias": bias})
    result = reduce_by(case, lambda case: outputs(case) * 0 + case.weights["layer/bias"], ALONE)
    assert result.case.weights["layer/bias"].tolist() == [9.0]
    np.testing.assert_array_equal(result.case.weights["layer/kernel"], case.weights["layer/kernel"][:, 4:5])


def test_an_axis_that_belongs_together() -> None:
    case = one_layer("Softmax", (6, 5), batch=2)
    x = case.inputs["x"].copy()
    x[1, 4, 2] = 90.0
    result = reduce_by(replace(case, inputs={"x": x}), lambda case: (case.inputs["x"] > 80).astype(float), ALONE)
    assert result.case.inputs["x"].shape == (1, 1, 5)


def test_a_call() -> None:
    rng = np.random.default_rng(0)
    arrays = {"a": rng.standard_normal((6, 4)), "b": rng.standard_normal((4, 7))}
    case = Case(ApiCall("keras.ops.matmul", (ArrayArg("a"), ArrayArg("b"))), Procedure(goal=Goal.CALL), inputs=arrays)
    largest = float(np.abs(arrays["a"] @ arrays["b"]).max())

    def wrong(case: Case) -> Array:
        product = np.abs(case.inputs["a"] @ case.inputs["b"])
        return product * (product >= largest)

    result = reduce_by(case, wrong, ALONE)
    assert [array.shape for array in result.case.inputs.values()] == [(1, 4), (4, 1)]


def test_without_a_place_nothing_is_tried(reduced: Any) -> None:
    result, seen = reduced(one_layer("ReLU", (4, 4)), lambda case: True, passes=ALONE)
    assert (result.checks, len(seen)) == (1, 1)


@pytest.mark.parametrize("pool", [2, 3])
def test_gradient_of_a_window(pool: int) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("MaxPooling1D", build.input("x", (12, 2)), name="layer", pool_size=pool))
    x = np.random.default_rng(0).standard_normal((2, 12, 2)).astype(np.float32)
    cotangent = np.arange(2 * (12 // pool) * 2, dtype=np.float32).reshape(2, -1, 2)
    place = (1, 7, 1)
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("layer#0",)),
        inputs={"layer#0/0": x},
        cotangents={"layer#0": cotangent},
    )

    def check(cases: Sequence[Case]) -> list[Judged]:
        kept = [x[place] in case.inputs["layer#0/0"] for case in cases]
        worst = WorstElement(place, argument=0)
        return [
            Judged((), (replace(suspicion_of(c), worst=worst),)) if k else Judged()
            for c, k in zip(cases, kept, strict=True)
        ]

    result = reduce_case(case, suspicion_of(case).key, check, ALONE, ReductionBudget(3))
    assert result.case.inputs["layer#0/0"].shape == (1, pool, 1)
    assert result.case.cotangents["layer#0"].tolist() == [[[cotangent[1, 7 // pool, 1]]]]
