"""References of single functions by their public names, worked out in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg
from tensorparity.core.errors import UsageError
from tensorparity.operators.functions.api import evaluate_call, evaluate_rest

#: The last is so large that only the largest may be taken out of the exponent.
X = np.array([[1.0, 3.0, -2.0], [0.5, 0.25, 1500.0]])


def value(api: str, *arrays: Array, **kwargs: object) -> Array:
    named = {f"x{index}": array for index, array in enumerate(arrays)}
    return evaluate_call(ApiCall(api, tuple(map(ArrayArg, named)), kwargs), named).value


def softmax(row: list[float]) -> list[float]:
    powers = [math.exp(x - max(row)) for x in row]
    return [power / math.fsum(powers) for power in powers]


def logsumexp(row: list[float]) -> float:
    return max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row))


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_exponentials_along_an_axis(shift: float) -> None:
    x = X + shift
    rows, columns = x.tolist(), x.T.tolist()
    np.testing.assert_allclose(value("keras.ops.softmax", x), [softmax(row) for row in rows], rtol=1e-12)
    np.testing.assert_allclose(value("keras.ops.softmax", x, axis=0).T, [softmax(row) for row in columns], rtol=1e-12)
    np.testing.assert_allclose(value("torch.softmax", x, dim=0).T, [softmax(row) for row in columns], rtol=1e-12)
    sums = [logsumexp(row) for row in rows]
    np.testing.assert_allclose(value("keras.ops.logsumexp", x, axis=1), sums, rtol=1e-12, strict=True)
    np.testing.assert_allclose(value("torch.logsumexp", x, dim=1), sums, rtol=1e-12, strict=True)
    kept = value("keras.ops.logsumexp", x, axis=0, keepdims=True)
    np.testing.assert_allclose(kept, [[logsumexp(row) for row in columns]], rtol=1e-12, strict=True)
    whole = value("keras.ops.logsumexp", x)
    np.testing.assert_allclose(whole, logsumexp(x.ravel().tolist()), rtol=1e-12)


@pytest.mark.parametrize("library", ["keras.ops", "torch"])
def test_matrix_products(library: str) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) - 5
    expected = [[math.fsum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    np.testing.assert_allclose(value(f"{library}.matmul", a, b), expected, strict=True)


def test_sums_and_curves() -> None:
    assert value("keras.ops.sum", X).tolist() == math.fsum(X.ravel())
    assert value("keras.ops.sum", X, axis=0).tolist() == [math.fsum(column) for column in X.T]
    np.testing.assert_allclose(value("keras.ops.tanh", X), [[math.tanh(x) for x in row] for row in X], rtol=1e-15)


def test_remainders_have_the_sign_of_one_operand() -> None:
    a, b = np.array([7.5, -7.5, 7.5, -7.5]), np.array([2.0, 2.0, -2.0, -2.0])
    assert value("torch.fmod", a, b).tolist() == [math.fmod(p, q) for p, q in zip(a, b, strict=True)]
    assert value("torch.remainder", a, b).tolist() == [p % q for p, q in zip(a.tolist(), b.tolist(), strict=True)]
    large = np.array([2**60 + 1])
    assert value("torch.fmod", large, np.array([2**30])).tolist() == [1]  # integers are not promoted


def test_complex_numbers_stay_complex() -> None:
    found = value("keras.ops.divide", np.array([1 + 3j], np.complex64), np.array([1 - 1j], np.complex64))
    assert found.dtype == np.complex128
    assert found.tolist() == [-1 + 2j]
    assert value("keras.ops.divide", np.array([1.0], np.float32), np.array([3.0], np.float32)).tolist() == [1 / 3]


def test_outputs_after_the_first() -> None:
    matrix = np.array([[2.0, 9.0], [1.0, 2.0]], np.float32)  # the lower triangle counts
    call = ApiCall("keras.ops.eigh", (ArrayArg("x"),))
    values, vectors = np.array([1.0, 3.0], np.float32), np.array([[1.0, 1.0], [-1.0, 1.0]], np.float32) / np.sqrt(2)
    for actual, truth in evaluate_rest(call, {"x": matrix}, [values, vectors.astype(np.float32)]):
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, truth.value, atol=1e-6)
    assert evaluate_rest(call, {"x": matrix}, [values]) == []
    assert evaluate_rest(ApiCall("keras.ops.sum", (ArrayArg("x"),)), {"x": matrix}, [values, values]) == []


def test_states_of_a_recurrence() -> None:
    one, zero = np.ones((1, 1)), np.zeros(1)
    weights = [one, 0 * one, zero, zero, 2 * one, 0 * one, zero, zero]
    names = {f"w{index}": weight for index, weight in enumerate(weights)}
    call = ApiCall(
        "torch.rnn_tanh",
        (ArrayArg("x"), ArrayArg("h"), tuple(map(ArrayArg, names)), True, 1, 0.0, False, True, False),
    )
    inputs = {"x": np.array([[[1.0]], [[0.5]]]), "h": np.zeros((2, 1, 1)), **names}
    seen = np.array([[[7.0]], [[8.0]]])
    ((actual, truth),) = evaluate_rest(call, inputs, [np.zeros((2, 1, 2)), seen])
    np.testing.assert_array_equal(actual, seen)
    np.testing.assert_allclose(truth.value, [[[math.tanh(0.5)]], [[math.tanh(2.0)]]])


@pytest.mark.parametrize(("dtype", "inner"), [("float16", "float32"), ("float32", "float32"), ("float64", "float64")])
def test_a_plain_evaluation_is_in_the_inputs_own_dtype(dtype: str, inner: str) -> None:
    x = np.array([[0.5, 2.0]], dtype)
    for api in ("keras.ops.tanh", "op.tanh"):
        call = ApiCall(api, (ArrayArg("x"),))
        assert evaluate_call(call, {"x": x}, promoted=False).value.dtype == inner
        assert evaluate_call(call, {"x": x}).value.dtype == np.float64
    whole = ApiCall("keras.ops.sum", (ArrayArg("x"),))
    assert evaluate_call(whole, {"x": np.array([1, 2], np.int16)}, promoted=False).value.dtype.kind == "i"


def test_what_is_not_enumerated_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown API 'os.system'"):
        value("os.system", X)
    with pytest.raises(UsageError, match="does not cover"):
        value("torch.softmax", X, axis=0)
