"""Formulas that are NaN at an infinity and tend to a number: NaN and that number are right, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_named
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.graph import InputSpec, LayerGraph, Node, Ref
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.api import evaluate_call
from tensorparity.operators.reference.evaluate import evaluate
from tensorparity.oracles.measure.isolated_nodes import measure_outputs
from tensorparity.oracles.measure.limits import limits_of

K = 16.0
INF, NAN = np.inf, np.nan
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _case(op: str, params: dict, *inputs: list, dtype: str = "float32") -> Case:
    arrays = {f"x{i}": np.array(x, dtype_named(dtype)) for i, x in enumerate(inputs)}
    specs = tuple(InputSpec(name, array.shape[1:], dtype) for name, array in arrays.items())
    graph = LayerGraph(specs, (Node("layer", op, tuple(map(Ref, arrays)), params),), (Ref("layer"),))
    return Case(graph, inputs=arrays)


def _wrong(case: Case, *answers: list) -> list[bool]:
    (truth,) = evaluate(case.subject, case.inputs, case.weights).values()
    answered = {f"t{i}": [np.array(answer, np.float32)] for i, answer in enumerate(answers)}
    freed = limits_of(case, truth)
    found = measure_outputs(case.subject.nodes[0], answered, truth, freed, list(case.inputs.values()))
    return [error > K for error in found.errors.values()] if not found.freedom else [False] * len(answers)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_softmax_of_an_infinity(dtype: str) -> None:
    case = _case("Softmax", {}, [[INF, 1.0, 2.0]], dtype=dtype)
    assert _wrong(case, [[NAN, NAN, NAN]], [[NAN, 0.0, 0.0]], [[1.0, 0.0, 0.0]]) == [False] * 3
    assert _wrong(case, [[0.5, 0.5, 0.0]]) == [True], "a number, and not the limit"


def test_two_infinities_have_no_limit_and_what_is_beside_them_has() -> None:
    case = _case("Softmax", {}, [[INF, 1.0, INF]])
    assert _wrong(case, [[NAN, 0.0, NAN]], [[NAN, NAN, NAN]]) == [False] * 2
    assert _wrong(case, [[0.5, 0.0, 0.5]]) == [True]


def test_infinity_less_infinity_has_none() -> None:
    assert _wrong(_case("Subtract", {}, [[INF]], [[INF]]), [[0.0]]) == [True]
    assert limits_of(_case("Subtract", {}, [[INF]], [[1.0]]), _truth(_case("Subtract", {}, [[INF]], [[1.0]]))) is None


def _truth(case: Case) -> list:
    (truth,) = evaluate(case.subject, case.inputs, case.weights).values()
    return list(truth)


def test_nan_that_comes_from_nan_is_no_matter_of_limits() -> None:
    case = _case("Softmax", {}, [[NAN, 1.0, 2.0], [INF, 1.0, 2.0]])
    assert _wrong(case, [[NAN] * 3, [NAN, 0.0, 0.0]], [[NAN, 0.0, 0.0], [NAN] * 3]) == [False, True]


def test_of_a_call() -> None:
    call = ApiCall("keras.ops.softmax", (ArrayArg("x"),), {"axis": -1})
    case = Case(call, Procedure(goal=Goal.CALL), inputs={"x": np.array([[INF, 1.0]], np.float32)})
    freed = limits_of(case, [evaluate_call(call, dict(case.inputs))])
    assert freed is not None
    assert freed.also is not None
    assert (freed.mask.tolist(), freed.also.tolist()) == ([[True, True]], [[1.0, 0.0]])
