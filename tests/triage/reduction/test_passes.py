"""Each pass does what it says, and the catalogue's shape rules hold for whatever comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case, ModelFile
from tensorparity.core.graph import GraphBuilder, LayerGraph, Node
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.reference.evaluate import evaluate
from tensorparity.triage.reduction.order import elements
from tensorparity.triage.reduction.passes import PASSES

from .conftest import make_case


def nodes(case: Case) -> tuple[Node, ...]:
    assert isinstance(case.subject, LayerGraph)
    return case.subject.nodes


def has(op: str, **params: Any) -> Callable[[Case], bool]:
    def fails(case: Case) -> bool:
        return any(node.op == op and params.items() <= node.params.items() for node in nodes(case))

    return fails


def only(*names: str) -> list[Any]:
    return [(name, run) for name, run in PASSES if name in names]


def test_all_passes_together(reduced: Any, lenet: LayerGraph) -> None:
    result, _ = reduced(make_case(lenet), has("Conv2D", padding="same"))
    (node,) = nodes(result.case)
    assert dict(node.params) == {"filters": 1, "kernel_size": [1, 1], "padding": "same"}
    assert elements(result.case) == 3
    evaluate(result.case.subject, result.case.inputs, result.case.weights)


class TestNodes:
    def test_halves_where_nobody_is_accused(self, reduced: Any) -> None:
        build = GraphBuilder()
        x = build.input("x", (2,))
        for index in range(40):
            x = build.add("ReLU", x, name="guilty" if index == 23 else f"r{index}")
        case = make_case(build.build(x))
        result, _ = reduced(
            case, lambda case: any(node.layer == "guilty" for node in nodes(case)), passes=only("drop nodes")
        )
        assert [node.name for node in nodes(result.case)] == ["guilty"]
        assert result.checks <= 13

    def test_two_that_must_stay_together(self, reduced: Any, lenet: LayerGraph) -> None:
        def fails(case: Case) -> bool:
            return {"conv", "logits"} <= {node.name for node in nodes(case)}

        result, _ = reduced(make_case(lenet), fails, passes=only("drop nodes"))
        assert len(nodes(result.case)) < len(lenet.nodes)
        assert fails(result.case)

    def test_a_shared_layer_is_counted_anew(self, reduced: Any) -> None:
        build = GraphBuilder()
        x = build.add("Dense", build.input("x", (2,)), name="d", units=2)
        x = build.add("Dense", build.add("ReLU", x, name="r"), again="d")
        case = make_case(build.build(x))
        result, _ = reduced(case, lambda case: nodes(case)[-1].op == "Dense", passes=only("drop nodes"))
        (node,) = nodes(result.case)
        assert (node.name, node.call, node.key) == ("d", 0, "d#0")

    def test_captured_inputs_are_the_reference_s(self, reduced: Any, lenet: LayerGraph) -> None:
        case = make_case(lenet)
        result, _ = reduced(case, has("BatchNormalization"), passes=only("drop nodes"))
        expected = evaluate(lenet, case.inputs, case.weights)["conv#0"][0].value
        np.testing.assert_array_equal(result.case.inputs["conv"], expected.astype(np.float32))


def test_identity(reduced: Any, lenet: LayerGraph) -> None:
    def fails(case: Case) -> bool:
        return {"Conv2D", "Dense"} <= {node.op for node in nodes(case)}

    result, _ = reduced(make_case(lenet), fails, passes=only("replace by Identity"))
    assert [node.op for node in nodes(result.case)] == ["Conv2D", "Flatten", "Dense"]


class TestParameters:
    def test_all_at_once(self, reduced: Any, lenet: LayerGraph) -> None:
        result, seen = reduced(make_case(lenet), lambda case: len(nodes(case)) == 6, passes=only("reset parameters"))
        assert dict(nodes(result.case)[0].params) == {"filters": 6, "kernel_size": [5, 5]}
        assert len(seen) == 2

    def test_what_matters_stays(self, reduced: Any, lenet: LayerGraph) -> None:
        fails = has("Conv2D", strides=[2, 2])
        result, _ = reduced(make_case(lenet), fails, passes=only("reset parameters"))
        assert dict(nodes(result.case)[0].params) == {"filters": 6, "kernel_size": [5, 5], "strides": [2, 2]}

    def test_weights_follow(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("Dense", build.input("x", (2,)), name="d", units=2, use_bias=False)))
        result, _ = reduced(case, lambda case: True, passes=only("reset parameters"))
        np.testing.assert_array_equal(result.case.weights["d/bias"], np.zeros(2, np.float32))


class TestShapes:
    def test_to_the_smallest(self, reduced: Any, lenet: LayerGraph) -> None:
        result, _ = reduced(make_case(lenet), has("Dense"), passes=only("shrink shapes"))
        assert {array.shape[0] for array in result.case.inputs.values()} == {1}
        assert nodes(result.case)[0].params["filters"] == 1

    def test_what_cannot_be_one(self, reduced: Any, lenet: LayerGraph) -> None:
        def fails(case: Case) -> bool:
            return case.inputs["image"].shape[1] >= 7

        result, _ = reduced(make_case(lenet), fails, passes=only("shrink shapes"))
        assert result.case.inputs["image"].shape == (1, 7, 1, 1)

    def test_inputs_of_a_merge_stay_alike(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("Add", build.input("a", (5, 4)), build.input("b", (5, 4)))))
        result, _ = reduced(case, has("Add"), passes=only("shrink shapes"))
        assert [array.shape for array in result.case.inputs.values()] == [(1, 1, 1), (1, 1, 1)]

    def test_a_backward_pass_keeps_its_cotangent(self, reduced: Any) -> None:
        build = GraphBuilder()
        graph = build.build(build.add("Dense", build.input("x0", (3,)), name="d", units=4))
        plain = make_case(graph)
        case = replace(
            plain,
            procedure=Procedure(goal=Goal.REPLAY, nodes=("d#0",), training=True),
            inputs={"d#0/0": plain.inputs["x0"]},
            cotangents={"d#0": np.ones((3, 4), np.float32)},
        )
        result, _ = reduced(case, has("Dense"), passes=only("shrink shapes"))
        assert (result.case.inputs["d#0/0"].shape, result.case.cotangents["d#0"].shape) == ((1, 1), (1, 1))


def test_dtypes(reduced: Any) -> None:
    build = GraphBuilder()
    case = make_case(build.build(build.add("ReLU", build.input("x", (2,), "float64"))))
    case = replace(case, procedure=Procedure(dtype="float16"), inputs={"x": case.inputs["x"].astype(np.float64)})
    result, _ = reduced(case, lambda case: True, passes=only("simplify dtypes"))
    assert (result.case.procedure.dtype, result.case.inputs["x"].dtype) == (None, np.float32)
    kept, _ = reduced(case, lambda case: case.procedure.dtype == "float16", passes=only("simplify dtypes"))
    assert (kept.case.procedure.dtype, kept.case.inputs["x"].dtype) == ("float16", np.float32)


class TestValues:
    def test_plain_numbers(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("BatchNormalization", build.input("x", (2,)), name="n")), batch=2)
        result, seen = reduced(case, lambda case: True, passes=only("simplify values"))
        assert result.case.inputs["x"].tolist() == [[1, 2], [3, 4]]
        assert {name: array.tolist() for name, array in result.case.weights.items()} == {
            "n/gamma": [1, 1],
            "n/beta": [0, 0],
            "n/moving_mean": [0, 0],
            "n/moving_variance": [1, 1],
        }
        assert len(seen) == 2

    def test_what_is_huge_stays_huge(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("ReLU", build.input("x", (2,)))))
        case = replace(case, inputs={"x": np.array([[1.234e30, 3.7]], np.float32)})
        result, _ = reduced(case, lambda case: case.inputs["x"].max() > 1e25, passes=only("simplify values"))
        assert result.case.inputs["x"].tolist() == [[np.float32(1e30), 4]]

    def test_nan_stays(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("ReLU", build.input("x", (3,)))))
        case = replace(case, inputs={"x": np.array([[np.nan, 0.71, -2.2]], np.float32)})
        result, _ = reduced(case, lambda case: np.isnan(case.inputs["x"]).any(), passes=only("simplify values"))
        np.testing.assert_array_equal(result.case.inputs["x"], [[np.nan, 1, -3]])

    def test_zeros_in_long_arrays(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("ReLU", build.input("x", (5,)))), batch=4)
        result, _ = reduced(case, lambda case: case.inputs["x"][3, 4] == case_corner, passes=only("simplify values"))
        assert np.count_nonzero(result.case.inputs["x"]) <= 5

    def test_long_arrays_by_a_formula(self, reduced: Any) -> None:
        build = GraphBuilder()
        case = make_case(build.build(build.add("ReLU", build.input("x", (20,)))), batch=1)
        result, _ = reduced(case, lambda case: True, passes=only("simplify values"))
        assert result.case.inputs["x"].tolist() == [[float(i % 7 - 3) for i in range(20)]]


case_corner = float(np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)[3, 4])


class TestTraining:
    def case(self) -> Case:
        build = GraphBuilder()
        graph = build.build(build.add("Dense", build.input("x", (3,)), name="d", units=2))
        adam = Recipe("Adam", {"learning_rate": 0.1})
        fit = Procedure(goal=Goal.FIT, steps=3, training=True, loss=Recipe("Huber", {"delta": 2.0}), optimizer=adam)
        return replace(make_case(graph, batch=6), procedure=fit, labels={"d": np.ones((6, 2), np.float32)})

    def test_no_further_than_needed(self, reduced: Any) -> None:
        result, _ = reduced(self.case(), lambda case: True, passes=only("shrink training"))
        assert result.case.procedure == Procedure()
        assert not result.case.labels

    def test_one_plain_step(self, reduced: Any) -> None:
        fails = lambda case: case.procedure.goal is Goal.FIT  # noqa: E731
        result, _ = reduced(self.case(), fails, passes=only("shrink training"))
        procedure = result.case.procedure
        assert (procedure.steps, procedure.loss, procedure.optimizer) == (1, Recipe("MeanSquaredError"), Recipe("SGD"))
        assert len(result.case.inputs["x"]) == len(result.case.labels["d"]) == 2

    @pytest.mark.parametrize(
        ("loss", "labels"),
        [
            ("SparseCategoricalCrossentropy", np.array([1, 0], np.int32)),
            ("CTC", np.array([[1, 0, 0], [1, 1, 0]], np.int32)),
            ("MeanAbsoluteError", np.array([[1, 0], [2, 3]], np.int32)),
        ],
    )
    def test_labels_of_a_plainer_loss_are_as_many_as_predictions(self, reduced: Any, loss: str, labels: Any) -> None:
        case = self.case()
        procedure = replace(case.procedure, goal=Goal.GRADIENTS, steps=None, loss=Recipe(loss), optimizer=None)
        case = replace(case, procedure=procedure, labels={"d": labels}, inputs={"x": case.inputs["x"][:2]})
        fails = lambda case: case.procedure.goal is Goal.GRADIENTS  # noqa: E731
        result, _ = reduced(case, fails, passes=only("shrink training"))
        assert result.case.procedure.loss == Recipe("MeanSquaredError")
        after = result.case.labels["d"]
        assert (after.shape, after.dtype) == ((2, 2), np.float32)
        assert np.array_equal(after, labels) or (not after.any() and labels.shape != (2, 2))


class TestCalls:
    def case(self) -> Case:
        rng = np.random.default_rng(0)
        call = ApiCall("keras.ops.matmul", (ArrayArg("a"), ArrayArg("b")))
        inputs = {"a": rng.standard_normal((3, 4)), "b": rng.standard_normal((4, 5))}
        return Case(call, Procedure(goal=Goal.CALL), inputs={n: a.astype(np.float32) for n, a in inputs.items()})

    def test_inner_sizes_stay_alike(self, reduced: Any) -> None:
        def fails(case: Case) -> bool:
            return case.inputs["a"].shape[1] == case.inputs["b"].shape[0] >= 2

        result, _ = reduced(self.case(), fails)
        assert [array.shape for array in result.case.inputs.values()] == [(1, 2), (2, 1)]

    def test_arguments_that_do_not_matter_go(self, reduced: Any) -> None:
        call = ApiCall("keras.ops.sum", (ArrayArg("x"),), {"axis": 0})
        case = Case(call, Procedure(goal=Goal.CALL), inputs={"x": np.ones((2, 2), np.float32)})
        result, _ = reduced(case, lambda case: True)
        assert not result.case.subject.kwargs
        assert result.case.inputs["x"].shape == (1, 1)


def test_files_keep_all_but_their_batch(reduced: Any) -> None:
    case = Case(ModelFile("m.onnx", "0" * 64, "onnx"), inputs={"x": np.ones((8, 3), np.float32)})
    result, _ = reduced(case, lambda case: len(case.inputs["x"]) >= 3, passes=only("smallest batch"))
    assert result.case.inputs["x"].shape == (4, 3)


@pytest.mark.parametrize("seed", range(3))
def test_reducing_is_deterministic(reduced: Any, lenet: LayerGraph, seed: int) -> None:
    ends = {reduced(make_case(lenet, seed=seed), has("Conv2D", padding="same"))[0].case.digest for _ in range(2)}
    assert len(ends) == 1
