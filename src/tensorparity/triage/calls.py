"""Who is wrong in an operator's call: decision 5 on one input.

A target beyond K is wrong where an implementation that shares no code with it, or a stable evaluation of the formula
in the same dtype, stays within. Where none does, the input is ill-conditioned and blames nobody. On NaN and infinities
there is nothing to round: an answer is right or infinitely wrong, and only another implementation convicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.finding import Class
from ..operators.calls.spec import Operator
from ..operators.rounding import K
from ..oracles.precision import measure_rows, precise_units, stable_errors
from ..oracles.special_values import missed, special
from .ballots import ballot_of

#: Numbers of an output that 50 digits are spent on.
_PRECISELY = 1024


@dataclass(frozen=True, slots=True)
class CallBlame:
    """The class, who stays within the bound, and the error of every target in units."""

    klass: Class | None
    suspects: tuple[str, ...]
    within: tuple[str, ...]
    units: Mapping[str, float]
    stable: float


def blame_call(operator: Operator, case: Case, dtype: str, outputs: Mapping[str, Array], accused: str) -> CallBlame:
    """Judge one target on one input.

    Args:
        outputs: of every target that answered, for this input alone.
        accused: the target whose error is in question; those of its implementation are accused with it.
    """
    assert isinstance(case.subject, ApiCall)
    arrays = operator.operand_arrays(case.inputs)
    params = dict(case.subject.kwargs)
    with np.errstate(all="ignore"):
        truth = operator.evaluate(params, arrays)
    units = {
        target: _units(operator, params, arrays, output, truth, dtype)
        for target, output in outputs.items()
        if output.shape == np.shape(truth.value)
    }
    if accused not in units or not units[accused] > K:
        return CallBlame(None, (), (), units, 0.0)
    ballot = ballot_of(accused)
    suspects = tuple(target for target, error in units.items() if error > K and ballot_of(target) == ballot)
    within = tuple(target for target, error in units.items() if error <= K and ballot_of(target) != ballot)
    if special(arrays):
        return CallBlame(Class.DEFECT if within else None, suspects, within, units, np.inf)
    stable = float(stable_errors(operator, params, arrays, truth, dtype).units.max(initial=0.0))
    if within or stable <= K:
        return CallBlame(Class.DEFECT, suspects, within, units, stable)
    return CallBlame(Class.PRECISION, (), (), units, stable)


def _units(
    operator: Operator, params: dict[str, object], arrays: list[Array], output: Array, truth: object, dtype: str
) -> float:
    """In float64 arithmetic; what exceeds K in float64 itself is asked of 50 digits, which alone can tell."""
    if special(arrays):
        return np.inf if missed(operator, params, arrays, output, dtype).any() else 0.0
    found = float(measure_rows(output, truth, dtype).units.max(initial=0.0))  # type: ignore[arg-type]
    if dtype == "float64" and found > K / 4 and output.size <= _PRECISELY:
        return precise_units(operator, params, arrays, output, dtype)
    return found
