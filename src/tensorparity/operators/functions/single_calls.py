"""References of single functions beyond elementwise ones: division, remainders, pooling, recurrence, eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import exact, growth
from ..spec import Evaluation


def divide(a: Array, b: Array) -> Evaluation:
    """The quotient. Complex: numerator and denominator times the conjugate, on the scale of the quotient's modulus."""
    with np.errstate(all="ignore"):
        value = np.true_divide(a, b)
    return Evaluation(value, 4.0 * np.abs(value) if np.iscomplexobj(value) else np.zeros(value.shape))


def floor_divide(a: Array, b: Array) -> Evaluation:
    """The largest integer that is not above the quotient: no rounding makes it another."""
    with np.errstate(all="ignore"):
        return exact(np.asarray(np.floor_divide(a, b)))


def eigenvalues(x: Array) -> Evaluation:
    """Those of a Hermitian matrix from its lower triangle, ascending; each moves by at most the norm of a change."""
    lower = np.tril(x)
    whole = lower + np.swapaxes(np.tril(x, -1).conj(), -1, -2)
    value = np.linalg.eigvalsh(whole)
    size = np.linalg.norm(whole, axis=(-2, -1))[..., None]
    return Evaluation(value, np.broadcast_to(4.0 * x.shape[-1] * size, value.shape))


def eigenpairs(x: Array, values: Array, vectors: Array) -> list[tuple[Array, Evaluation]]:
    """What eigenvectors must satisfy, whatever their sign or the basis of an eigenspace: A v = lambda v, V* V = 1."""
    lower = np.tril(x)
    whole = lower + np.swapaxes(np.tril(x, -1).conj(), -1, -2)
    left, right = whole @ vectors, vectors * values[..., None, :]
    size = 4.0 * x.shape[-1] * np.linalg.norm(whole, axis=(-2, -1))[..., None, None]
    gram = np.swapaxes(vectors.conj(), -1, -2) @ vectors
    unit = np.broadcast_to(np.eye(x.shape[-1]), gram.shape)
    return [
        (left - right, Evaluation(np.zeros_like(left), np.broadcast_to(size, left.shape))),
        (gram, Evaluation(unit, np.full(gram.shape, 4.0 * x.shape[-1]))),
    ]


def avg_pool2d(
    x: Array, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int = 0,
    ceil_mode: bool = False,
) -> Evaluation:  # fmt: skip
    """The mean of each window that starts inside of the image; in ``ceil_mode`` the last one may reach out of it."""
    size, step = _pair(kernel_size), _pair(kernel_size if stride is None else stride)
    if padding:
        raise ValueError("only without padding")
    counts = [_windows(n, k, s, ceil_mode) for n, k, s in zip(x.shape[-2:], size, step, strict=True)]
    value, sizes = (np.empty((*x.shape[:-2], *counts)) for _ in range(2))
    for row in range(counts[0]):
        for column in range(counts[1]):
            window = x[..., row * step[0] :, column * step[1] :][..., : size[0], : size[1]]
            value[..., row, column] = window.mean(axis=(-2, -1))
            sizes[..., row, column] = growth(size[0] * size[1]) * np.abs(window).mean(axis=(-2, -1))
    return Evaluation(value, sizes)


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    first, second = value
    return first, second


def _windows(size: int, kernel: int, step: int, ceil_mode: bool) -> int:
    room = size - kernel
    count = (-(-room // step) if ceil_mode else room // step) + 1
    return count - 1 if (count - 1) * step >= size else count


def rnn_tanh(
    x: Array, start: Array, weights: Sequence[Array], has_biases: bool, layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> Evaluation:  # fmt: skip
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh); backward in time for the second half of the features."""
    if layers != 1 or not has_biases or train:
        raise ValueError("only one layer with biases, in inference")
    sequence = np.swapaxes(x, 0, 1) if batch_first else x
    halves = [_direction(sequence, start[0], weights[:4])]
    if bidirectional:
        halves.append(_direction(sequence[::-1], start[1], weights[4:])[::-1])
    value = np.concatenate(halves, axis=-1)
    value = np.swapaxes(value, 0, 1) if batch_first else value
    terms = growth(x.shape[-1] + start.shape[-1])
    reach = 1.0 + max(float(np.abs(weight).max(initial=0.0)) for weight in weights) * (1.0 + float(np.abs(x).max()))
    return Evaluation(value, np.full(value.shape, terms * reach * len(sequence)))


def rnn_tanh_states(output: Array, bidirectional: bool, batch_first: bool) -> Array:
    """The last state of each direction, which the output itself holds: at its end, and backward at its beginning."""
    sequence = np.swapaxes(output, 0, 1) if batch_first else output
    if not bidirectional:
        return sequence[-1:]
    forward, backward = np.split(sequence, 2, axis=-1)
    return np.stack([forward[-1], backward[0]])


def _direction(sequence: Array, state: Array, weights: Sequence[Array]) -> Array:
    w_ih, w_hh, b_ih, b_hh = weights
    found = []
    for x in sequence:
        state = np.tanh(x @ w_ih.T + b_ih + state @ w_hh.T + b_hh)
        found.append(state)
    return np.stack(found)
