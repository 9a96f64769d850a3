"""Initializers and variables: what fills the weights of every layer, and is no part of a case anywhere else.

Each case is a program of three calls: twice with one seed and once with another, so that what is drawn shows whether it
depends on its seed alone. Variables are given arrays, and then others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import CALLED, SEVERAL, ApiCall, ArrayArg, TupleArg
from ...core.case import Case
from ...core.policies import POLICIES
from ...core.procedure import Goal, Procedure
from ...operators.functions.drawn_calls import ADD_WEIGHT, ASSIGNED, LAYER, VARIABLE
from ...operators.functions.initializers import INITIALIZERS, PREFIX, SEEDED

#: A matrix, a wide one, kernels that are moved over an input, a vector: fans are told from the shape. Enough numbers
#: for a mean.
_SHAPES = ((64, 96), (96, 16), (3, 3, 8, 16), (5, 16, 12), (512,))
_DTYPES = ("float32", "float16", "bfloat16", "float64")
_NAMES = tuple(INITIALIZERS)
_SCALES = (0.5, 1.0, 2.0)
#: Initializers that make a matrix, and what they are not asked for.
_MATRICES = {"Identity": 2, "Orthogonal": 2}


def initializer_cases(seed: int) -> Iterator[Case]:
    """Initializers in turn, each called, as a layer's weight, as a variable; in between, variables that are assigned.

    The n-th case depends on the seed and n alone.
    """
    index = 0
    while True:
        rng = np.random.default_rng([seed, 0x1217, index])
        turn, place = divmod(index, 2 * len(_NAMES))
        name = _NAMES[place // 2]
        if place % 2:
            yield _assigned(turn + place // 2, rng)
        else:
            yield _initialized(name, turn + place // 2, rng)
        index += 1


def _initialized(name: str, turn: int, rng: np.random.Generator) -> Case:
    """One initializer, in the way of its turn."""
    shape = _shape(name, rng)
    seed = int(rng.integers(2**16))
    arguments = _arguments(name, rng)
    seeds = (seed, seed, seed + 1) if name in SEEDED else (None, None)
    calls = [_call(name, turn, {**arguments, **({} if s is None else {"seed": s})}, shape) for s in seeds]
    return _program(calls, {}, seed)


def _call(name: str, turn: int, arguments: dict[str, Any], shape: tuple[int, ...]) -> ApiCall:
    made = ApiCall(PREFIX + name, (), arguments)
    where, dtype = turn % 3, _DTYPES[turn // 3 % len(_DTYPES)]
    if where == 0:
        return ApiCall(CALLED, (made,), {"shape": TupleArg(shape), "dtype": dtype})
    if where == 1:
        return ApiCall(VARIABLE, (), {"initializer": made, "shape": TupleArg(shape), "dtype": dtype})
    policies = list(POLICIES)
    layer = ApiCall(LAYER, (), {"dtype": policies[turn // 3 % len(policies)]})
    return ApiCall(ADD_WEIGHT, (layer,), {"initializer": made, "shape": TupleArg(shape)})


def _shape(name: str, rng: np.random.Generator) -> tuple[int, ...]:
    fitting = [shape for shape in _SHAPES if name not in _MATRICES or len(shape) >= 2]
    fitting = [shape for shape in fitting if name != "Identity" or len(shape) == 2]
    return fitting[int(rng.integers(len(fitting)))]


def _arguments(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Of three times, the defaults once."""
    if rng.random() < 1 / 3:
        return {}
    scale = float(rng.choice(_SCALES))
    mean = round(float(rng.uniform(-2, 2)), 2)
    given: dict[str, dict[str, Any]] = {
        "Constant": {"value": mean},
        "Identity": {"gain": scale},
        "Orthogonal": {"gain": scale},
        "RandomNormal": {"mean": mean, "stddev": scale},
        "TruncatedNormal": {"mean": mean, "stddev": scale},
        "RandomUniform": {"minval": mean, "maxval": mean + scale},
        "VarianceScaling": {
            "scale": scale,
            "mode": str(rng.choice(("fan_in", "fan_out", "fan_avg"))),
            "distribution": str(rng.choice(("truncated_normal", "untruncated_normal", "uniform"))),
        },
    }
    return given.get(name, {})


def _assigned(turn: int, rng: np.random.Generator) -> Case:
    """Variables of an array, and what becomes of them when they are given another one.

    Quarters have few digits: sums are exact in every dtype, so that it does not matter in which they are added. Each
    variable has an array of its own, because one may keep what it is given.
    """
    x, y = (rng.integers(-16, 17, (3, 5)).astype(np.float32) / 4 for _ in range(2))
    dtype = _DTYPES[turn % len(_DTYPES)]
    methods = ("", *ASSIGNED)
    arrays = {f"x{place}": x.copy() for place in range(len(methods))}
    made = [ApiCall(VARIABLE, (ArrayArg(name),), {"dtype": dtype}) for name in arrays]
    changed = [
        ApiCall(method, (one, ArrayArg("y"))) if method else one for method, one in zip(methods, made, strict=True)
    ]
    return _program(changed, {**arrays, "y": y}, turn)


def _program(calls: list[ApiCall], inputs: dict[str, Array], seed: int) -> Case:
    return Case(ApiCall(SEVERAL, tuple(calls)), Procedure(goal=Goal.CALL), inputs=inputs, seed=seed)
