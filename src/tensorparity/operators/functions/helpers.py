"""How families write their declarations: elementwise functions and calls that need no translation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ...core.arrays import Array, dtype_named, unit_roundoff
from ..reference.numbers import Numbers
from ..reference.rounding import K
from ..spec import Evaluation, Parameter, Params
from .spec import DTYPE, DTYPES, Binding, Call, Operand, Operator, Reference, Sizes, Tensor, call

X = Tensor("x")
Elementwise = Callable[[Numbers, Array], Array]

#: Relative to x: K roundings of bfloat16, a power of two.
_STEP = K * unit_roundoff("bfloat16")

#: Where a public name begins, by library.
ROOTS = {"tensorflow": "tensorflow.", "torch": "torch.", "jax": "jax.", "keras": "keras.ops.", "onnx": "onnx."}


def plain(api: str, *operands: Tensor, **kwargs: Any) -> Binding:
    """The function of that name on the operands, with constant keyword arguments."""
    return lambda params, sizes: call(api, *operands, **kwargs)


def with_params(api: str, *operands: Tensor, **names: str) -> Binding:
    """Keyword arguments by the operator's own parameters: ``axis="axis"``."""
    return lambda params, sizes: call(api, *operands, **{key: params[name] for key, name in names.items()})


def bindings(operands: tuple[Tensor, ...], names: Mapping[str, str | Binding]) -> dict[str, Binding]:
    """Names without their root, or whole bindings, by library."""
    return {
        library: plain(ROOTS[library] + given, *operands) if isinstance(given, str) else given
        for library, given in names.items()
    }


def elementwise(
    name: str,
    formula: str,
    value: Elementwise,
    slope: Elementwise,
    *,
    family: str,
    own: Elementwise | None = None,
    low: float = -np.inf,
    high: float = np.inf,
    points: tuple[float, ...] = (0.0,),
    without: tuple[float, ...] = (),
    dtypes: tuple[str, ...] = DTYPES,
    unlike: Mapping[str, str] | None = None,
    overflows: Mapping[str, str] | None = None,
    by_cases: bool = False,
    **names: str | Binding,
) -> Operator:
    """A function of one number; ``slope`` is its derivative, ``own`` what cancels in its documented formula."""

    def reference(m: Numbers, params: Params, x: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            steep, true = slope(m, x), value(m, x)
            kappa = np.abs(x * steep)
            endless = _infinite(steep) & ~_infinite(true)
            if endless.any():
                kappa = np.where(endless, _over_a_step(lambda at: value(m, at), x, true), kappa)
            if own is not None:
                kappa = kappa + np.abs(own(m, x))
            return Evaluation(true, kappa)

    return Operator(
        name,
        family,
        formula,
        (Operand("x", low=low, high=high, points=points, without=without),),
        reference,
        bindings((X,), names),
        dtypes=dtypes,
        unlike=unlike or {},
        overflows=overflows or {},
        by_cases=by_cases,
        conditioned=own is None,
    )


def _infinite(array: Array) -> Array:
    return np.isinf(np.asarray(array).astype(np.float64))


def _over_a_step(value: Callable[[Array], Array], x: Array, true: Array) -> Array:
    """What a step of x changes, over the step: finite where the slope is not, as at the ends of the arc sine.

    The step is as wide as the roundings that K allows in the narrowest dtype, and so the quotient no larger than that
    of any other; it is taken to the side on which the function goes on.
    """
    below, above = (np.abs(value(x * (1 + side)) - true) / _STEP for side in (-_STEP, _STEP))
    return np.where(np.isfinite(below.astype(np.float64)), below, above)


def unseen_length(params: Params) -> float:
    """A power of two below the length of every vector but zero: an epsilon that shows in no result of its dtype.

    Numbers that are squared and added up are drawn from the middle of the range, well above it.
    """
    info = ml_dtypes.finfo(dtype_named(str(params[DTYPE])))  # type: ignore[no-untyped-call]
    return 2.0 ** (int(info.minexp) // 2 + 1)


class Family(dict[str, Operator]):
    """Operators by name, also as attributes: the registry's dotted paths end in them."""

    def __getattr__(self, name: str) -> Operator:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no operator {name!r} in this family") from None


def family(*operators: Operator) -> Family:
    """A family; two operators of one name would hide each other."""
    found = Family({operator.name: operator for operator in operators})
    if len(found) != len(operators):
        raise ValueError("two operators of one name")
    return found


__all__ = [
    "DTYPES",
    "ROOTS",
    "Binding",
    "Call",
    "Elementwise",
    "Evaluation",
    "Family",
    "Numbers",
    "Params",
    "Operand",
    "Operator",
    "Parameter",
    "Reference",
    "Sizes",
    "Tensor",
    "X",
    "bindings",
    "call",
    "elementwise",
    "family",
    "plain",
    "unseen_length",
    "with_params",
]
