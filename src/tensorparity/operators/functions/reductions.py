"""Reductions over the last axis, and what runs along it: sums, statistics, norms, cumulative sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth, unit_of
from .helpers import (
    Binding,
    Evaluation,
    Numbers,
    Operand,
    Operator,
    Params,
    X,
    bindings,
    call,
    family,
)

_SHAPES = ((64,), (1,), (15,), (16,), (17,), (255,), (1000,), (5, 33))
_SHORT = ((16,), (1,), (2,), (7,), (17,))


def _reduction(name: str, formula: str, reference: Callable[..., Evaluation], **names: str | Binding) -> Operator:
    product = name in ("prod", "cumprod")  # of factors near one: infinity times zero on the way is nobody's fault
    shapes = _SHORT if product else _SHAPES
    operand = Operand("x", low=-1.4, high=1.4) if product else Operand("x")
    return Operator(name, "reductions", formula, (operand,), reference, bindings((X,), names), (), shapes,
                    unary=name.startswith("cum") or name == "logcumsumexp")  # fmt: skip


def _along(api: str, word: str, **constants: Any) -> Binding:
    return lambda params, sizes: call(api, X, **{word: -1}, **constants)


def _onnx_reduce(op: str) -> Binding:
    """The axes are an input of these operators since opset 18."""
    return lambda params, sizes: call(f"onnx.{op}", X, np.array([-1]), keepdims=0)


def _sum(m: Numbers, p: Params, x: Array) -> Evaluation:
    return Evaluation(x.sum(axis=-1), growth(x.shape[-1]) * abs(x).sum(axis=-1))


def _mean(m: Numbers, p: Params, x: Array) -> Evaluation:
    n = x.shape[-1]
    unit = unit_of(x)  # of numbers at the end of the range the sum is beyond it, the mean is not
    terms = x / unit
    return Evaluation(terms.sum(axis=-1) / n * unit[..., 0], growth(n) * (abs(terms).sum(axis=-1) / n) * unit[..., 0])


def _prod(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = x.prod(axis=-1)
    return Evaluation(value, abs(value) * x.shape[-1])


def _centred(x: Array) -> tuple[Array, Array]:
    mean = x.sum(axis=-1, keepdims=True) / x.shape[-1]
    return x - mean, mean


def _var(m: Numbers, p: Params, x: Array) -> Evaluation:
    """The mean square about the mean.

    A rounded mean adds its own square: at most a 256th of a roundoff of the mean's square, in any dtype, which is far
    below what the difference of the mean square and the square of the mean loses.
    """
    n = x.shape[-1]
    gap, mean = _centred(x)
    value = (gap * gap).sum(axis=-1) / n
    rounding = abs(gap) * (abs(x) + abs(mean))
    return Evaluation(value, growth(n) * value + 2 * rounding.sum(axis=-1) / n + m.square(mean[..., 0]) / 256)


def _std(m: Numbers, p: Params, x: Array) -> Evaluation:
    unit = unit_of(x)
    inner = _var(m, p, x / unit)
    value = m.sqrt(inner.value)
    with np.errstate(all="ignore"):
        by_slope = inner.kappa / (2 * np.where(value == 0, 1, value))
    # A root near zero takes the root of the rounding, and a constant row has no digits to lose.
    kappa = np.where(value == 0, abs(x / unit).max(axis=-1), by_slope)
    return Evaluation(value * unit[..., 0], kappa * unit[..., 0])


def _logsumexp(m: Numbers, p: Params, x: Array) -> Evaluation:
    """The largest, and the logarithm of what all are in units of it. The largest is added last, which rounds nothing
    but the result; an infinite largest is the result.
    """
    top = x.max(axis=-1, keepdims=True)
    endless = abs(top) == np.inf
    gap = np.where(endless, 0, x - np.where(endless, 0, top))
    powers = m.exp(gap)
    total = powers.sum(axis=-1)
    value = m.log(total) + top[..., 0]
    weights = powers / total[..., None]
    spread = np.where(weights == 0, 0, weights * abs(gap)).sum(axis=-1)
    return Evaluation(value, spread + growth(x.shape[-1]) + m.log(total))


def _l2(m: Numbers, p: Params, x: Array) -> Evaluation:
    unit = unit_of(x)
    value = m.sqrt(m.square(x / unit).sum(axis=-1)) * unit[..., 0]
    return Evaluation(value, value * growth(x.shape[-1]))


def _l1(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = abs(x).sum(axis=-1)
    return Evaluation(value, value * growth(x.shape[-1]))


def _max(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = x.max(axis=-1)
    return Evaluation(value, np.zeros_like(value))


def _min(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = x.min(axis=-1)
    return Evaluation(value, np.zeros_like(value))


def _steps(x: Array) -> Array:
    """How rounding grows with the number of terms so far."""
    return np.array([growth(count + 1) for count in range(x.shape[-1])])


def _cumsum(m: Numbers, p: Params, x: Array) -> Evaluation:
    return Evaluation(np.cumsum(x, axis=-1), np.cumsum(abs(x), axis=-1) * _steps(x))


def _cumprod(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = np.cumprod(x, axis=-1)
    return Evaluation(value, abs(value) * np.arange(1, x.shape[-1] + 1))


def _cummax(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = np.maximum.accumulate(x, axis=-1)
    return Evaluation(value, np.zeros_like(value))


def _logcumsumexp(m: Numbers, p: Params, x: Array) -> Evaluation:
    top = np.maximum.accumulate(x, axis=-1)
    value = np.stack([_logsumexp(m, p, x[..., : end + 1]).value for end in range(x.shape[-1])], axis=-1)
    # Whatever is combined on the way is never larger than the values themselves.
    return Evaluation(value, (abs(top) + abs(value) + 1) * _steps(x) * 2)


OPERATORS = family(
    _reduction("sum", "sum along the last axis", _sum, tensorflow=_along("tensorflow.math.reduce_sum", "axis"),
             torch=_along("torch.sum", "dim"), jax=_along("jax.numpy.sum", "axis"),
             keras=_along("keras.ops.sum", "axis"), onnx=_onnx_reduce("ReduceSum")),
    _reduction("mean", "mean along the last axis", _mean, tensorflow=_along("tensorflow.math.reduce_mean", "axis"),
             torch=_along("torch.mean", "dim"), jax=_along("jax.numpy.mean", "axis"),
             keras=_along("keras.ops.mean", "axis"), onnx=_onnx_reduce("ReduceMean")),
    _reduction("prod", "product along the last axis", _prod, tensorflow=_along("tensorflow.math.reduce_prod", "axis"),
             torch=_along("torch.prod", "dim"), jax=_along("jax.numpy.prod", "axis"),
             keras=_along("keras.ops.prod", "axis"), onnx=_onnx_reduce("ReduceProd")),
    _reduction("max", "largest along the last axis", _max, tensorflow=_along("tensorflow.math.reduce_max", "axis"),
             torch=_along("torch.amax", "dim"), jax=_along("jax.numpy.max", "axis"),
             keras=_along("keras.ops.max", "axis"), onnx=_onnx_reduce("ReduceMax")),
    _reduction("min", "smallest along the last axis", _min, tensorflow=_along("tensorflow.math.reduce_min", "axis"),
             torch=_along("torch.amin", "dim"), jax=_along("jax.numpy.min", "axis"),
             keras=_along("keras.ops.min", "axis"), onnx=_onnx_reduce("ReduceMin")),
    _reduction("var", "mean square about the mean, along the last axis", _var,
             tensorflow=_along("tensorflow.math.reduce_variance", "axis"),
             torch=_along("torch.var", "dim", correction=0), jax=_along("jax.numpy.var", "axis"),
             keras=_along("keras.ops.var", "axis")),
    _reduction("std", "root of the mean square about the mean", _std,
             tensorflow=_along("tensorflow.math.reduce_std", "axis"),
             torch=_along("torch.std", "dim", correction=0), jax=_along("jax.numpy.std", "axis"),
             keras=_along("keras.ops.std", "axis")),
    _reduction("logsumexp", "log of the sum of exp(x) along the last axis", _logsumexp,
             tensorflow=_along("tensorflow.math.reduce_logsumexp", "axis"), torch=_along("torch.logsumexp", "dim"),
             jax=_along("jax.nn.logsumexp", "axis"), keras=_along("keras.ops.logsumexp", "axis"),
             onnx=_onnx_reduce("ReduceLogSumExp")),
    _reduction("l2_norm", "root of the sum of squares along the last axis", _l2,
             tensorflow=_along("tensorflow.norm", "axis"), torch=_along("torch.linalg.vector_norm", "dim"),
             jax=_along("jax.numpy.linalg.norm", "axis"), keras=_along("keras.ops.norm", "axis"),
             onnx=_onnx_reduce("ReduceL2")),
    _reduction("l1_norm", "sum of absolute values along the last axis", _l1,
             tensorflow=_along("tensorflow.norm", "axis", ord=1),
             torch=_along("torch.linalg.vector_norm", "dim", ord=1),
             jax=_along("jax.numpy.linalg.norm", "axis", ord=1), keras=_along("keras.ops.norm", "axis", ord=1),
             onnx=_onnx_reduce("ReduceL1")),
    _reduction("cumsum", "sums of all terms so far", _cumsum, tensorflow=_along("tensorflow.math.cumsum", "axis"),
             torch=_along("torch.cumsum", "dim"), jax=_along("jax.numpy.cumsum", "axis"),
             keras=_along("keras.ops.cumsum", "axis"), onnx=lambda p, s: call("onnx.CumSum", X, np.array(-1))),
    _reduction("cumprod", "products of all factors so far", _cumprod,
             tensorflow=_along("tensorflow.math.cumprod", "axis"), torch=_along("torch.cumprod", "dim"),
             jax=_along("jax.numpy.cumprod", "axis"), keras=_along("keras.ops.cumprod", "axis")),
    _reduction("cummax", "the largest so far", _cummax,
             torch=lambda p, s: call("torch.cummax", X, dim=-1).picking(0),
             jax=lambda p, s: call("jax.lax.cummax", X, axis=len(s["x"]))),
    _reduction("logcumsumexp", "log of the sum of exp so far", _logcumsumexp,
             tensorflow=_along("tensorflow.math.cumulative_logsumexp", "axis"),
             torch=_along("torch.logcumsumexp", "dim"),
             jax=lambda p, s: call("jax.lax.cumlogsumexp", X, axis=len(s["x"]))),
)  # fmt: skip
