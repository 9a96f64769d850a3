"""Special functions: where few implementations agree to the last digits."""

from __future__ import annotations

import math

import numpy as np

from ...core.arrays import Array
from ..reference.numbers import Numbers
from .helpers import elementwise, family

_FAR = -100.0


def _density(m: Numbers, x: Array) -> Array:
    return m.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _ndtr(m: Numbers, x: Array) -> Array:
    return m.erfc(-x / m.sqrt(m.of(2.0))) / 2


def _ndtri(m: Numbers, x: Array) -> Array:
    return m.ndtri(x)


def _hazard(m: Numbers, x: Array) -> Array:
    """The density over its tail; far below nearly -x, where the two exponents would cancel to nothing."""
    near = np.maximum(x, _FAR)
    return np.where(x < _FAR, -x, m.exp(-near * near / 2 - m.log_ndtr(near)) / math.sqrt(2 * math.pi))


def _entropy(m: Numbers, x: Array) -> Array:
    safe = np.where(x > 0, x, 1)
    return np.where(x > 0, -safe * m.log(safe), 0 * x)


def _sinc(m: Numbers, x: Array) -> Array:
    angle = x * m.pi()
    safe = np.where(x == 0, 1, angle)
    return np.where(x == 0, 1, m.sin(safe) / safe)


def _sinc_slope(m: Numbers, x: Array) -> Array:
    return (1 + abs(_sinc(m, x))) / np.maximum(abs(x), 1)


def _scaled_bessel_slope(m: Numbers, x: Array) -> Array:
    """Above the slopes of both scaled Bessel functions: far out they fall like 1 / (2 |x|) of their value."""
    return 1.2 * m.i0e(x) / (1 + abs(x))


_POLES = (0.0, -1.0, -2.0)

OPERATORS = family(
    elementwise("erf", "error function", lambda m, x: m.erf(x), lambda m, x: 1.1284 * m.exp(-x * x), family="special",
                points=(0.0, 1.0, 4.0), tensorflow="math.erf", torch="special.erf", jax="lax.erf", keras="erf",
                onnx="Erf"),
    elementwise("erfc", "1 minus the error function, without cancellation", lambda m, x: m.erfc(x),
                lambda m, x: 1.1284 * m.exp(-x * x), family="special", points=(0.0, 1.0, 4.0, 9.0),
                tensorflow="math.erfc", torch="special.erfc", jax="lax.erfc"),
    elementwise("erfinv", "inverse of the error function", lambda m, x: m.erfinv(x),
                lambda m, x: 0.8863 * m.exp(m.square(m.erfinv(x))), family="special", low=-1.0, high=1.0,
                points=(0.0, 1.0, -1.0), tensorflow="math.erfinv", torch="special.erfinv", jax="lax.erf_inv",
                keras="erfinv"),
    elementwise("lgamma", "log of the absolute value of the gamma function", lambda m, x: m.lgamma(x),
                lambda m, x: m.digamma(x), family="special", points=(*_POLES, 1.0, 2.0, -2.457, -2.747, -0.5),
                tensorflow="math.lgamma", torch="special.gammaln", jax="lax.lgamma"),
    elementwise("digamma", "logarithmic derivative of the gamma function", lambda m, x: m.digamma(x),
                lambda m, x: m.trigamma(x), family="special", low=0.0, without=(0.0,),
                points=(0.0, 1.4616321),
                tensorflow="math.digamma", torch="special.digamma", jax="lax.digamma"),
    elementwise("i0", "modified Bessel function of order 0", lambda m, x: m.i0(x), lambda m, x: m.i1(x),
                family="special", points=(0.0, 8.0), tensorflow="math.bessel_i0", torch="special.i0",
                jax="scipy.special.i0"),
    elementwise("i1", "modified Bessel function of order 1", lambda m, x: m.i1(x), lambda m, x: m.i0(x),
                family="special", points=(0.0, 8.0), tensorflow="math.bessel_i1", torch="special.i1",
                jax="scipy.special.i1"),
    elementwise("i0e", "exp(-|x|) I0(x)", lambda m, x: m.i0e(x), _scaled_bessel_slope, family="special",
                points=(0.0, 8.0), tensorflow="math.bessel_i0e", torch="special.i0e", jax="lax.bessel_i0e"),
    elementwise("i1e", "exp(-|x|) I1(x)", lambda m, x: m.i1e(x), _scaled_bessel_slope, family="special",
                points=(0.0, 8.0), tensorflow="math.bessel_i1e", torch="special.i1e", jax="lax.bessel_i1e"),
    elementwise("ndtr", "normal distribution function", _ndtr, _density, family="special", points=(0.0, -5.0, -13.0),
                torch="special.ndtr", jax="scipy.special.ndtr"),
    elementwise("log_ndtr", "log of the normal distribution function", lambda m, x: m.log_ndtr(x),
                _hazard, family="special",
                points=(0.0, -1.0, -5.0, -20.0, 5.0), torch="special.log_ndtr", jax="scipy.special.log_ndtr"),
    elementwise("ndtri", "quantile of the normal distribution", _ndtri,
                lambda m, x: 2.5067 * m.exp(m.square(_ndtri(m, x)) / 2), family="special", low=0.0, high=1.0,
                points=(0.5, 0.0, 1.0, 0.1353),
                own=lambda m, x: np.where(x > 0.1, 1.26 * m.exp(m.square(_ndtri(m, x)) / 2), 0),
                tensorflow="math.ndtri", torch="special.ndtri", jax="scipy.special.ndtri"),
    elementwise("entropy", "-x log(x)", _entropy,
                lambda m, x: np.where(x > 0, 1 + abs(m.log(np.where(x > 0, x, 1))), 0),
                family="special", low=0.0, points=(0.0, 1.0), torch="special.entr", jax="scipy.special.entr"),
    elementwise("expit", "sigmoid, as the special functions have it",
                lambda m, x: np.where(x >= 0, 1, m.exp(-abs(x))) / (1 + m.exp(-abs(x))),
                lambda m, x: m.exp(-abs(x)) / m.square(1 + m.exp(-abs(x))), family="special",
                torch="special.expit", jax="scipy.special.expit"),
    elementwise("logit", "log(x / (1 - x))", lambda m, x: m.log(x) - m.log1p(-x), lambda m, x: 1 / (x * (1 - x)),
                own=lambda m, x: 1 / (1 - x), family="special", low=0.0, high=1.0, points=(0.0, 0.5, 1.0),
                torch="special.logit", jax="scipy.special.logit"),
    elementwise("sinc", "sin(pi x) / (pi x)", _sinc, _sinc_slope, family="special", points=(0.0, 1.0, -1.0, 2.0),
                torch="special.sinc", jax="numpy.sinc"),
)  # fmt: skip
