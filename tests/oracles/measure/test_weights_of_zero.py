"""What is not finite behind a weight of exactly 0, and where that is no excuse."""

from __future__ import annotations

import numpy as np

from tensorparity.core.arrays import dtype_named
from tensorparity.core.case import Case
from tensorparity.core.graph import InputSpec, LayerGraph, Node, Ref
from tensorparity.operators.reference.evaluate import evaluate
from tensorparity.oracles.measure.documented_freedoms import freedom_of
from tensorparity.oracles.measure.isolated_nodes import measure_outputs
from tensorparity.oracles.measure.weights_of_zero import not_finite_by_zero

K = 16.0


def _case(op: str, params: dict, x: list, weights: dict[str, np.ndarray] | None = None, dtype: str = "float32") -> Case:
    array = np.array(x, dtype_named(dtype))
    graph = LayerGraph(
        (InputSpec("x", array.shape[1:], dtype),), (Node("layer", op, (Ref("x"),), params),), (Ref("layer"),)
    )
    return Case(graph, inputs={"x": array}, weights=weights or {})


def _errors(case: Case, *answers: list) -> list[bool]:
    """Which answers are beyond the limit."""
    (truth,) = evaluate(case.subject, case.inputs, case.weights).values()
    freed = freedom_of(case) or not_finite_by_zero(case, truth)
    answered = {f"t{i}": [np.array(answer, np.float32)] for i, answer in enumerate(answers)}
    found = measure_outputs(case.subject.nodes[0], answered, truth, freed, list(case.inputs.values()))
    return [error > K for error in found.errors.values()] if not found.freedom else [False] * len(answers)


DENSE = {"layer/kernel": np.array([[0.0], [2.0]], np.float32), "layer/bias": np.zeros(1, np.float32)}


def test_a_weight_of_0_blames_nobody() -> None:
    case = _case("Dense", {"units": 1}, [[np.nan, 3.0]], DENSE)
    assert _errors(case, [[np.nan]], [[6.0]]) == [False, False]


def test_a_weight_of_0_blames_nobody_in_bfloat16() -> None:
    weights = {name: array.astype(dtype_named("bfloat16")) for name, array in DENSE.items()}
    case = _case("Dense", {"units": 1}, [[np.nan, 3.0]], weights, "bfloat16")
    assert _errors(case, [[np.nan]], [[6.0]], [[7.0]]) == [False, False, True]


def test_another_number_is_wrong_all_the_same() -> None:
    case = _case("Dense", {"units": 1}, [[np.nan, 3.0]], DENSE)
    assert _errors(case, [[7.0]]) == [True]


def test_a_weight_that_is_not_0_excuses_nobody() -> None:
    weights = {**DENSE, "layer/kernel": np.array([[1.0], [2.0]], np.float32)}
    assert _errors(_case("Dense", {"units": 1}, [[np.nan, 3.0]], weights), [[6.0]]) == [True]


def test_a_row_that_holds_no_nan_has_none() -> None:
    case = _case("Dense", {"units": 1}, [[np.nan, 3.0], [1.0, 3.0]], DENSE)
    assert _errors(case, [[6.0], [np.nan]]) == [True]


def test_a_neighbour_of_weight_0_in_interpolation() -> None:
    case = _case(
        "Resizing", {"height": 1, "width": 3}, [[[[1.0], [np.nan], [2.0], [5.0], [7.0], [9.0], [1.0], [3.0], [3.0]]]]
    )
    plain = evaluate(case.subject, case.inputs, case.weights)["layer#0"][0].value
    assert np.isnan(plain).ravel().tolist() == [True, False, False]
    assert _errors(case, plain.tolist(), [[[[np.nan], [5.0 + 2.0], [3.0]]]])[0] is False
    assert _errors(case, [[[[4.0], [7.0], [3.0]]]]) == [True], "a number where the pixel itself is NaN"
    assert _errors(case, [[[[np.nan], [7.0], [np.nan]]]]) == [True], "no neighbour of it"


def test_all_targets_take_a_formula_literally() -> None:
    case = _case("Activation", {"activation": "silu"}, [[-np.inf, 1.0]])
    (truth,) = evaluate(case.subject, case.inputs, {}).values()
    right, literal = [truth[0].value.astype(np.float32)], [np.array([[np.nan, truth[0].value[0, 1]]], np.float32)]
    node, given = case.subject.nodes[0], list(case.inputs.values())
    assert measure_outputs(node, {"a": literal, "b": literal}, truth, None, given).nan_alike
    assert not measure_outputs(node, {"a": literal, "b": right}, truth, None, given).nan_alike
    off = [literal[0] + np.float32(1.0)]
    assert not measure_outputs(node, {"a": off, "b": off}, truth, None, given).nan_alike
