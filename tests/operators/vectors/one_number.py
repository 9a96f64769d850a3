"""Functions of one number, by their definitions."""

from __future__ import annotations

import math
from typing import Any

from .numbers import HUGE, INF, MP, NAN, SUBNORMAL, OneNumber

_PI = math.pi
_TINY = 5e-324
#: At or beside 0 nothing else is left of them.
_SMALL = (1e-8, -1e-8, 1e-3)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + MP.exp(-x))


def _softplus(x: Any) -> Any:
    return MP.log1p(MP.exp(-abs(x))) + max(x, 0)


def _phi(x: Any) -> Any:
    return MP.erfc(-x / MP.sqrt(2)) / 2 if abs(x) < 1e10 else MP.mpf(x > 0)


def _gelu_tanh(x: Any) -> Any:
    inner = MP.sqrt(2 / MP.pi) * (x + MP.mpf(0.044715) * x**3)
    return x * _sigmoid(2 * inner) if abs(x) < 1e10 else max(x, 0)


def _elu(x: Any) -> Any:
    return x if x > 0 else MP.expm1(x)


_SCALE, _ALPHA = MP.mpf("1.05070098735548049342"), MP.mpf("1.67326324235437728481")


def _scaled_bessel(order: int) -> Any:
    def define(x: Any) -> Any:
        z = abs(x)
        if z > 1e6:  # the first terms of Hankel's expansion
            near = 1 - (4 * order**2 - 1) / (8 * z)
            return MP.sign(x) ** order * near / MP.sqrt(2 * MP.pi * z)
        return MP.besseli(order, x) * MP.exp(-z)

    return define


def _bessel(order: int) -> Any:
    return lambda x: MP.sign(x) ** order * MP.inf if abs(x) > 1e4 else MP.besseli(order, x)


def _log_ndtr(x: Any) -> Any:
    if x > 0:
        return MP.log1p(-MP.erfc(x / MP.sqrt(2)) / 2) if x < 1e10 else MP.mpf(0)
    return MP.log(MP.erfc(-x / MP.sqrt(2)) / 2) if x > -1e6 else -(x**2) / 2 - MP.log(-x * MP.sqrt(2 * MP.pi))


def _erf(x: Any) -> Any:
    return MP.erf(x) if abs(x) < 1e10 else MP.sign(x)


def _erfc(x: Any) -> Any:
    return MP.erfc(x) if abs(x) < 1e10 else 1 - MP.sign(x)


def _clipped(low: float, high: float) -> Any:
    return lambda x: min(max(x, MP.mpf(low)), MP.mpf(high))


def _hard_silu(x: Any) -> Any:
    return MP.mpf(0) if x <= -3 else x if x >= 3 else x * (x + 3) / 6


def _soft_shrink(x: Any) -> Any:
    half = MP.mpf(0.5)
    return x - half if x > half else x + half if x < -half else MP.mpf(0)


def _ndtri(p: Any) -> Any:
    if p in (0, 1):
        return MP.inf if p else -MP.inf
    with MP.workdps(420):
        return MP.sqrt(2) * MP.erfinv(2 * p - 1)


