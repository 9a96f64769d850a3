"""Elementary functions of one number."""

from __future__ import annotations

import math

from .helpers import X, call, elementwise, family

_PI = math.pi


#: Of sinh and cosh.
_SLEEF = {"torch": "may use the Sleef library, which rounds very large results to infinity or negative infinity"}

OPERATORS = family(
    elementwise("exp", "e to the x", lambda m, x: m.exp(x), lambda m, x: m.exp(x), family="unary",
                tensorflow="math.exp", torch="exp", jax="numpy.exp", keras="exp", onnx="Exp"),
    elementwise("exp2", "2 to the x", lambda m, x: m.exp2(x), lambda m, x: m.exp2(x) * m.log(m.of(2.0)),
                family="unary", torch="exp2", jax="numpy.exp2", keras="exp2"),
    elementwise("expm1", "e to the x, minus 1, without cancellation", lambda m, x: m.expm1(x), lambda m, x: m.exp(x),
                family="unary", tensorflow="math.expm1", torch="expm1", jax="numpy.expm1", keras="expm1"),
    elementwise("log", "natural logarithm", lambda m, x: m.log(x), lambda m, x: 1 / x, family="unary",
                low=0.0, points=(0.0, 1.0),
                tensorflow="math.log", torch="log", jax="numpy.log", keras="log", onnx="Log"),
    elementwise("log2", "logarithm to base 2", lambda m, x: m.log2(x), lambda m, x: 1.45 / x, family="unary",
                low=0.0, points=(0.0, 1.0, 2.0), torch="log2", jax="numpy.log2", keras="log2"),
    elementwise("log10", "logarithm to base 10", lambda m, x: m.log10(x), lambda m, x: 0.45 / x, family="unary",
                low=0.0, points=(0.0, 1.0, 10.0), torch="log10", jax="numpy.log10", keras="log10"),
    elementwise("log1p", "log(1 + x), without cancellation", lambda m, x: m.log1p(x), lambda m, x: 1 / (1 + x),
                family="unary", low=-1.0, points=(0.0, -1.0),
                tensorflow="math.log1p", torch="log1p", jax="numpy.log1p", keras="log1p"),
    elementwise("sqrt", "square root", lambda m, x: m.sqrt(x), lambda m, x: 0.5 / m.sqrt(x), family="unary", low=0.0,
                tensorflow="math.sqrt", torch="sqrt", jax="numpy.sqrt", keras="sqrt", onnx="Sqrt"),
    elementwise("rsqrt", "1 over the square root", lambda m, x: 1 / m.sqrt(x), lambda m, x: 0.5 / (x * m.sqrt(x)),
                family="unary", low=0.0, tensorflow="math.rsqrt", torch="rsqrt", jax="lax.rsqrt", keras="rsqrt",
                onnx=lambda p, s: call("onnx.Reciprocal", call("onnx.Sqrt", X))),
    elementwise("reciprocal", "1 over x", lambda m, x: 1 / x, lambda m, x: 1 / (x * x), family="unary",
                tensorflow="math.reciprocal", torch="reciprocal", jax="numpy.reciprocal", keras="reciprocal",
                onnx="Reciprocal"),
    elementwise("square", "x times x", lambda m, x: x * x, lambda m, x: 2 * x, family="unary",
                tensorflow="math.square", torch="square", jax="numpy.square", keras="square",
                onnx=lambda p, s: call("onnx.Mul", X, X)),
    elementwise("abs", "x without its sign", lambda m, x: abs(x), lambda m, x: x * 0, family="unary",
                tensorflow="math.abs", torch="abs", jax="numpy.abs", keras="abs", onnx="Abs"),
    elementwise("sin", "sine", lambda m, x: m.sin(x), lambda m, x: m.cos(x), family="unary",
                points=(0.0, _PI, 2 * _PI, -_PI),
                tensorflow="math.sin", torch="sin", jax="numpy.sin", keras="sin", onnx="Sin"),
    elementwise("cos", "cosine", lambda m, x: m.cos(x), lambda m, x: m.sin(x), family="unary",
                points=(0.0, _PI / 2, -_PI / 2, 3 * _PI / 2),
                tensorflow="math.cos", torch="cos", jax="numpy.cos", keras="cos", onnx="Cos"),
    elementwise("tan", "tangent", lambda m, x: m.tan(x), lambda m, x: 1 + m.square(m.tan(x)), family="unary",
                points=(0.0, _PI / 2, -_PI / 2, _PI),
                tensorflow="math.tan", torch="tan", jax="numpy.tan", keras="tan", onnx="Tan"),
    elementwise("asin", "arc sine", lambda m, x: m.asin(x), lambda m, x: 1 / m.sqrt((1 - x) * (1 + x)), family="unary",
                low=-1.0, high=1.0, points=(0.0, 1.0, -1.0, 0.5, -0.5), tensorflow="math.asin", torch="asin",
                jax="numpy.arcsin", keras="arcsin", onnx="Asin"),
    elementwise("acos", "arc cosine", lambda m, x: m.acos(x), lambda m, x: 1 / m.sqrt((1 - x) * (1 + x)),
                family="unary", low=-1.0, high=1.0, points=(0.0, 1.0, -1.0, 0.5, -0.5), tensorflow="math.acos",
                torch="acos", jax="numpy.arccos", keras="arccos", onnx="Acos"),
    elementwise("atan", "arc tangent", lambda m, x: m.atan(x), lambda m, x: 1 / (1 + x * x), family="unary",
                points=(0.0, 1.0, -1.0), tensorflow="math.atan", torch="atan", jax="numpy.arctan", keras="arctan",
                onnx="Atan"),
    elementwise("sinh", "hyperbolic sine", lambda m, x: m.sinh(x), lambda m, x: m.cosh(x), family="unary",
                tensorflow="math.sinh", torch="sinh", jax="numpy.sinh", keras="sinh", onnx="Sinh",
                overflows=_SLEEF),
    elementwise("cosh", "hyperbolic cosine", lambda m, x: m.cosh(x), lambda m, x: m.sinh(x), family="unary",
                tensorflow="math.cosh", torch="cosh", jax="numpy.cosh", keras="cosh", onnx="Cosh",
                overflows=_SLEEF),
    elementwise("tanh", "hyperbolic tangent", lambda m, x: m.tanh(x), lambda m, x: 1 - m.square(m.tanh(x)),
                family="unary", tensorflow="math.tanh", torch="tanh", jax="numpy.tanh", keras="tanh", onnx="Tanh"),
    elementwise("asinh", "inverse hyperbolic sine", lambda m, x: m.asinh(x), lambda m, x: 1 / m.sqrt(1 + x * x),
                family="unary", tensorflow="math.asinh", torch="asinh", jax="numpy.arcsinh", keras="arcsinh",
                onnx="Asinh"),
    elementwise("acosh", "inverse hyperbolic cosine", lambda m, x: m.acosh(x),
                lambda m, x: 1 / m.sqrt((x - 1) * (x + 1)), family="unary", low=1.0, points=(1.0, 2.0),
                tensorflow="math.acosh", torch="acosh", jax="numpy.arccosh", keras="arccosh", onnx="Acosh"),
    elementwise("atanh", "inverse hyperbolic tangent", lambda m, x: m.atanh(x), lambda m, x: 1 / ((1 - x) * (1 + x)),
                family="unary", low=-1.0, high=1.0, points=(0.0, 1.0, -1.0, 0.5), tensorflow="math.atanh",
                torch="atanh", jax="numpy.arctanh", keras="arctanh", onnx="Atanh"),
)  # fmt: skip
