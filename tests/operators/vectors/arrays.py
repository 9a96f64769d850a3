"""Functions of several numbers or of arrays, by hand: operands in the operator's order, each with its stacking axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .numbers import HUGE, INF, NAN, SUBNORMAL

_LN2 = math.log(2.0)
_E = math.e


@dataclass(frozen=True)
class Vector:
    """One call: operands and the value, as nested lists."""

    operands: tuple[Any, ...]
    value: Any
    params: Mapping[str, Any] = field(default_factory=dict)


def _row(x: list[float], value: Any) -> Vector:
    """A single row along the last axis."""
    return Vector(([x],), [value])


def _pairs(*triples: tuple[float, float, float]) -> list[Vector]:
    return [Vector(([a], [b]), [value]) for a, b, value in triples]


def _line(*x: float) -> list[list[list[float]]]:
    """One image of one row and one channel."""
    return [[[number] for number in x]]


def _square(a: float, b: float, c: float, d: float) -> list[Any]:
    """One image of two rows and two columns, one channel."""
    return [[[[a], [b]], [[c], [d]]]]


def _cube(*x: float) -> list[Any]:
    a, b, c, d, e, f, g, h = x
    return [[[[[a], [b]], [[c], [d]]], [[[e], [f]], [[g], [h]]]]]


_ONE_TAP = {"size": 1, "filters": 1}
#: Two taps, 2 and 0: what stands under the second has a weight of 0.
_TAPS = [[[2.0]], [[0.0]]]

VECTORS: dict[str, list[Vector]] = {
    # two numbers
    "divide": _pairs(
        (1.0, 0.0, INF),
        (1.0, -0.0, -INF),
        (0.0, 0.0, NAN),
        (INF, INF, NAN),
        (INF, 2.0, INF),
        (2.0, -INF, -0.0),
        (NAN, 1.0, NAN),
        (HUGE, HUGE, 1.0),
        (SUBNORMAL, SUBNORMAL, 1.0),
    ),
    "pow": _pairs(
        (0.0, 0.0, 1.0),
        (INF, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (0.0, -1.0, INF),
        (2.0, -INF, 0.0),
        (0.5, -INF, INF),
        (INF, -1.0, 0.0),
        (HUGE, 0.5, 1e150),
        (SUBNORMAL, 1.0, SUBNORMAL),
    ),
    "atan2": _pairs(
        (INF, INF, math.pi / 4),
        (INF, -INF, 3 * math.pi / 4),
        (-INF, 1.0, -math.pi / 2),
        (0.0, -0.0, math.pi),
        (-0.0, -1.0, -math.pi),
        (0.0, 0.0, 0.0),
        (NAN, 1.0, NAN),
        (HUGE, HUGE, math.pi / 4),
        (SUBNORMAL, SUBNORMAL, math.pi / 4),
    ),
    "hypot": _pairs(
        (3.0, 4.0, 5.0),
        (INF, 1.0, INF),
        (-INF, NAN, INF),
        (NAN, INF, INF),
        (NAN, 1.0, NAN),
        (0.0, -0.0, 0.0),
        (3e300, 4e300, 5e300),
        (3 * SUBNORMAL, 4 * SUBNORMAL, 5 * SUBNORMAL),
    ),
    "logaddexp": _pairs(
        (INF, INF, INF),
        (-INF, -INF, -INF),
        (INF, -INF, INF),
        (-INF, 2.0, 2.0),
        (0.0, 0.0, _LN2),
        (NAN, 0.0, NAN),
        (HUGE, 0.0, HUGE),
        (SUBNORMAL, SUBNORMAL, _LN2),
        (-_LN2, -_LN2, 0.0),
    ),
    "xlogy": _pairs(
        (0.0, 0.0, 0.0),
        (0.0, INF, 0.0),
        (0.0, NAN, NAN),
        (1.0, 0.0, -INF),
        (2.0, _E, 2.0),
        (INF, 2.0, INF),
        (NAN, 1.0, NAN),
        (1.0, HUGE, 690.7755278982137),
        (1.0, SUBNORMAL, -713.8013788281542),
    ),
    "xlog1py": _pairs(
        (0.0, -1.0, 0.0),
        (0.0, INF, 0.0),
        (0.0, NAN, NAN),
        (1.0, -1.0, -INF),
        (2.0, 1e-20, 2e-20),
        (INF, 1.0, INF),
        (1.0, HUGE, 690.7755278982137),
        (1.0, SUBNORMAL, SUBNORMAL),
    ),
    "squared_difference": _pairs(
        (INF, 1.0, INF),
        (INF, -INF, INF),
        (INF, INF, NAN),
        (NAN, 0.0, NAN),
        (3.0, 1.0, 4.0),
        (HUGE, HUGE, 0.0),
        (SUBNORMAL, 0.0, 0.0),
    ),
    # along the last axis
    "softmax": [
        _row([0.0, 0.0], [0.5, 0.5]),
        _row([-INF, 0.0, 0.0], [0.0, 0.5, 0.5]),
        _row([NAN, 0.0], [NAN, NAN]),
        _row([HUGE, 0.0], [1.0, 0.0]),
        _row([SUBNORMAL, 0.0], [0.5, 0.5]),
        _row([-INF, -INF], [NAN, NAN]),
        # less the largest, as all but one library take it; the limit, which is 1 and 0, is right as well
        _row([INF, 0.0], [NAN, NAN]),
    ],
    "log_softmax": [
        _row([INF, 0.0], [NAN, NAN]),
        _row([0.0, 0.0], [-_LN2, -_LN2]),
        _row([-INF, 0.0], [-INF, 0.0]),
        _row([NAN, 0.0], [NAN, NAN]),
        _row([HUGE, 0.0], [0.0, -HUGE]),
        _row([SUBNORMAL, 0.0], [-_LN2, -_LN2]),
    ],
    "prelu": [
        Vector(([[INF, -INF, NAN]], [0.5, 0.5, 0.5]), [[INF, -INF, NAN]]),
        Vector(([[0.0, -HUGE, -SUBNORMAL]], [0.5, 0.5, 0.5]), [[0.0, -5e299, -5e-311]]),
    ],
    "sum": [
        _row([INF, 1.0], INF),
        _row([INF, -INF], NAN),
        _row([NAN, 1.0], NAN),
        _row([1e308, -1e308, 1.0], 1.0),
        _row([SUBNORMAL, SUBNORMAL], 2 * SUBNORMAL),
        _row([], 0.0),
    ],
    "mean": [
        _row([INF, 1.0], INF),
        _row([INF, -INF], NAN),
        _row([NAN], NAN),
        _row([1.5e308] * 4, 1.5e308),
        _row([1.5e308, -1.5e308], 0.0),
        _row([SUBNORMAL] * 3, SUBNORMAL),
    ],
    "prod": [
        _row([INF, 2.0], INF),
        _row([INF, 0.0], NAN),
        _row([NAN, 0.0], NAN),
        _row([HUGE, 1e-300], 1.0),
        _row([SUBNORMAL, 2.0], 2 * SUBNORMAL),
        _row([], 1.0),
    ],
    "max": [
        _row([INF, NAN], NAN),
        _row([-INF, -INF], -INF),
        _row([2.0, 2.0], 2.0),
        _row([HUGE, INF], INF),
        _row([0.0, SUBNORMAL], SUBNORMAL),
    ],
    "min": [
        _row([INF, NAN], NAN),
        _row([INF, INF], INF),
        _row([2.0, 2.0], 2.0),
        _row([-HUGE, -INF], -INF),
        _row([0.0, -SUBNORMAL], -SUBNORMAL),
    ],
    "var": [
        _row([INF, 1.0], NAN),
        _row([NAN, 1.0], NAN),
        _row([3.0, 3.0], 0.0),
        _row([1.0, 3.0], 1.0),
        _row([HUGE, HUGE], 0.0),
        _row([SUBNORMAL, 0.0], 0.0),
    ],
    "std": [
        _row([INF, 1.0], NAN),
        _row([NAN, 1.0], NAN),
        _row([3.0, 3.0], 0.0),
        _row([1.0, 3.0], 1.0),
        _row([1e300, 3e300], 1e300),
        _row([SUBNORMAL, 3 * SUBNORMAL], SUBNORMAL),
    ],
    "logsumexp": [
        _row([INF, 0.0], INF),
        _row([INF, INF], INF),
        _row([INF, -INF], INF),
        _row([-INF, -INF], -INF),
        _row([-INF, 2.0], 2.0),
        _row([NAN, INF], NAN),
        _row([HUGE, HUGE], HUGE),
        _row([SUBNORMAL, SUBNORMAL], _LN2),
        _row([-_LN2, -_LN2], 0.0),
    ],
    "l2_norm": [
        _row([INF, 1.0], INF),
        _row([-INF, INF], INF),
        _row([NAN, 1.0], NAN),
        _row([3e300, 4e300], 5e300),
        _row([3e-300, 4e-300], 5e-300),
        _row([3 * SUBNORMAL, 4 * SUBNORMAL], 5 * SUBNORMAL),
        _row([0.0, -0.0], 0.0),
    ],
    "l1_norm": [
        _row([INF, -INF], INF),
        _row([NAN, 1.0], NAN),
        _row([HUGE, -HUGE], 2 * HUGE),
        _row([SUBNORMAL, -SUBNORMAL], 2 * SUBNORMAL),
    ],
    "cumsum": [
        _row([1.0, INF, 1.0], [1.0, INF, INF]),
        _row([INF, -INF, 1.0], [INF, NAN, NAN]),
        _row([1.0, NAN, 1.0], [1.0, NAN, NAN]),
        _row([HUGE, -HUGE], [HUGE, 0.0]),
        _row([SUBNORMAL, SUBNORMAL], [SUBNORMAL, 2 * SUBNORMAL]),
    ],
    "cumprod": [
        _row([2.0, INF, 0.0], [2.0, INF, NAN]),
        _row([1.0, NAN, 0.0], [1.0, NAN, NAN]),
        _row([HUGE, 1e-300], [HUGE, 1.0]),
        _row([SUBNORMAL, 2.0], [SUBNORMAL, 2 * SUBNORMAL]),
    ],
    "cummax": [
        _row([1.0, INF, 2.0], [1.0, INF, INF]),
        _row([1.0, NAN, 2.0], [1.0, NAN, NAN]),
        _row([2.0, 2.0], [2.0, 2.0]),
        _row([-HUGE, SUBNORMAL], [-HUGE, SUBNORMAL]),
    ],
    "logcumsumexp": [
        _row([-INF, -INF, 0.0], [-INF, -INF, 0.0]),
        _row([0.0, INF, 0.0], [0.0, INF, INF]),
        _row([0.0, NAN], [0.0, NAN]),
        _row([0.0, 0.0], [0.0, _LN2]),
        _row([HUGE, 0.0], [HUGE, HUGE]),
        _row([SUBNORMAL], [SUBNORMAL]),
    ],
    # normalizations: with an epsilon of 2^-10, which is 1/1024
    "norm": [
        Vector(
            ([[INF, 1.0, NAN, 1e300]], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0] * 4, [0.5] * 4),
            [[INF, 0.5, NAN, 1e300 / math.sqrt(1 + 2.0**-10)]],
        ),
        Vector(([[SUBNORMAL]], [0.0], [1.0], [0.0], [2.0]), [[2.0]]),
    ],
    "layer_norm": [
        Vector(([[NAN, 1.0]], [1.0] * 2, [0.0] * 2), [[NAN, NAN]]),
        Vector(([[INF, 1.0]], [1.0] * 2, [0.0] * 2), [[NAN, NAN]]),
        Vector(([[3.0, 3.0]], [1.0] * 2, [0.5] * 2), [[0.5, 0.5]]),
        Vector(([[HUGE, -HUGE]], [1.0] * 2, [0.0] * 2), [[1.0, -1.0]]),
        Vector(([[SUBNORMAL, -SUBNORMAL]], [1.0] * 2, [0.0] * 2), [[32 * SUBNORMAL, -32 * SUBNORMAL]]),
    ],
    "instance_norm": [
        Vector((_square(NAN, 1.0, 2.0, 3.0), [1.0], [0.0]), _square(NAN, NAN, NAN, NAN)),
        Vector((_square(INF, 1.0, 2.0, 3.0), [1.0], [0.0]), _square(NAN, NAN, NAN, NAN)),
        Vector((_square(HUGE, -HUGE, HUGE, -HUGE), [1.0], [0.5]), _square(1.5, -0.5, 1.5, -0.5)),
        Vector(
            (_square(SUBNORMAL, -SUBNORMAL, SUBNORMAL, -SUBNORMAL), [1.0], [0.0]),
            _square(32 * SUBNORMAL, -32 * SUBNORMAL, 32 * SUBNORMAL, -32 * SUBNORMAL),
        ),
    ],
    "group_norm": [
        Vector(([[[[NAN, 3.0]]]], [1.0] * 2, [0.5] * 2), [[[[NAN, 0.5]]]]),
        Vector(([[[[INF, 3.0]]]], [1.0] * 2, [0.5] * 2), [[[[NAN, 0.5]]]]),
        Vector(([[[[HUGE, -HUGE]]]], [1.0] * 2, [0.0] * 2), [[[[1.0, -1.0]]]], {"groups": 1}),
        Vector(
            ([[[[SUBNORMAL, -SUBNORMAL]]]], [1.0] * 2, [0.0] * 2),
            [[[[32 * SUBNORMAL, -32 * SUBNORMAL]]]],
            {"groups": 1},
        ),
    ],
    "rms_norm": [
        Vector(([[NAN, 1.0]], [1.0] * 2), [[NAN, NAN]]),
        Vector(([[INF, 1.0]], [1.0] * 2), [[NAN, 0.0]]),
        Vector(([[HUGE, -HUGE]], [1.0] * 2), [[1.0, -1.0]]),
        Vector(([[SUBNORMAL, 0.0]], [1.0] * 2), [[32 * SUBNORMAL, 0.0]]),
    ],
    "l2_normalize": [
        _row([3e300, 4e300], [0.6, 0.8]),
        _row([3e-300, 4e-300], [0.6, 0.8]),
        _row([0.0, 0.0], [0.0, 0.0]),
        _row([NAN, 1.0], [NAN, NAN]),
        _row([INF, 1.0], [NAN, 0.0]),
        _row([3 * SUBNORMAL, 4 * SUBNORMAL], [0.6, 0.8]),
    ],
    # x / (1 + 2^-13 x^2)^0.75 far out is 2^9.75 / sqrt(x)
    "lrn": [
        Vector(([[[[HUGE]]]],), [[[[2.0**9.75 * 1e-150]]]]),
        Vector(([[[[NAN]]]],), [[[[NAN]]]]),
        Vector(([[[[INF, 1.0]]]],), [[[[NAN, 0.0]]]]),
        Vector(([[[[SUBNORMAL]]]],), [[[[SUBNORMAL]]]]),
    ],
    # products
    "matmul": [
        Vector(([[[INF, 1.0]]], [[[1.0], [1.0]]]), [[[INF]]]),
        Vector(([[[INF, 1.0]]], [[[0.0], [1.0]]]), [[[NAN]]]),
        Vector(([[[NAN, 1.0], [1.0, 1.0]]], [[[1.0], [1.0]]]), [[[NAN], [2.0]]]),
        Vector(([[[HUGE, -HUGE]]], [[[1.0], [1.0]]]), [[[0.0]]]),
        Vector(([[[SUBNORMAL]]], [[[2.0]]]), [[[2 * SUBNORMAL]]]),
    ],
    "linear": [
        Vector(([[INF, 1.0]], [[1.0], [1.0]], [0.5]), [[INF]]),
        Vector(([[NAN, 1.0]], [[1.0], [1.0]], [0.5]), [[NAN]]),
        Vector(([[HUGE, -HUGE]], [[1.0], [1.0]], [0.5]), [[0.5]]),
        Vector(([[SUBNORMAL]], [[1.0]], [0.0]), [[SUBNORMAL]]),
    ],
    "einsum": [
        Vector(([[[INF, 1.0]]], [[[1.0, 1.0]]]), [[[INF]]]),
        Vector(([[[NAN, 1.0], [1.0, 2.0]]], [[[1.0, 1.0]]]), [[[NAN], [3.0]]]),
        Vector(([[[HUGE, -HUGE]]], [[[1.0, 1.0]]]), [[[0.0]]]),
        Vector(([[[SUBNORMAL, 0.0]]], [[[1.0, 1.0]]]), [[[SUBNORMAL]]]),
    ],
    "dot": [
        Vector(([[INF, 1.0]], [[1.0, 1.0]]), [INF]),
        Vector(([[INF, 1.0]], [[0.0, 1.0]]), [NAN]),
        Vector(([[NAN]], [[1.0]]), [NAN]),
        Vector(([[HUGE, -HUGE]], [[1.0, 1.0]]), [0.0]),
        Vector(([[SUBNORMAL]], [[1.0]]), [SUBNORMAL]),
    ],
    "outer": [
        Vector(([[INF, 0.0]], [[0.0, 2.0]]), [[[NAN, INF], [0.0, 0.0]]]),
        Vector(([[NAN]], [[1.0]]), [[[NAN]]]),
        Vector(([[HUGE, SUBNORMAL]], [[1.0]]), [[[HUGE], [SUBNORMAL]]]),
    ],
    "cosine_similarity": [
        Vector(([[3e300, 4e300]], [[3e-300, 4e-300]]), [1.0]),
        Vector(([[0.0, 0.0]], [[1.0, 1.0]]), [0.0]),
        Vector(([[NAN, 1.0]], [[1.0, 1.0]]), [NAN]),
        Vector(([[INF, 1.0]], [[1.0, 1.0]]), [NAN]),
        Vector(([[SUBNORMAL, 0.0]], [[0.0, 1.0]]), [0.0]),
    ],
    "cdist": [
        Vector(([[[3e300, 0.0]]], [[[0.0, 4e300]]]), [[[5e300]]]),
        Vector(([[[INF, 0.0]]], [[[0.0, 0.0]]]), [[[INF]]]),
        Vector(([[[INF, 0.0]]], [[[INF, 0.0]]]), [[[NAN]]]),
        Vector(([[[NAN]]], [[[1.0]]]), [[[NAN]]]),
        Vector(([[[3 * SUBNORMAL, 0.0]]], [[[0.0, 4 * SUBNORMAL]]]), [[[5 * SUBNORMAL]]]),
    ],
    "attention": [
        Vector(([[[[1.0]]]], [[[[0.0]]]], [[[[INF]]]]), [[[[INF]]]]),
        Vector(([[[[NAN]]]], [[[[1.0]]]], [[[[1.0]]]]), [[[[NAN]]]]),
        Vector(([[[[1.0]]]], [[[[2.0]], [[2.0]]]], [[[[1.0]], [[3.0]]]]), [[[[2.0]]]]),
        Vector(([[[[HUGE]]]], [[[[1.0]], [[-1.0]]]], [[[[1.0]], [[3.0]]]]), [[[[1.0]]]]),
        Vector(([[[[SUBNORMAL]]]], [[[[1.0]]]], [[[[7.0]]]]), [[[[7.0]]]]),
    ],
    # convolutions: one channel, one filter
    "conv1d": [
        Vector((_line(INF, 1.0, 2.0), [[[2.0]], [[1.0]]]), _line(INF, 4.0), {"size": 2, "filters": 1}),
        Vector((_line(NAN, 1.0, 2.0), [[[2.0]], [[1.0]]]), _line(NAN, 4.0), {"size": 2, "filters": 1}),
        Vector((_line(HUGE, -HUGE), [[[1.0]], [[1.0]]]), _line(0.0), {"size": 2, "filters": 1}),
        Vector((_line(SUBNORMAL), [[[2.0]]]), _line(2 * SUBNORMAL), _ONE_TAP),
    ],
    "conv2d": [
        Vector((_square(INF, 1.0, 2.0, NAN), [[[[2.0]]]]), _square(INF, 2.0, 4.0, NAN), _ONE_TAP),
        Vector((_square(HUGE, SUBNORMAL, 0.0, -0.0), [[[[1.0]]]]), _square(HUGE, SUBNORMAL, 0.0, 0.0), _ONE_TAP),
    ],
    "conv3d": [
        Vector(
            (_cube(INF, 1, 2, NAN, HUGE, SUBNORMAL, 0, 3), [[[[[1.0]]]]]),
            _cube(INF, 1, 2, NAN, HUGE, SUBNORMAL, 0, 3),
            _ONE_TAP,
        )
    ],
    "depthwise_conv2d": [
        Vector((_square(INF, 1.0, 2.0, NAN), [[[[2.0]]]]), _square(INF, 2.0, 4.0, NAN), {"size": 1}),
        Vector((_square(HUGE, SUBNORMAL, 0.0, 0.0), [[[[1.0]]]]), _square(HUGE, SUBNORMAL, 0.0, 0.0), {"size": 1}),
    ],
    "conv1d_transpose": [
        Vector((_line(INF, 1.0, NAN), [[[2.0]]]), _line(INF, 2.0, NAN), _ONE_TAP),
        Vector((_line(HUGE, SUBNORMAL), [[[1.0]]]), _line(HUGE, SUBNORMAL), _ONE_TAP),
    ],
    "conv2d_transpose": [
        Vector((_square(INF, 1.0, 2.0, NAN), [[[[2.0]]]]), _square(INF, 2.0, 4.0, NAN), _ONE_TAP),
        Vector((_square(HUGE, SUBNORMAL, 0.0, 0.0), [[[[1.0]]]]), _square(HUGE, SUBNORMAL, 0.0, 0.0), _ONE_TAP),
    ],
    "conv3d_transpose": [
        Vector(
            (_cube(INF, 1, 2, NAN, HUGE, SUBNORMAL, 0, 3), [[[[[1.0]]]]]),
            _cube(INF, 1, 2, NAN, HUGE, SUBNORMAL, 0, 3),
            _ONE_TAP,
        )
    ],
    # pooling
    "max_pool1d": [
        Vector((_line(NAN, 1.0, 2.0, 2.0),), _line(NAN, 2.0)),
        Vector((_line(-INF, -INF, INF, HUGE),), _line(-INF, INF)),
        Vector((_line(0.0, SUBNORMAL),), _line(SUBNORMAL)),
    ],
    "pooling": [
        Vector((_square(NAN, 1.0, 2.0, 3.0),), [[[[NAN]]]]),
        Vector((_square(-INF, -INF, -INF, -HUGE),), [[[[-HUGE]]]]),
        Vector((_square(3.0, 1.0, 3.0, 2.0),), [[[[3.0]]]]),
        Vector((_square(0.0, SUBNORMAL, 0.0, 0.0),), [[[[SUBNORMAL]]]]),
    ],
    "max_pool3d": [
        Vector((_cube(NAN, 1, 2, 3, 4, 5, 6, 7),), [[[[[NAN]]]]]),
        Vector((_cube(INF, 1, 2, 3, HUGE, 5, SUBNORMAL, 7),), [[[[[INF]]]]]),
        Vector((_cube(7, 1, 2, 7, 4, 5, 6, 7),), [[[[[7.0]]]]]),
    ],
    "avg_pool1d": [
        Vector((_line(NAN, 1.0, INF, 2.0),), _line(NAN, INF)),
        Vector((_line(INF, -INF, HUGE, -HUGE),), _line(NAN, 0.0)),
        Vector((_line(SUBNORMAL, SUBNORMAL, 1.5e308, 1.5e308),), _line(SUBNORMAL, 1.5e308)),
    ],
    "avg_pool2d": [
        Vector((_square(NAN, 1.0, 2.0, 3.0),), [[[[NAN]]]]),
        Vector((_square(INF, 1.0, 2.0, 3.0),), [[[[INF]]]]),
        Vector((_square(1.5e308, 1.5e308, 1.5e308, 1.5e308),), [[[[1.5e308]]]]),
        Vector((_square(SUBNORMAL, SUBNORMAL, SUBNORMAL, SUBNORMAL),), [[[[SUBNORMAL]]]]),
    ],
    "avg_pool3d": [
        Vector((_cube(NAN, 1, 2, 3, 4, 5, 6, 7),), [[[[[NAN]]]]]),
        Vector((_cube(INF, 1, 2, 3, 4, 5, 6, 7),), [[[[[INF]]]]]),
        Vector((_cube(*[1.5e308] * 8),), [[[[[1.5e308]]]]]),
        Vector((_cube(*[SUBNORMAL] * 8),), [[[[[SUBNORMAL]]]]]),
    ],
    "lp_pool2d": [
        Vector((_square(NAN, 1.0, 2.0, 3.0),), [[[[NAN]]]]),
        Vector((_square(-INF, 1.0, 2.0, 3.0),), [[[[INF]]]]),
        Vector((_square(3e300, 4e300, 0.0, 0.0),), [[[[5e300]]]]),
        Vector((_square(3 * SUBNORMAL, 4 * SUBNORMAL, 0.0, 0.0),), [[[[5 * SUBNORMAL]]]]),
    ],
    "global_avg_pool2d": [
        Vector((_square(NAN, 1.0, 2.0, 3.0),), [[NAN]]),
        Vector((_square(INF, 1.0, 2.0, 3.0),), [[INF]]),
        Vector((_square(1.5e308, 1.5e308, 1.5e308, 1.5e308),), [[1.5e308]]),
        Vector((_square(SUBNORMAL, SUBNORMAL, SUBNORMAL, SUBNORMAL),), [[SUBNORMAL]]),
    ],
    # Twice as large, the places are -1/4, 1/4, 3/4 and 5/4, and the first and last are held at the edge: a NaN reaches
    # three of four places, on either side, and no place through a weight of 0.
    "resize_bilinear": [
        Vector(([[[[NAN], [1.0]]]],), [[[[NAN], [NAN], [NAN], [1.0]], [[NAN], [NAN], [NAN], [1.0]]]]),
        Vector(([[[[1.0], [NAN]]]],), [[[[1.0], [NAN], [NAN], [NAN]], [[1.0], [NAN], [NAN], [NAN]]]]),
        Vector(([[[[INF], [1.0]]]],), [[[[INF], [INF], [INF], [1.0]], [[INF], [INF], [INF], [1.0]]]]),
        Vector(([[[[HUGE], [HUGE]]]],), [[[[HUGE]] * 4] * 2]),
        Vector(([[[[SUBNORMAL]]]],), [[[[SUBNORMAL]] * 2] * 2]),
    ],
    "resize_nearest": [
        Vector(([[[[NAN], [INF]]]],), [[[[NAN], [NAN], [INF], [INF]]] * 2]),
        Vector(([[[[HUGE], [SUBNORMAL]]]],), [[[[HUGE], [HUGE], [SUBNORMAL], [SUBNORMAL]]] * 2]),
    ],
    # losses, (prediction, target)
    "bce_with_logits": [
        *_pairs(
            (0.0, 0.5, _LN2),
            (INF, 1.0, 0.0),
            (-INF, 0.0, 0.0),
            (-INF, 1.0, INF),
            (INF, 0.0, INF),
            (NAN, 1.0, NAN),
            (HUGE, 0.0, HUGE),
            (-HUGE, 1.0, HUGE),
            (SUBNORMAL, 1.0, _LN2),
        )
    ],
    "cross_entropy_with_logits": [
        Vector(([[0.0, 0.0]], [[1.0, 0.0]]), [_LN2]),
        Vector(([[-INF, 0.0]], [[0.0, 1.0]]), [0.0]),
        Vector(([[-INF, 0.0]], [[1.0, 0.0]]), [INF]),
        Vector(([[NAN, 0.0]], [[0.0, 1.0]]), [NAN]),
        Vector(([[HUGE, 0.0]], [[0.0, 1.0]]), [HUGE]),
        Vector(([[0.0, 0.0]], [[0.0, 0.0]]), [0.0]),
        Vector(([[SUBNORMAL, 0.0]], [[0.5, 0.5]]), [_LN2]),
    ],
    "huber": _pairs(
        (1.0, 0.0, 0.5),
        (3.0, 1.0, 1.5),
        (INF, 0.0, INF),
        (INF, INF, NAN),
        (NAN, 0.0, NAN),
        (HUGE, 0.0, HUGE),
        (SUBNORMAL, 0.0, 0.0),
    ),
    "smooth_l1": _pairs(
        (1.0, 0.0, 0.5),
        (3.0, 1.0, 1.5),
        (INF, 0.0, INF),
        (INF, INF, NAN),
        (NAN, 0.0, NAN),
        (HUGE, 0.0, HUGE),
        (SUBNORMAL, 0.0, 0.0),
    ),
    "kl_div": _pairs(
        (0.0, 1.0, 0.0),
        (-INF, 0.0, 0.0),
        (-INF, 1.0, INF),
        (NAN, 1.0, NAN),
        (-HUGE, 1.0, HUGE),
        (0.0, SUBNORMAL, SUBNORMAL * -713.8013788281542),
    ),
    "poisson_nll": _pairs(
        (0.0, 1.0, 1.0),
        (INF, 1.0, INF),
        (-INF, 1.0, INF),
        (-INF, 0.0, 0.0),
        (NAN, 1.0, NAN),
        (-HUGE, 1.0, HUGE),
        (SUBNORMAL, 1.0, 1.0),
    ),
    "mse": _pairs(
        (3.0, 1.0, 4.0), (INF, 0.0, INF), (INF, INF, NAN), (NAN, 0.0, NAN), (HUGE, HUGE, 0.0), (SUBNORMAL, 0.0, 0.0)
    ),
    "soft_margin": _pairs(
        (0.0, 1.0, _LN2), (INF, 1.0, 0.0), (INF, -1.0, INF), (NAN, 1.0, NAN), (HUGE, -1.0, HUGE), (SUBNORMAL, 1.0, _LN2)
    ),
    "bce": _pairs(
        (0.5, 0.5, _LN2),
        (0.25, 0.0, -math.log(0.75)),
        (NAN, 1.0, NAN),
        (1.0, 1.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 1.0, INF),
    ),
}
#: Where an edge is outside of the domain, or nothing is said there.
NOT_ASKED: dict[str, dict[str, str]] = {
    "bce": {"infinity": "a probability", "huge": "a probability", "subnormal": "probabilities are 1e-6 at least"},
}
