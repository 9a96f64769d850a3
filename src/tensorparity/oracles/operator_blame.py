"""Who is wrong in an operator's call: decision 5 on one input.

A target beyond K is wrong where an implementation that shares no code with it, or a stable evaluation of the formula
in the same dtype, stays within. Where none does, the input is ill-conditioned and blames nobody. On NaN and infinities
there is nothing to round: an answer is right or infinitely wrong, and only another implementation convicts.

All are measured against one truth: float64 arithmetic, or 50 digits where float64 itself is in question, which also
tell what a careful evaluation in float64 can reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.finding import Class
from ..core.traits import Traits
from ..operators.functions.spec import Operator
from ..operators.reference.digits import Imprecise
from ..operators.reference.rounding import K
from ..operators.spec import Evaluation, Params
from .measure.operator_errors import measure_rows, measure_targets, stable_value, units_to
from .measure.special_values import special, wrong_elements

#: Numbers of an output that 50 digits are spent on.
_PRECISELY = 4096


@dataclass(frozen=True, slots=True)
class CallBlame:
    """The class, who stays within the bound, and the error of every target in units.

    Args:
        stable: the error of a stable evaluation in the dtype.
        note: why float64 was judged by float64, if it was.
    """

    klass: Class | None
    suspects: tuple[str, ...]
    within: tuple[str, ...]
    units: Mapping[str, float]
    stable: float
    note: str = ""


def blame_call(
    operator: Operator, case: Case, dtype: str, outputs: Mapping[str, Array], accused: str, traits: Traits
) -> CallBlame:
    """Judge one target on one input.

    Args:
        outputs: of every target that answered, for this input alone.
        accused: the target whose error is in question; those of its implementation are accused with it.
    """
    judge = _Judge(accused, traits, operator.name)
    assert isinstance(case.subject, ApiCall)
    arrays = operator.operand_arrays(case.inputs)
    params = dict(case.subject.kwargs)
    with np.errstate(all="ignore"):
        truth = operator.evaluate(params, arrays)
    answers = {target: output for target, output in outputs.items() if output.shape == np.shape(truth.value)}
    if special(arrays):
        wrong = {t: wrong_elements(operator, params, arrays, output, dtype).any() for t, output in answers.items()}
        return judge.blamed({t: np.inf if found else 0.0 for t, found in wrong.items()}, np.inf, exact=True)
    rows = measure_targets(operator, answers, truth, dtype, traits)
    units = {target: float(errors.units.max(initial=0.0)) for target, errors in rows.items()}
    if not units.get(accused, 0.0) > (K / 4 if dtype == "float64" else K):
        return CallBlame(None, (), (), units, 0.0)
    stable = stable_value(operator, params, arrays, dtype)
    if dtype != "float64":
        return judge.blamed(units, _units(truth, stable, dtype))
    try:
        precise = _precisely(operator, params, arrays, np.size(truth.value))
    except Imprecise as error:
        found = judge.blamed(units, _units(truth, stable, dtype))
        return replace(found, note=f"judged by float64 alone: no value in 50 digits ({error})")
    units = {target: units_to(precise, output, dtype) for target, output in answers.items()}
    return judge.blamed(units, units_to(precise, stable, dtype))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Decision 5 on errors in units; without rounding (``exact``) nobody is ill-conditioned."""

    accused: str
    traits: Traits
    op: str

    def blamed(self, units: Mapping[str, float], stable: float, *, exact: bool = False) -> CallBlame:
        if not units.get(self.accused, 0.0) > K:
            return CallBlame(None, (), (), units, 0.0)
        suspects = tuple(target for target, error in units.items() if error > K and self._shares(target))
        right = (target for target, error in units.items() if error <= K and not self._shares(target))
        within = tuple(sorted(right, key=lambda target: units[target]))  # the best testify
        if within or stable <= K:
            return CallBlame(Class.DEFECT, suspects, within, units, stable)
        if exact:
            return CallBlame(None, suspects, within, units, stable)
        return CallBlame(Class.PRECISION, (), (), units, stable)

    def _shares(self, target: str) -> bool:
        """Whether it runs the code of the accused."""
        return self.traits.implementation(target, self.op) == self.traits.implementation(self.accused, self.op)


def _units(truth: Evaluation, output: Array, dtype: str) -> float:
    return float(measure_rows(output, truth, dtype).units.max(initial=0.0))


def best_truth(operator: Operator, params: Params, arrays: list[Array], dtype: str) -> Evaluation:
    """The true value as it is judged by, in float64 for showing: of 50 digits where float64 itself is in question."""
    with np.errstate(all="ignore"):
        truth = operator.evaluate(params, arrays)
    if dtype != "float64" or special(arrays):
        return truth
    try:
        precise = _precisely(operator, params, arrays, np.size(truth.value))
    except Imprecise:
        return truth
    return Evaluation(np.asarray(precise.value).astype(np.float64), np.asarray(precise.kappa).astype(np.float64))


def _precisely(operator: Operator, params: Params, arrays: list[Array], size: int) -> Evaluation:
    if size > _PRECISELY:
        raise Imprecise(f"an output of {size} numbers")
    return operator.evaluate_precisely(params, arrays)
