"""References of single functions, against values worked out by hand and against torch."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg
from tensorparity.core.errors import UsageError
from tensorparity.operators.functions.api import api_names, evaluate_call, returns_several
from tensorparity.operators.functions.single_calls import (
    avg_pool2d,
    divide,
    eigenpairs,
    eigenvalues,
    floor_divide,
    rnn_tanh,
    rnn_tanh_states,
)
from tensorparity.operators.reference.rounding import K, error_units


def test_quotients() -> None:
    assert divide(np.array([3.0]), np.array([4.0])).value.tolist() == [0.75]
    assert divide(np.array([1 + 3j]), np.array([1 - 1j])).value.tolist() == [-1 + 2j]
    large = divide(np.array([1e30 + 1e30j]), np.array([1e30 - 1e30j]))
    assert np.allclose(large.value, [1j])
    assert float(error_units(np.array([1j], np.complex64), large, "complex64").max()) <= K


def test_floors_are_exact() -> None:
    found = floor_divide(np.array([7.0, -7.0, 41.0]), np.array([2.0, 2.0, 41.0]))
    assert found.value.tolist() == [3.0, -4.0, 1.0]
    assert not found.kappa.any()


def test_eigenvalues_come_from_the_lower_triangle() -> None:
    assert np.allclose(eigenvalues(np.array([[2.0, 99.0], [1.0, 2.0]])).value, [1.0, 3.0])
    assert np.allclose(eigenvalues(np.array([[1.0, 0.0], [1j, 1.0]])).value, [0.0, 2.0])


class TestAveragePooling:
    X = np.arange(9.0).reshape(1, 1, 3, 3)

    def test_windows(self) -> None:
        assert avg_pool2d(self.X, 2, 1).value.tolist() == [[[[2.0, 3.0], [5.0, 6.0]]]]
        assert avg_pool2d(self.X, (1, 3)).value.tolist() == [[[[1.0], [4.0], [7.0]]]]

    def test_the_last_window_may_reach_out_but_not_start_outside(self) -> None:
        assert avg_pool2d(self.X, 2, 2, ceil_mode=True).value.tolist() == [[[[2.0, 3.5], [6.5, 8.0]]]]
        assert avg_pool2d(self.X, 1, 3, ceil_mode=True).value.tolist() == [[[[0.0]]]]

    def test_what_is_not_covered_is_refused(self) -> None:
        call = ApiCall("torch.nn.functional.avg_pool2d", (ArrayArg("x"), 2, 2, 1))
        with pytest.raises(UsageError, match="does not cover"):
            evaluate_call(call, {"x": self.X})


def slow_avg_pool2d(x: Array, size: tuple[int, int], step: tuple[int, int], ceil_mode: bool) -> list[list[float]]:
    """One image. Every window that lies inside counts; in ceil_mode also the first one that reaches out."""
    starts = []
    for n, k, s in zip(x.shape, size, step, strict=True):
        inside = [start for start in range(0, n, s) if start + k <= n]
        reaching = [start for start in range(0, n, s) if start + k > n][:1] if ceil_mode else []
        wanted = reaching if not inside or inside[-1] + k < n else []
        starts.append(inside + wanted)
    return [[float(x[r : r + size[0], c : c + size[1]].mean()) for c in starts[1]] for r in starts[0]]


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_average_pooling_window_by_window(ceil_mode: bool) -> None:
    rng = np.random.default_rng(0)
    for height, width in [(5, 7), (6, 4), (3, 8)]:
        x = rng.normal(size=(2, 3, height, width))
        for size, step in [((2, 3), (1, 2)), ((3, 2), (2, 1)), ((1, 2), (3, 3)), ((2, 2), (2, 4))]:
            found = avg_pool2d(x, size, step, ceil_mode=ceil_mode).value
            for n, c in np.ndindex(2, 3):
                np.testing.assert_allclose(found[n, c], slow_avg_pool2d(x[n, c], size, step, ceil_mode), rtol=1e-12)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrence_step_by_step(batch_first: bool, bidirectional: bool) -> None:
    rng = np.random.default_rng(1)
    ways = 2 if bidirectional else 1
    weights = [rng.normal(size=shape) for shape in [(2, 3), (2, 2), (2,), (2,)] * ways]
    sequence, start = rng.normal(size=(4, 5, 3)), rng.normal(size=(ways, 5, 2))
    given = np.swapaxes(sequence, 0, 1) if batch_first else sequence
    found = rnn_tanh(given, start, weights, True, 1, 0.0, False, bidirectional, batch_first).value
    expected = np.empty((4, 5, 2 * ways))
    for way, sample in np.ndindex(ways, 5):
        w_ih, w_hh, b_ih, b_hh = weights[4 * way : 4 * way + 4]
        state = start[way, sample]
        for t in range(4)[:: -1 if way else 1]:
            x = sequence[t, sample]
            state = np.array([np.tanh(w_ih[u] @ x + b_ih[u] + w_hh[u] @ state + b_hh[u]) for u in range(2)])
            expected[t, sample, 2 * way : 2 * way + 2] = state
    np.testing.assert_allclose(np.swapaxes(found, 0, 1) if batch_first else found, expected, rtol=1e-12, strict=True)
    states = rnn_tanh_states(found, bidirectional, batch_first)
    last = [expected[-1, :, :2], *([expected[0, :, 2:]] if bidirectional else [])]  # backward, the first is the last
    np.testing.assert_allclose(states, last, rtol=1e-12, strict=True)


def test_what_the_recurrence_does_not_cover() -> None:
    one = [np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), np.zeros(1)]
    for biases, layers, train in [(False, 1, False), (True, 2, False), (True, 1, True)]:
        with pytest.raises(ValueError, match="one layer"):
            rnn_tanh(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), one, biases, layers, 0.0, train, False, False)


def test_eigenvectors_are_judged_by_what_they_must_satisfy() -> None:
    rng = np.random.default_rng(3)
    whole = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    whole = whole + np.swapaxes(whole.conj(), 1, 2)
    values, vectors = np.linalg.eigh(whole)
    for sign in (1.0, -1.0, 1j):
        (gap, nothing), (gram, unit) = eigenpairs(np.tril(whole), values, sign * vectors)
        np.testing.assert_allclose(gap, np.zeros((2, 3, 3)), atol=1e-12)
        np.testing.assert_allclose(gram, np.stack([np.eye(3)] * 2), atol=1e-12)
        assert not nothing.value.any()
        np.testing.assert_array_equal(unit.value, np.stack([np.eye(3)] * 2))
    (gap, _), (gram, _) = eigenpairs(np.tril(whole), values, 2.0 * vectors)
    np.testing.assert_allclose(gap, np.zeros((2, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(gram, 4.0 * np.stack([np.eye(3)] * 2), atol=1e-11)
    (gap, _), _ = eigenpairs(np.tril(whole), values + 1.0, vectors)
    np.testing.assert_allclose(gap, -vectors, atol=1e-12)


def test_eigenvalues_of_a_stack_of_matrices() -> None:
    rng = np.random.default_rng(2)
    whole = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    whole = whole + np.swapaxes(whole.conj(), 1, 2)
    found = eigenvalues(np.tril(whole)).value
    for values, matrix in zip(found, whole, strict=True):
        assert values.tolist() == sorted(values)
        for power in (1, 2, 3):  # sums of powers: traces
            trace = np.trace(np.linalg.matrix_power(matrix, power)).real
            assert (values**power).sum() == pytest.approx(trace, rel=1e-10)


def test_recurrence_by_hand() -> None:
    one, zero = np.ones((1, 1)), np.zeros(1)
    weights = [one, one, zero, zero, 2 * one, 0 * one, zero, zero]
    x = np.array([[[1.0]], [[0.5]]])
    value = rnn_tanh(x, np.zeros((2, 1, 1)), weights, True, 1, 0.0, False, True, False).value
    ahead = [np.tanh(1.0), np.tanh(0.5 + np.tanh(1.0))]
    assert np.allclose(value[:, 0, 0], ahead)
    assert np.allclose(value[:, 0, 1], np.tanh([2.0, 1.0]))
    with pytest.raises(ValueError, match="one layer"):
        rnn_tanh(x, np.zeros((2, 1, 1)), weights, True, 2, 0.0, False, True, False)


def test_calls_know_how_many_they_return() -> None:
    assert returns_several("keras.ops.eigh")
    assert not returns_several("keras.ops.divide")
    assert "torch.rnn_tanh" in api_names()


@pytest.mark.torch
class TestAgainstTorch:
    @pytest.mark.filterwarnings("ignore")
    def test_all(self) -> None:
        torch = pytest.importorskip("torch")
        rng = np.random.default_rng(0)
        x = rng.standard_normal((2, 3, 7, 5))
        theirs = torch.nn.functional.avg_pool2d(torch.from_numpy(x), (3, 2), (2, 3), 0, True).numpy()
        assert np.abs(avg_pool2d(x, (3, 2), (2, 3), 0, True).value - theirs).max() < 1e-12
        square = rng.standard_normal((4, 4))
        theirs = torch.linalg.eigh(torch.from_numpy(square))[0].numpy()
        assert np.abs(eigenvalues(square).value - theirs).max() < 1e-12
        shapes = [(2, 3), (2, 2), (2,), (2,)] * 2
        weights = [rng.standard_normal(shape) for shape in shapes]
        sequence, start = rng.standard_normal((4, 2, 3)), rng.standard_normal((2, 2, 2))
        for first in (False, True):
            given = np.swapaxes(sequence, 0, 1) if first else sequence
            arguments = (True, 1, 0.0, False, True, first)
            tensors = [torch.from_numpy(weight) for weight in weights]
            theirs = torch.rnn_tanh(torch.from_numpy(given.copy()), torch.from_numpy(start), tensors, *arguments)[0]
            assert np.abs(rnn_tanh(given, start, weights, *arguments).value - theirs.numpy()).max() < 1e-12