FUNCTIONS: dict[str, OneNumber] = {
    # elementary
    "exp": OneNumber(MP.exp, 0.0, INF, (*_SMALL, 709.0, 710.0, -745.0)),
    "exp2": OneNumber(lambda x: MP.mpf(2) ** x, 0.0, INF, (*_SMALL, 1023.0, 1024.0, -1074.0)),
    "expm1": OneNumber(MP.expm1, -1.0, INF, (*_SMALL, 709.0, -50.0)),
    "log": OneNumber(lambda x: -MP.inf if x == 0 else MP.log(x), NAN, INF, (1 + 2**-52, 2.0, _TINY), low=0.0),
    "log2": OneNumber(lambda x: -MP.inf if x == 0 else MP.log(x, 2), NAN, INF, (2.0, 8.0, _TINY), low=0.0),
    "log10": OneNumber(lambda x: -MP.inf if x == 0 else MP.log10(x), NAN, INF, (10.0, 1e22), low=0.0),
    "log1p": OneNumber(lambda x: -MP.inf if x == -1 else MP.log1p(x), NAN, INF, (*_SMALL, -1 + 2**-53), low=-1.0),
    "sqrt": OneNumber(MP.sqrt, NAN, INF, (4.0, 2.0, _TINY), low=0.0),
    "rsqrt": OneNumber(lambda x: 1 / MP.sqrt(x), NAN, 0.0, (4.0, 2.0), ((0.0, INF), (-0.0, -INF)), low=0.0),
    "reciprocal": OneNumber(
        lambda x: 1 / x, -0.0, 0.0, (4.0,), ((0.0, INF), (-0.0, -INF), (SUBNORMAL, INF), (-SUBNORMAL, -INF))
    ),
    "square": OneNumber(lambda x: x * x, INF, INF, (3.0, 1e154)),
    "abs": OneNumber(abs, INF, INF, (_TINY,)),
    "sin": OneNumber(MP.sin, points=(_PI, 1e22, *_SMALL)),
    "cos": OneNumber(MP.cos, points=(_PI / 2, 1e22)),
    "tan": OneNumber(MP.tan, points=(_PI / 2, _PI, 1e22)),
    "asin": OneNumber(MP.asin, points=(1 - 2**-53,), low=-1.0, high=1.0),
    "acos": OneNumber(MP.acos, points=(1 - 2**-53,), low=-1.0, high=1.0),
    "atan": OneNumber(MP.atan, -_PI / 2, _PI / 2),
    "sinh": OneNumber(MP.sinh, -INF, INF, (*_SMALL, 710.0)),
    "cosh": OneNumber(MP.cosh, INF, INF, (710.0,)),
    "tanh": OneNumber(MP.tanh, -1.0, 1.0, (*_SMALL, 20.0)),
    "asinh": OneNumber(MP.asinh, -INF, INF, _SMALL),
    "acosh": OneNumber(MP.acosh, NAN, INF, (1 + 2**-52, 2.0), low=1.0),
    "atanh": OneNumber(
        lambda x: MP.inf * MP.sign(x) if abs(x) == 1 else MP.atanh(x), points=(1 - 2**-53, *_SMALL), low=-1.0, high=1.0
    ),
    # activations
    "relu": OneNumber(lambda x: max(x, 0), 0.0, INF),
    "relu6": OneNumber(_clipped(0, 6), 0.0, 6.0, (6.0, 6 + 2**-50)),
    "leaky_relu": OneNumber(lambda x: x if x >= 0 else x / 4, -INF, INF),
    "sigmoid": OneNumber(_sigmoid, 0.0, 1.0, (-745.0, 40.0)),
    "log_sigmoid": OneNumber(lambda x: -_softplus(-x), -INF, 0.0, (40.0, -40.0)),
    "softplus": OneNumber(_softplus, 0.0, INF, (-40.0, 40.0)),
    "softsign": OneNumber(lambda x: x / (1 + abs(x)), -1.0, 1.0),
    "elu": OneNumber(_elu, -1.0, INF, (-1e-8, -50.0)),
    "selu": OneNumber(
        lambda x: _SCALE * (x if x > 0 else _ALPHA * MP.expm1(x)), float(-_SCALE * _ALPHA), INF, (-1e-8,)
    ),
    "celu": OneNumber(_elu, -1.0, INF, (-1e-8, -50.0)),
    "gelu": OneNumber(lambda x: x * _phi(x), 0.0, INF, (-5.0, -38.0)),
    "gelu_tanh": OneNumber(_gelu_tanh, 0.0, INF, (-5.0, -13.0)),
    "silu": OneNumber(lambda x: x * _sigmoid(x), 0.0, INF, (-740.0, 40.0)),
    "mish": OneNumber(lambda x: x * MP.tanh(_softplus(x)) if x > -1e6 else MP.mpf(0), 0.0, INF, (-40.0, -740.0)),
    "hard_sigmoid": OneNumber(lambda x: _clipped(0, 1)(x / 6 + MP.mpf(0.5)), 0.0, 1.0, (3.0, -3.0)),
    "hard_silu": OneNumber(_hard_silu, 0.0, INF, (3.0, -3.0)),
    "hard_tanh": OneNumber(_clipped(-1, 1), -1.0, 1.0),
    "tanh_shrink": OneNumber(lambda x: x - MP.tanh(x), -INF, INF, (2.0, 20.0)),
    "soft_shrink": OneNumber(_soft_shrink, -INF, INF, (0.5 + 2**-50, -0.5)),
    "squareplus": OneNumber(
        lambda x: 2 / (MP.sqrt(x * x + 4) - x) if x < 0 else (x + MP.sqrt(x * x + 4)) / 2,
        0.0,
        INF,
        (-1e5, -1e10, 1e160),
    ),
    # special functions
    "erf": OneNumber(_erf, -1.0, 1.0, (*_SMALL, 6.0)),
    "erfc": OneNumber(_erfc, 2.0, 0.0, (6.0, 26.0)),
    "erfinv": OneNumber(
        lambda x: MP.inf * MP.sign(x) if abs(x) == 1 else MP.erfinv(x), points=(1 - 2**-53,), low=-1.0, high=1.0
    ),
    "lgamma": OneNumber(
        lambda x: MP.loggamma(x) if x > 0 else MP.log(MP.pi / abs(MP.sin(MP.pi * x))) - MP.loggamma(1 - x),
        INF,
        INF,
        (2.0, -0.5, 1 + 2**-40),
        ((0.0, INF), (-0.0, INF), (-1.0, INF), (-2.0, INF), (-HUGE, INF), (1.0, 0.0), (2.0, 0.0)),
    ),
    "digamma": OneNumber(
        MP.digamma,
        NAN,
        INF,
        (2.0, 1.4616321449683622),
        ((0.0, NAN), (-0.0, NAN), (SUBNORMAL, -INF), (HUGE, 690.7755278982137), (3e38, 88.59684582244185)),
        low=0.0,
    ),
    "i0": OneNumber(_bessel(0), INF, INF, (8.0, 700.0)),
    "i1": OneNumber(_bessel(1), -INF, INF, (8.0, -700.0)),
    "i0e": OneNumber(_scaled_bessel(0), 0.0, 0.0, (8.0, 31.0, 1e5)),
    "i1e": OneNumber(_scaled_bessel(1), 0.0, 0.0, (8.0, -31.0, 1e5)),
    "ndtr": OneNumber(_phi, 0.0, 1.0, (-5.0, -37.0)),
    "log_ndtr": OneNumber(_log_ndtr, -INF, 0.0, (-5.0, -19.0, -21.0, -37.0, 5.0, 37.0)),
    "ndtri": OneNumber(_ndtri, points=(0.25, 1 - 2**-53, 1e-300), low=0.0, high=1.0),
    "entropy": OneNumber(lambda x: -x * MP.log(x) if x else MP.mpf(0), NAN, -INF, (math.e,), low=0.0),
    "expit": OneNumber(_sigmoid, 0.0, 1.0, (-745.0, 40.0)),
    "logit": OneNumber(
        lambda x: MP.inf * (1 if x else -1) if x in (0, 1) else MP.log(x / (1 - x)),
        points=(0.25, 1 - 2**-53),
        low=0.0,
        high=1.0,
    ),
    # NumPy, which defines it, gives NaN at infinities, where the formula is sin(inf) over inf.
    "sinc": OneNumber(lambda x: MP.sinc(MP.pi * x), points=(0.25, 1.5)),
}
#: What no number is asked of: outside of a domain the documentation says nothing.
__all__ = ["FUNCTIONS"]
