"""Sums of products: matrices, einsum, attention and distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth, unit_of
from .helpers import (
    DTYPES,
    Binding,
    Evaluation,
    Numbers,
    Operand,
    Operator,
    Params,
    Sizes,
    Tensor,
    X,
    call,
    family,
    unseen_length,
)

_MATRICES = ((7, 16), (1, 1), (5, 15), (3, 17), (4, 64), (2, 1000))
Y, W, BIAS = Tensor("y"), Tensor("w"), Tensor("bias")


def _multiply(a: Array, b: Array) -> Evaluation:
    return Evaluation(a @ b, growth(a.shape[-1]) * (abs(a) @ abs(b)))


def _matmul(m: Numbers, p: Params, x: Array, y: Array) -> Evaluation:
    return _multiply(x, y)


def _linear(m: Numbers, p: Params, x: Array, w: Array, bias: Array) -> Evaluation:
    product = _multiply(x, w)
    return Evaluation(product.value + bias, product.kappa + abs(bias))


def _einsum(m: Numbers, p: Params, x: Array, y: Array) -> Evaluation:
    rule = "nij,nkj->nik"
    return Evaluation(np.einsum(rule, x, y), growth(x.shape[-1]) * np.einsum(rule, abs(x), abs(y)))


def _dot(m: Numbers, p: Params, x: Array, y: Array) -> Evaluation:
    return Evaluation((x * y).sum(axis=-1), growth(x.shape[-1]) * abs(x * y).sum(axis=-1))


def _outer(m: Numbers, p: Params, x: Array, y: Array) -> Evaluation:
    value = x[..., :, None] * y[..., None, :]
    return Evaluation(value, np.zeros_like(value))


def _cosine(m: Numbers, p: Params, x: Array, y: Array) -> Evaluation:
    x, y = x / unit_of(x), y / unit_of(y)
    a, b = m.sqrt((x * x).sum(axis=-1)), m.sqrt((y * y).sum(axis=-1))
    safe = np.where(a * b == 0, 1, a * b)
    terms = abs(x * y).sum(axis=-1) / safe
    value = np.where(a * b == 0, 0, (x * y).sum(axis=-1) / safe)
    return Evaluation(value, growth(x.shape[-1]) * (terms + abs(value)))


def _attention(m: Numbers, p: Params, q: Array, k: Array, v: Array) -> Evaluation:
    """softmax(q k^T / sqrt(d)) v."""
    depth = q.shape[-1]
    scale = 1 / m.sqrt(m.of(float(depth)))
    turned = np.swapaxes(k, -1, -2)
    scores = (q @ turned) * scale
    rounding = growth(depth) * (abs(q) @ abs(turned)) * scale + abs(scores)
    powers = m.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    shared = (weights * rounding).sum(axis=-1, keepdims=True)
    loss = weights * (rounding + shared + growth(k.shape[-2]))
    return Evaluation(weights @ v, loss @ abs(v) + growth(k.shape[-2]) * (weights @ abs(v)))


def _cdist(m: Numbers, p: Params, x: Array, y: Array) -> Evaluation:
    gap = x[..., :, None, :] - y[..., None, :, :]
    unit = unit_of(gap)
    value = m.sqrt(m.square(gap / unit).sum(axis=-1)) * unit[..., 0]
    size = abs(x).max(axis=-1)[..., :, None] + abs(y).max(axis=-1)[..., None, :]
    return Evaluation(value, growth(x.shape[-1]) * value + size)


def _pair(rows: Callable[[Sizes], Sizes]) -> Callable[[Params, Sizes], dict[str, Sizes]]:
    return lambda params, shape: {"x": shape, "y": rows(shape)}


def _operator(
    name: str,
    formula: str,
    reference: Callable[..., Evaluation],
    resolve: Callable[[Params, Sizes], dict[str, Sizes]],
    calls: Mapping[str, Binding],
    operands: tuple[Operand, ...] = (Operand("x"), Operand("y")),
    shapes: tuple[Sizes, ...] = _MATRICES,
    dtypes: tuple[str, ...] = DTYPES,
) -> Operator:
    return Operator(
        name, "products", formula, operands, reference, calls, (), shapes, resolve, dtypes=dtypes, unary=False
    )


_Q, _K, _V = Tensor("q"), Tensor("k"), Tensor("v")


def _heads(params: Params, sizes: Mapping[str, Sizes]) -> dict[str, Tensor]:
    """(N, T, H, D) to torch's (N, H, T, D)."""
    return {name: Tensor(name, (0, 2, 1, 3)) for name in ("q", "k", "v")}


def _torch_attention(params: Params, sizes: Mapping[str, Sizes]):  # type: ignore[no-untyped-def]
    turned = _heads(params, sizes)
    called = call("torch.nn.functional.scaled_dot_product_attention", turned["q"], turned["k"], turned["v"])
    return called.turned((0, 2, 1, 3))


