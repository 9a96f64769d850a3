"""Losses, one number per element or per row, before any reduction over the batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth
from .activations import softplus
from .helpers import Binding, Evaluation, Numbers, Operand, Operator, Tensor, call, family

P, T = Tensor("prediction"), Tensor("target")
_SHAPES = ((10,), (1,), (17,), (3, 5))
Pair = Callable[[Numbers, Array, Array], Array]


def _loss(
    name: str,
    formula: str,
    value: Pair,
    kappa: Pair,
    prediction: dict[str, Any],
    target: dict[str, Any],
    unlike_special: Mapping[str, str] | None = None,
    weighed_by_zero: Pair | None = None,
    **calls: Binding,
) -> Operator:
    def reference(m: Numbers, params: object, y: Array, t: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            return Evaluation(value(m, y, t), abs(kappa(m, y, t)))

    operands = (Operand("prediction", **prediction), Operand("target", **target))
    return Operator(name, "losses", formula, operands, reference, calls, (), _SHAPES, unary=False,
                    unlike_special=unlike_special or {}, weighed_by_zero=weighed_by_zero)  # fmt: skip


def _log_softmax(m: Numbers, y: Array) -> Array:
    shifted = y - y.max(axis=-1, keepdims=True)
    return shifted - m.log(m.exp(shifted).sum(axis=-1, keepdims=True))


def _share(weight: Array, term: Array) -> Array:
    """A weight of 0 leaves out what it weighs, also where that is infinite: 0 log 0 is 0. NaN stays NaN."""
    return np.where((weight == 0) & (abs(term) == np.inf), 0, weight * term)


def _cross_entropy(m: Numbers, y: Array, t: Array) -> Array:
    return -_share(t, _log_softmax(m, y)).sum(axis=-1)


def _cross_entropy_terms(m: Numbers, y: Array, t: Array) -> Array:
    size = abs(y - y.max(axis=-1, keepdims=True)) + abs(_log_softmax(m, y)) + 1
    return growth(y.shape[-1]) * (abs(t) * size).sum(axis=-1)


def _bce(m: Numbers, y: Array, t: Array) -> Array:
    """As the sum of both terms at infinities, where the difference of two infinities says nothing."""
    apart = _share(t, softplus(m, -y)) + _share(1 - t, softplus(m, y))
    return np.where(abs(y) == np.inf, apart, (1 - t) * y + softplus(m, -y))


def _weighed_by_zero(m: Numbers, y: Array, t: Array) -> Array:
    return np.asarray((abs(y) == np.inf) & ((t == 0) | (t == 1)))


def _any_weighed_by_zero(m: Numbers, y: Array, t: Array) -> Array:
    return np.asarray(((abs(y) == np.inf) & (t == 0)).any(axis=-1))


def _huber(m: Numbers, y: Array, t: Array) -> Array:
    gap = abs(y - t)
    return np.where(gap <= 1, gap * gap / 2, gap - m.of(0.5))


def _torch(name: str, **kwargs: Any) -> Binding:
    return lambda p, s: call(f"torch.nn.functional.{name}", P, T, reduction="none", **kwargs)


_PROBABILITY = {"low": 0.0, "high": 1.0, "points": (0.0, 0.5, 1.0)}
_POSITIVE = {"low": 1e-6, "points": (0.0, 1.0)}

OPERATORS = family(
    _loss("bce_with_logits", "(1 - t) y + log(1 + exp(-y))", _bce,
          lambda m, y, t: abs((1 - t) * y) + abs(t * y), {}, _PROBABILITY,
          tensorflow=lambda p, s: call("tensorflow.nn.sigmoid_cross_entropy_with_logits", labels=T, logits=P),
          torch=_torch("binary_cross_entropy_with_logits"),
          keras=lambda p, s: call("keras.ops.binary_crossentropy", T, P, from_logits=True),
          weighed_by_zero=_weighed_by_zero,
          unlike_special={"tensorflow": "the implementation uses max(x, 0) - x * z + log(1 + exp(-abs(x)))"}),
    _loss("cross_entropy_with_logits", "minus the sum of t log softmax(y)", _cross_entropy, _cross_entropy_terms, {},
          _PROBABILITY, weighed_by_zero=_any_weighed_by_zero,
          tensorflow=lambda p, s: call("tensorflow.nn.softmax_cross_entropy_with_logits", labels=T, logits=P, axis=-1),
          torch=lambda p, s: call("torch.nn.functional.cross_entropy", P, T, reduction="none")
          if len(s["prediction"]) == 1 else call("torch.nn.functional.cross_entropy", Tensor("prediction", (0, 2, 1)),
                                                 Tensor("target", (0, 2, 1)), reduction="none"),
          keras=lambda p, s: call("keras.ops.categorical_crossentropy", T, P, from_logits=True)),
    _loss("huber", "half the square up to 1, then linear", _huber, lambda m, y, t: _huber(m, y, t), {}, {},
          torch=_torch("huber_loss")),
    _loss("smooth_l1", "half the square up to 1, then linear", _huber, lambda m, y, t: _huber(m, y, t), {}, {},
          torch=_torch("smooth_l1_loss")),
    _loss("kl_div", "t (log t - y)", lambda m, y, t: np.where(t > 0, t * (m.log(np.where(t > 0, t, 1)) - y), 0 * t),
          lambda m, y, t: abs(t) * (abs(m.log(np.where(t > 0, t, 1))) + abs(y)), {}, _PROBABILITY,
          weighed_by_zero=lambda m, y, t: (t == 0) & ~(abs(y) < np.inf), torch=_torch("kl_div")),
    _loss("poisson_nll", "exp(y) - t y", lambda m, y, t: np.where(y == np.inf, y, m.exp(y) - _share(t, y)),
          lambda m, y, t: m.exp(y) * (1 + abs(y)) + abs(t * y), {}, {"low": 0.0}, torch=_torch("poisson_nll_loss"),
          weighed_by_zero=lambda m, y, t: (t == 0) & (abs(y) == np.inf),
          tensorflow=lambda p, s: call("tensorflow.nn.log_poisson_loss", T, P)),
    _loss("mse", "(y - t)^2", lambda m, y, t: m.square(y - t), lambda m, y, t: m.square(y - t), {}, {},
          torch=_torch("mse_loss"), tensorflow=lambda p, s: call("tensorflow.math.squared_difference", P, T)),
    _loss("soft_margin", "log(1 + exp(-t y))", lambda m, y, t: softplus(m, -t * y),
          lambda m, y, t: abs(t * y) * m.exp(-softplus(m, t * y)), {}, {"low": -1.0, "high": 1.0},
          torch=_torch("soft_margin_loss")),
    _loss("bce", "-t log y - (1 - t) log(1 - y)",
          lambda m, y, t: -_share(t, m.log(y)) - _share(1 - t, m.log1p(-y)),
          lambda m, y, t: abs(t * m.log(y)) + abs((1 - t) * m.log1p(-y)) + t + (1 - t) / (1 - y),
          {"low": 1e-6, "high": 1 - 1e-6, "points": (0.5,)}, _PROBABILITY, torch=_torch("binary_cross_entropy"),
          ),
)  # fmt: skip
