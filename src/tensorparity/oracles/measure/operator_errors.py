"""How wrong the outputs of an operator are: per input, against the true value or against a wider instance.

``operator``: |y - true value on the same rounded input|, absolute, relative, in ulps, and in units of what rounding
explains (what is compared with K). ``paper``: |y - the output of the widest instance|, so that the rounding of the
input is part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from ...core.arrays import Array, dtype_name, dtype_named
from ...core.outcome import Outcome
from ...core.tolerance import Tolerance
from ...core.traits import Traits
from ...operators.functions.spec import Operator
from ...operators.reference.digits import ONE_AT_A_TIME
from ...operators.reference.rounding import K, error_units, literally
from ...operators.spec import Evaluation, Params

MEASURES = ("paper", "operator")


@dataclass(frozen=True, slots=True)
class RowErrors:
    """One number per stacked input; ``place`` is the flat position of the worst element in it."""

    units: Array
    absolute: Array
    relative: Array
    ulps: Array
    place: Array

    def __len__(self) -> int:
        return len(self.units)


def usable(outcome: Outcome, evaluation: Evaluation, dtype: str) -> str:
    """Why an outcome cannot be measured, or nothing.

    A library may keep to a narrower dtype than asked (Keras on JAX has no float64): that answers another question.
    """
    if not outcome.completed:
        return outcome.status.value
    output = outcome.outputs.get("0")
    if output is None:
        return "no output"
    if output.shape != evaluation.value.shape:
        return f"shape {output.shape} instead of {evaluation.value.shape}"
    if dtype_name(output) != dtype:
        return f"answers in {dtype_name(output)}"
    return ""


def measure_rows(actual: Array, evaluation: Evaluation, dtype: str) -> RowErrors:
    """The errors of every stacked input."""
    rows = len(actual)
    value = np.broadcast_to(evaluation.value, actual.shape).reshape(rows, -1)
    y = actual.reshape(rows, -1)
    kappa = np.broadcast_to(evaluation.kappa, actual.shape).reshape(rows, -1)
    units = error_units(y, Evaluation(value, kappa), dtype)
    place = units.argmax(axis=1) if units.shape[1] else np.zeros(rows, int)
    with np.errstate(all="ignore"):
        gap = np.abs(y.astype(np.float64) - value)
        gap = np.where(units == 0, _quiet(gap), gap)
        relative = np.where(gap == 0, 0.0, gap / np.abs(value))
        ulps = np.where(gap == 0, 0.0, gap / spacing_at(value, dtype))
    return RowErrors(
        units.max(axis=1, initial=0.0),
        gap.max(axis=1, initial=0.0),
        relative.max(axis=1, initial=0.0),
        ulps.max(axis=1, initial=0.0),
        place,
    )


#: In units of rounding without any conditioning: so near is a few ulp, and so far is not.
FEW, FAR = 8.0, 64.0


def measure_targets(
    operator: Operator, outputs: Mapping[str, Array], truth: Evaluation, dtype: str, traits: Traits
) -> dict[str, RowErrors]:
    """The errors of every target.

    Inputs are exact: what a rounded input would do is granted to nobody on a row that another implementation answers to
    a few ulp. In float64 the truth has no more digits than the answers, and nothing is held against them here.
    """
    found = {target: measure_rows(output, truth, dtype) for target, output in outputs.items()}
    if not operator.conditioned or dtype == "float64" or len(found) < 2:
        return found
    bare = Evaluation(truth.value, np.zeros(np.shape(truth.value)))
    plain = {target: measure_rows(output, bare, dtype) for target, output in outputs.items()}
    return {target: _ungranted(target, errors, plain, operator, traits) for target, errors in found.items()}


def _ungranted(
    target: str, errors: RowErrors, plain: Mapping[str, RowErrors], operator: Operator, traits: Traits
) -> RowErrors:
    own = traits.implementation(target, operator.name)
    others = [found.units for other, found in plain.items() if traits.implementation(other, operator.name) != own]
    if not others or not len(errors):
        return errors
    needless = (np.min(others, axis=0) <= FEW) & (plain[target].units > FAR)
    units = np.where(needless, np.maximum(errors.units, plain[target].units * (K / FAR)), errors.units)
    place = np.where(needless & (errors.units <= K), plain[target].place, errors.place)
    return replace(errors, units=units, place=place)


def _quiet(gap: Array) -> Array:
    """Equal infinities and NaN on both sides are no difference."""
    return np.where(np.isfinite(gap), gap, 0.0)


def spacing_at(value: Array, dtype: str) -> Array:
    """The distance between neighbouring numbers of the dtype at a true value; never below the smallest there is."""
    info = ml_dtypes.finfo(dtype_named(dtype))  # type: ignore[no-untyped-call]
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(value), float(info.smallest_normal))))
        return np.asarray(np.exp2(exponent - int(info.nmant)))


def stable_value(operator: Operator, params: Params, arrays: list[Array], dtype: str) -> Array:
    """A stable evaluation of the formula in the dtype itself: what a careful implementation can reach.

    The narrow types are computed in float32 and rounded once, as kernels do.
    """
    inner = np.float64 if dtype == "float64" else np.float32
    with np.errstate(all="ignore"), literally():
        value = operator.evaluate(params, [array.astype(inner) for array in arrays]).value
        return np.asarray(value).astype(dtype_named(dtype))


def stable_errors(operator: Operator, params: Params, arrays: list[Array], truth: Evaluation, dtype: str) -> RowErrors:
    """How far that evaluation is from the truth; in float64 it is the truth unless that has more digits."""
    return measure_rows(stable_value(operator, params, arrays, dtype), truth, dtype)


def precise_units(operator: Operator, params: Params, arrays: list[Array], actual: Array, dtype: str) -> float:
    """Units of one stacked input against arithmetic of 50 digits: for float64, which no float64 can judge.

    Raises:
        Imprecise: if there is no such evaluation.
    """
    return units_to(operator.evaluate_precisely(params, arrays), actual, dtype)


def units_to(truth: Evaluation, actual: Array, dtype: str) -> float:
    """The largest error of an output in units, against a truth of 50 digits."""
    value = np.broadcast_to(truth.value, actual.shape)
    kappa = np.broadcast_to(truth.kappa, actual.shape)
    worst = 0.0
    for y, true, slack in zip(actual.ravel().tolist(), value.ravel(), kappa.ravel(), strict=True):
        near = Evaluation(np.array([float(true)]), np.array([float(slack)]))
        if not np.isfinite(y) or not np.isfinite(float(true)):
            worst = max(worst, float(error_units(np.array([y]), near, dtype)[0]))
            continue
        with ONE_AT_A_TIME:
            gap = float(abs(y - true))
        allowed = abs(float(true)) + float(np.nan_to_num(float(slack), posinf=np.inf))
        shifted = Evaluation(np.array([0.0]), np.array([allowed]))
        worst = max(worst, float(error_units(np.array([gap]), shifted, dtype)[0]))
    return worst


@dataclass(frozen=True, slots=True)
class PaperErrors:
    """Against the widest instance: the largest, the summed and the mean difference of every input.

    Args:
        overflows: the inputs of which a number of the widest instance is none here.
        allowed: the largest difference over what a library's own tests allow there.
    """

    linf: Array
    l1: Array
    mean: Array
    overflows: Array
    allowed: Array


def measure_instances(actual: Array, widest: Array, tolerance: Tolerance | None = None) -> PaperErrors:
    """|P'(i) - P(i)| per stacked input, over the elements that are numbers in both; NaN where none is.

    An element that overflows has no difference to speak of: it is counted, and the others are measured all the same.
    """
    rows = len(actual)
    narrow, wide = actual.reshape(rows, -1).astype(np.float64), widest.reshape(rows, -1)
    overflows = np.asarray((np.isfinite(wide) & ~np.isfinite(narrow)).any(axis=1))
    with np.errstate(all="ignore"):
        gap = np.abs(narrow - wide)
        known = np.isfinite(gap)
        limit = tolerance.rtol * np.abs(wide) + tolerance.atol if tolerance else np.inf
        over = np.where(known, gap / limit, 0.0)
    counted, count = np.where(known, gap, 0.0), known.sum(axis=1)
    none = (count == 0) & (gap.shape[1] > 0)
    linf, l1 = counted.max(axis=1, initial=0.0), counted.sum(axis=1)
    allowed = np.where(none, np.nan, over.max(axis=1, initial=0.0))
    mean = l1 / np.maximum(count, 1)
    linf, l1, mean = (np.where(none, np.nan, part) for part in (linf, l1, mean))
    return PaperErrors(linf, l1, mean, overflows, allowed)


__all__ = [
    "MEASURES",
    "K",
    "PaperErrors",
    "RowErrors",
    "measure_instances",
    "measure_rows",
    "precise_units",
    "spacing_at",
    "stable_errors",
    "stable_value",
    "units_to",
    "usable",
]
