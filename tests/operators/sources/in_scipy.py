"""Operators in SciPy's own functions: of the parameters and the arrays of the operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, ndimage, special
from scipy.spatial import distance

Array = np.ndarray
Function = Callable[..., Array]


def _of_one(function: Callable[[Array], Array]) -> Function:
    return lambda p, x: function(x)


def _of_two(function: Callable[[Array, Array], Array]) -> Function:
    return lambda p, a, b: function(a, b)


def _along(function: Callable[..., Array]) -> Function:
    return lambda p, x: function(x, axis=p.get("axis", -1))


def _bce(p: dict[str, Any], y: Array, t: Array) -> Array:
    return -special.xlogy(t, y) - special.xlog1py(1 - t, -y)


def _cdist(p: dict[str, Any], x: Array, y: Array) -> Array:
    return np.stack([distance.cdist(a, b) for a, b in zip(x, y, strict=True)])


def _cosine(p: dict[str, Any], x: Array, y: Array) -> Array:
    units = [a / linalg.norm(a, axis=-1, keepdims=True) for a in (x, y)]
    return np.einsum("ni,ni->n", *units)


def _group_norm(p: dict[str, Any], x: Array, scale: Array, offset: Array) -> Array:
    """Mean and variance of labelled regions: a label for each group of each instance."""
    groups = np.arange(x.shape[-1]) // (x.shape[-1] // p["groups"])
    labels = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1)) * p["groups"] + groups
    labels = np.broadcast_to(labels, x.shape)
    every = np.unique(labels)
    mean, variance = (np.asarray(find(x, labels, every))[labels] for find in (ndimage.mean, ndimage.variance))
    return (x - mean) / np.sqrt(variance + p["epsilon"]) * scale + offset


def _rms_norm(p: dict[str, Any], x: Array, scale: Array) -> Array:
    square = linalg.norm(x, axis=-1, keepdims=True) ** 2 / x.shape[-1]
    return scale * x / np.sqrt(square + p["epsilon"])


def _lrn(p: dict[str, Any], x: Array) -> Array:
    sums = ndimage.convolve1d(x * x, np.ones(5), axis=-1, mode="constant")
    return x * (1 + 2.0**-13 * sums) ** -0.75


#: By the operator's name; ``calls.SCIPY`` says which of SciPy's functions does the work.
FUNCTIONS: dict[str, Function] = {
    "bce": _bce,
    "cdist": _cdist,
    "cosine_similarity": _cosine,
    "digamma": _of_one(special.digamma),
    "entropy": _of_one(special.entr),
    "erf": _of_one(special.erf),
    "erfc": _of_one(special.erfc),
    "erfinv": _of_one(special.erfinv),
    "exp2": _of_one(special.exp2),
    "expit": _of_one(special.expit),
    "expm1": _of_one(special.expm1),
    "group_norm": _group_norm,
    "huber": lambda p, y, t: special.huber(1.0, y - t),
    "i0": _of_one(special.i0),
    "i0e": _of_one(special.i0e),
    "i1": _of_one(special.i1),
    "i1e": _of_one(special.i1e),
    "kl_div": lambda p, y, t: -special.entr(t) - t * y,
    "l2_norm": lambda p, x: linalg.norm(x, axis=-1),
    "lgamma": _of_one(special.gammaln),
    "log1p": _of_one(special.log1p),
    "log_ndtr": _of_one(special.log_ndtr),
    "log_sigmoid": _of_one(special.log_expit),
    "log_softmax": _along(special.log_softmax),
    "logit": _of_one(special.logit),
    "logsumexp": _along(special.logsumexp),
    "lrn": _lrn,
    "ndtr": _of_one(special.ndtr),
    "ndtri": _of_one(special.ndtri),
    "rms_norm": _rms_norm,
    "sigmoid": _of_one(special.expit),
    "smooth_l1": lambda p, y, t: special.huber(1.0, y - t),
    "soft_margin": lambda p, y, t: -special.log_expit(t * y),
    "softmax": _along(special.softmax),
    "xlog1py": _of_two(special.xlog1py),
    "xlogy": _of_two(special.xlogy),
}
