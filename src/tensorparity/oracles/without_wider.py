"""Answers in float64, of which no run has more digits.

What is asked: the catalogue's reference, the library that defines the function, or how far moving the inputs by their
own last digits takes an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall
from ..core.case import Case
from ..core.oracle import Check
from ..operators.functions.peers import peer_of
from ..operators.functions.recognised import recognised
from ..operators.reference.rounding import K
from .base import Asking
from .by_name import equals_by_name, value_by_name
from .call_rows import rows_of
from .measure.neighbourhood import Neighbourhood, in_float64, neighbourhood

#: The reference is computed in float64 as well, and loses as many digits again.
_OF_THE_REFERENCE = 4.0
_FIRST = "0"


def is_widest(given: Sequence[Array]) -> bool:
    """Whether answers have as many digits as any run."""
    return all(dtype_name(array) in ("float64", "complex128") for array in given)


def off_what_is_known(case: Case, name: str, given: Sequence[Array]) -> list[int] | None:
    """The places of the answers that are not what the catalogue, or the library that defines the function, says.

    None where neither speaks of the call.
    """
    call = case.subject
    if name != _FIRST or not isinstance(call, ApiCall) or case.procedure.derivative:
        return None
    known = recognised(case)
    if known is not None:
        truth = known.evaluate()
        allowed = _OF_THE_REFERENCE * K * unit_roundoff("float64") * (np.abs(truth.value) + truth.kappa)
        return [place for place, array in enumerate(given) if not _is_near(array, truth.value, allowed)]
    value = value_by_name(case) if peer_of(call.api) is not None else None
    if value is None:
        return None
    return [place for place, array in enumerate(given) if not equals_by_name(array, value)]


def _is_near(array: Array, value: Array, allowed: Array) -> bool:
    if array.shape != value.shape:
        return True  # of another form: there is nothing to measure
    with np.errstate(all="ignore"):
        near = (np.abs(array - value) <= allowed) | (array == value) | ~np.isfinite(value)
    return bool(near.all())


def around_in_float64(side: Case, target: str, name: str, shape: tuple[int, ...]) -> Asking[Neighbourhood | None]:
    """What an answer may be, by how far it moves with the last digits of its inputs; None without such a run."""
    moved = in_float64(side, side.seed, computed_in="float64")
    if moved is None or not _has_wide_input(moved.inputs):
        return None
    (answer,) = yield [Check(moved, (target,))]
    outcome = answer.outcomes[target]
    rows = rows_of(moved, outcome) if outcome.completed else []
    values = [row.answers[name] for row in rows if name in row.answers]
    if not values or len(values) != len(rows) or values[0].shape != shape:
        return None
    return neighbourhood(values, dtype_name(values[0]))


def _has_wide_input(inputs: Mapping[str, Array]) -> bool:
    return any(is_floating(dtype_name(array)) or array.dtype.kind == "c" for array in inputs.values())
