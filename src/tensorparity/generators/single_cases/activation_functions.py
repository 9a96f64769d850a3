"""Cases of activations called as functions: inputs of several ranks, dtypes and styles.

Floats of all dtypes are numbers of the narrower ones as far as formulas change there; float64 has those of float32,
because two of Keras' backends narrow it. Infinities are asked about where a formula and its limit say the same, and
NaN where the formula is not told by cases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.arrays import Array, dtype_named
from ...core.case import ApiCall, ArrayArg, Case
from ...core.procedure import Goal, Procedure
from ...operators.functions.activation_calls import ActivationSpec
from ...operators.reference.rounding import largest
from ...operators.spec import Params

STYLES = ("normal", "edges", "large", "huge", "small", "ties", "special", "empty")
#: Half of the cases are of float32.
_DTYPES = ("float32", "float32", "float32", "float16", "bfloat16", "float64")
_SHAPES = ((6,), (4, 6), (2, 6, 4), (2, 4, 1, 6))
_EMPTY = ((0,), (3, 0), (0, 2, 3))
_PLAIN = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0)
#: The smallest normal number of float32, and one below it, which some libraries take for 0 by their documentation.
_SMALLEST = (1.2e-38, -1.2e-38, 1e-40, 1e-20, -1e-20, 1e-5, -1e-7, 6e-8)
#: Infinity, approached.
_NEAR, _NEARER = 1e30, 1e60

_Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def draw_style(spec: ActivationSpec, rng: np.random.Generator) -> str:
    """Normal numbers a third of the time, else one of the others."""
    others = [style for style in STYLES[1:] if not (spec.along_axis and style in ("empty", "huge"))]
    return "normal" if rng.random() < 1 / 3 else others[int(rng.integers(len(others)))]


def activation_case(
    spec: ActivationSpec, params: Params, rng: np.random.Generator, *, style: str = "normal", dtype: str | None = None
) -> Case:
    """The function with these arguments on one array.

    Args:
        dtype: of the array; drawn by default.
    """
    dtype = dtype or _DTYPES[int(rng.integers(len(_DTYPES)))]
    shapes = _EMPTY if style == "empty" else tuple(shape for shape in _SHAPES if _fits(spec, params, shape))
    shape = shapes[int(rng.integers(len(shapes)))]
    values = _within_dtype(_draw_values(spec, params, rng, shape, style), dtype)
    if style == "special":
        values = _with_specials(spec, params, rng, values)
    inputs = {"x": values.astype(dtype_named(dtype))}
    call = ApiCall(spec.api, (ArrayArg("x"),), params)
    return Case(call, Procedure(goal=Goal.CALL), inputs=inputs, seed=int(rng.integers(2**31)))


def _fits(spec: ActivationSpec, params: Params, shape: tuple[int, ...]) -> bool:
    if not spec.along_axis:
        return True
    axis = spec.complete(params)["axis"]
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return bool(spec.invalid(params))  # whatever the shape, it is refused
    return shape[axis] % 2 == 0 or not spec.halves


def _draw_values(
    spec: ActivationSpec, params: Params, rng: np.random.Generator, shape: tuple[int, ...], style: str
) -> Array:
    normal = rng.normal(0.0, 2.0, shape)
    own = [float(value) for value in spec.complete(params).values() if isinstance(value, (int, float))]
    points = (*_PLAIN, *spec.points, *own, *(-value for value in own))
    among = rng.random(shape) < 0.5
    found = {
        "edges": np.where(rng.random(shape) < 0.8, rng.choice(points, shape), normal),
        "large": np.where(among, normal * 1e4, normal),
        "huge": np.where(among, np.sign(normal) * rng.choice((1e4, 1e10, 1e19, 1e30, 1.7e38), shape), normal),
        "small": np.where(among, rng.choice(_SMALLEST, shape), normal * 1e-4),
        "ties": rng.integers(-2, 3, shape) / 2.0,
    }
    return np.asarray(found.get(style, normal), dtype=np.float64)


def _within_dtype(values: Array, dtype: str) -> Array:
    """Within half of what the dtype can hold, and numbers of float32 at most."""
    most = largest("float32" if dtype == "float64" else dtype) / 2.0
    return np.clip(values, -most, most).astype(np.float32).astype(np.float64)


def _with_specials(spec: ActivationSpec, params: Params, rng: np.random.Generator, values: Array) -> Array:
    if not spec.by_cases:
        values = np.where(rng.random(values.shape) < 0.15, np.nan, values)
    chosen = rng.random(values.shape)
    for low, high in ((0.15, 0.15), (0.15, 0.0), (0.0, 0.15)):
        found = np.where(chosen < low, -np.inf, np.where(chosen > 1.0 - high, np.inf, values))
        if _is_settled_at_infinity(spec, params, found):
            return found
    return values


def _is_settled_at_infinity(spec: ActivationSpec, params: Params, values: Array) -> bool:
    """Whether the formula, taken literally at infinities, gives what it tends to."""

    def value(size: float) -> Array:
        return spec.evaluate(params, (np.where(np.isinf(values), np.copysign(size, values), values),)).value

    literal, near, nearer = value(np.inf), value(_NEAR), value(_NEARER)
    grows = np.abs(nearer) > 1e3 * np.abs(near)
    vanishes = np.abs(nearer) < 1e-20
    limit = np.where(grows & (np.abs(nearer) > _NEAR), np.copysign(np.inf, nearer), np.where(vanishes, 0.0, nearer))
    return bool(np.allclose(literal, limit, rtol=1e-9, atol=1e-12, equal_nan=True))