def _onnx_attention(params: Params, sizes: Mapping[str, Sizes]):  # type: ignore[no-untyped-def]
    turned = _heads(params, sizes)
    scale = 1.0 / math.sqrt(sizes["q"][-1])
    scores = call("onnx.MatMul", turned["q"], Tensor("k", (0, 2, 3, 1)))
    weights = call("onnx.Softmax", call("onnx.Mul", scores, scale), axis=-1)
    return call("onnx.MatMul", weights, turned["v"]).turned((0, 2, 1, 3))


def _with_heads(m: Numbers, p: Params, q: Array, k: Array, v: Array) -> Evaluation:
    found = _attention(m, p, *(np.swapaxes(item, 1, 2) for item in (q, k, v)))
    return Evaluation(np.swapaxes(found.value, 1, 2), np.swapaxes(found.kappa, 1, 2))


OPERATORS = family(
    _operator("matmul", "matrix product", _matmul, _pair(lambda s: (s[1], 6)),
              {"tensorflow": lambda p, s: call("tensorflow.linalg.matmul", X, Y),
               "torch": lambda p, s: call("torch.matmul", X, Y),
               "jax": lambda p, s: call("jax.numpy.matmul", X, Y),
               "keras": lambda p, s: call("keras.ops.matmul", X, Y),
               "onnx": lambda p, s: call("onnx.MatMul", X, Y)}),
    _operator("linear", "x W + b", _linear,
              lambda p, s: {"x": s, "w": (s[-1], 6), "bias": (6,)},
              {"tensorflow": lambda p, s: call("tensorflow.add", call("tensorflow.linalg.matmul", X, W), BIAS),
               "torch": lambda p, s: call("torch.nn.functional.linear", X, Tensor("w", (1, 0)), BIAS),
               "jax": lambda p, s: call("jax.numpy.add", call("jax.numpy.dot", X, W), BIAS),
               "keras": lambda p, s: call("keras.ops.add", call("keras.ops.dot", X, W), BIAS),
               "onnx": lambda p, s: call("onnx.Gemm", X, W, BIAS)},
              (Operand("x"), Operand("w", stacked=False), Operand("bias", stacked=False)),
              ((16,), (1,), (15,), (1000,))),
    _operator("einsum", "sum over j of x_ij y_kj", _einsum, _pair(lambda s: (5, s[1])),
              {"tensorflow": lambda p, s: call("tensorflow.einsum", "nij,nkj->nik", X, Y),
               "torch": lambda p, s: call("torch.einsum", "nij,nkj->nik", X, Y),
               "jax": lambda p, s: call("jax.numpy.einsum", "nij,nkj->nik", X, Y),
               "keras": lambda p, s: call("keras.ops.einsum", "nij,nkj->nik", X, Y),
               "onnx": lambda p, s: call("onnx.Einsum", X, Y, equation="nij,nkj->nik")}),
    _operator("dot", "sum of x y along the last axis", _dot, _pair(lambda s: s),
              {"tensorflow": lambda p, s: call("tensorflow.einsum", "nj,nj->n", X, Y),
               "torch": lambda p, s: call("torch.linalg.vecdot", X, Y),
               "jax": lambda p, s: call("jax.numpy.vecdot", X, Y),
               "keras": lambda p, s: call("keras.ops.einsum", "nj,nj->n", X, Y),
               "onnx": lambda p, s: call("onnx.Einsum", X, Y, equation="nj,nj->n")},
              shapes=((64,), (1,), (15,), (17,), (1000,))),
    _operator("outer", "every product of x and y", _outer, _pair(lambda s: (5,)),
              {"tensorflow": lambda p, s: call("tensorflow.einsum", "ni,nj->nij", X, Y),
               "torch": lambda p, s: call("torch.einsum", "ni,nj->nij", X, Y),
               "jax": lambda p, s: call("jax.numpy.einsum", "ni,nj->nij", X, Y),
               "keras": lambda p, s: call("keras.ops.einsum", "ni,nj->nij", X, Y)},
              shapes=((7,), (1,), (16,))),
    _operator("cosine_similarity", "x y over the product of their lengths", _cosine, _pair(lambda s: s),
              {"torch": lambda p, s: call("torch.nn.functional.cosine_similarity", X, Y, dim=-1,
                                          eps=unseen_length(p))},
              shapes=((16,), (3,), (64,))),
    _operator("cdist", "distances between the rows of x and of y", _cdist, _pair(lambda s: (4, s[1])),
              {"torch": lambda p, s: call("torch.cdist", X, Y, compute_mode="donot_use_mm_for_euclid_dist")},
              shapes=((3, 16), (2, 3), (5, 64))),
    _operator("attention", "softmax(q k / sqrt(d)) v", _with_heads,
              lambda p, s: {"q": s, "k": s, "v": s},
              {"torch": _torch_attention, "onnx": _onnx_attention,
               "jax": lambda p, s: call("jax.nn.dot_product_attention", _Q, _K, _V),
               "keras": lambda p, s: call("keras.ops.dot_product_attention", _Q, _K, _V)},
              (Operand("q"), Operand("k"), Operand("v")), ((6, 2, 8), (1, 1, 4), (17, 2, 16), (5, 1, 64))),
)  # fmt: skip
