"""What differs between two answers to one call, row by row: values, shapes, dtypes, and who refuses it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, dtype_name
from ..core.channels import is_exact, same
from ..core.finding import Class
from ..core.messages import gist
from ..core.outcome import Failure, Outcome
from ..core.rule import Agreement, Demands
from ..core.verdict import Kind
from .call_rows import Row
from .measure.roundoff import output_units
from .statements import BY_NOTHING

SIDES = ("the plain call", "the other side")


@dataclass(frozen=True)
class Difference:
    """What differs in one row.

    Args:
        name: of the output or gradient; empty where it is about all.
        wrong: which side is, where that is known.
        ended: how the side that gave nothing ended.
        allowed: absolute, what rounding explains.
        both_off: both sides are off, so that nobody is blamed.
    """

    row: int | None
    said: str
    kind: Kind = Kind.EQUIVALENCE
    name: str = ""
    apart: float | None = None
    relative: float | None = None
    wrong: int | None = None
    ended: Outcome | None = None
    klass: Class = Class.DEFECT
    allowed: float = 0.0
    judged_by: str = BY_NOTHING
    both_off: bool = False


_CLASSES = (Class.DEFECT, Class.PRECISION, Class.SPECIFICATION, Class.UNSUPPORTED, Class.FLAKY)


def rank(difference: Difference) -> tuple[int, int, float]:
    """Defects first, then what cannot be rounding, then the largest."""
    certain = difference.kind in (Kind.SHAPE, Kind.DTYPE, Kind.NAN)
    return _CLASSES.index(difference.klass), 0 if certain else 1, -(difference.apart or 0.0)


def compared(place: int | None, a: Row, b: Row, demands: Demands, fixed: str | None = None) -> Difference | None:
    """What differs at first sight in one row; None where nothing does.

    Args:
        fixed: the one result that has a right value, where the others are free.
    """
    if a.failure or b.failure:
        return _refused(place, a.failure, b.failure)
    if demands.only and any(
        _overflows(array) for name, array in a.answers.items() if not name.startswith(demands.only)
    ):
        return None  # where a result leaves its type's range, there is nothing to be pulled back
    names = [name for name in a.answers if name in b.answers and name.startswith(demands.only)]
    missing = {name for name in set(a.answers) ^ set(b.answers) if name.startswith(demands.only)}
    if any(not name.startswith("gradient:") for name in missing):
        return Difference(place, f"{len(a.answers)} results on one side, {len(b.answers)} on the other")
    names = [name for name in names if fixed in (None, name)]
    found = [_of_one(place, name, a.answers[name], b.answers[name], demands) for name in names]
    return min((difference for difference in found if difference is not None), key=rank, default=None)


def _overflows(array: Array) -> bool:
    return array.dtype.kind not in "USOb" and not bool(np.isfinite(_wide(array)).all())


def _refused(place: int | None, first: Failure | None, second: Failure | None) -> Difference | None:
    if first is not None and second is not None:
        return None
    side = 0 if first is not None else 1
    failure = first or second
    assert failure is not None
    said = f"{SIDES[side]} alone raises {failure.type}: {gist(failure.message)}"
    return Difference(place, said, Kind.ERROR, wrong=side)


def _of_one(place: int | None, name: str, a: Array, b: Array, demands: Demands) -> Difference | None:
    if a.shape != b.shape and name.startswith("gradient:"):
        return None  # with respect to inputs that the two sides have each of their own
    if a.shape != b.shape:
        return Difference(place, f"{_called(name)}: shapes {a.shape} and {b.shape}", Kind.SHAPE, name)
    if demands.dtypes and dtype_name(a) != dtype_name(b):
        return Difference(place, f"{_called(name)}: dtypes {dtype_name(a)} and {dtype_name(b)}", Kind.DTYPE, name)
    if demands.agreement is Agreement.FORM:
        return None
    if demands.narrow:
        a, b = _within_reach(a, b)
    alike = _same_bits(a, b) if demands.agreement is Agreement.BITS else same(a, b)
    if alike.all():
        return None
    return _of_values(place, name, a, b, demands)


def _called(name: str) -> str:
    """An output by its number, a gradient by the input that it belongs to."""
    of_input = name.removeprefix("gradient:").removeprefix("input:")
    return f"the gradient by {of_input}" if of_input != name else f"result {name}" if name.isdigit() else name


def _within_reach(a: Array, b: Array) -> tuple[Array, Array]:
    """Both answers with what the second's type cannot hold left out: large numbers, and fractions of whole ones."""
    if b.dtype.kind not in "iu" or a.dtype.kind not in "iuf":
        return a, b
    info = np.iinfo(b.dtype)
    with np.errstate(all="ignore"):
        fits = (a >= info.min) & (a <= info.max) & (a == np.rint(a) if a.dtype.kind == "f" else True)
    return np.where(fits, a, 0), np.where(fits, b, 0)


def _same_bits(a: Array, b: Array) -> Array:
    """Equal, and zeros of one sign."""
    alike = same(a, b)
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        alike = alike & ((np.signbit(a) == np.signbit(b)) | np.isnan(a.astype(np.float64)))
    return alike


def _of_values(place: int | None, name: str, a: Array, b: Array, demands: Demands) -> Difference | None:
    if is_exact(a) and is_exact(b) and a.dtype.kind in "USO":
        return Difference(place, f"{_called(name)}: other text", name=name, apart=1.0)
    with np.errstate(all="ignore"):
        x, y = _wide(a), _wide(b)
        apart = np.where(same(a, b), 0.0, np.abs(x - y))
        odd = ~np.isfinite(apart)
        scale = float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) or 1.0
        most = float(apart[~odd].max(initial=0.0))
    if odd.any():
        return Difference(place, f"{_called(name)}: NaN or infinity on one side only", Kind.NAN, name, np.inf)
    exact = demands.agreement is Agreement.BITS
    if exact and not most:
        return Difference(place, f"{_called(name)}: zeros of another sign", name=name, apart=0.0)
    if most <= max(demands.within, demands.relative * scale) or _is_close_picture(apart, demands.decibels):
        return None
    if not exact and output_units(a, b) <= 1.0:
        return None
    said = f"{_called(name)}: apart by {most:.3g}, its largest number is {scale:.3g}"
    return Difference(place, said, name=name, apart=most, relative=most / scale)


def _is_close_picture(apart: Array, decibels: float) -> bool:
    """Whether two pictures of 256 levels are within a peak signal-to-noise ratio."""
    if not decibels or not apart.size:
        return False
    error = float(np.mean(np.square(apart)))
    return bool(error <= 255.0**2 / 10.0 ** (decibels / 10.0))


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
