"""What a layer tends to as its infinite inputs grow, where its formula is NaN at them.

``exp(x) / sum(exp(x))`` of an infinity is infinity over infinity, and tends to 1; a number beside it is divided by
infinity, which gives 0, and NaN where the largest is subtracted first. No documentation says which: both are right, and
any other number is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.arrays import Array, dtype_name, is_floating
from ...core.case import ApiCall, Case
from ...core.channels import is_finite, is_nan
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph
from ...operators.functions.api import evaluate_call
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.evaluate import evaluate
from ...operators.spec import Evaluation, ShapeError
from .documented_freedoms import LIMITS, FreeElements

#: From inputs in float64, the outputs by the formula.
Formula = Callable[[Sequence[Array]], Sequence[Evaluation] | None]

#: Infinity, approached; several infinities at once at speeds of their own, once in each order: what depends on which of
#: them is the faster has no limit.
_APPROACHES = (1e15, 1e30, 1e60)
_SAME = 1e-9
#: Larger inputs are not evaluated so many times over.
_MOST_NUMBERS = 1 << 16


def free_at_infinity(formula: Formula, given: Sequence[Array], truth: Sequence[Evaluation]) -> FreeElements | None:
    """The elements of an only output that are NaN by the formula and have a limit; None without any."""
    if len(truth) != 1 or not _concerned(given, truth[0]):
        return None
    try:
        limits = [_limit([_value(formula, given, size, order) for size in _APPROACHES]) for order in (1, -1)]
    except (TensorParityError, ShapeError, KeyError):
        return None
    mask = np.asarray(is_nan(truth[0].value) & _equal(*limits))
    return FreeElements(LIMITS, mask, tuple(given), limits[0]) if mask.any() else None


def limits_of(case: Case, truth: Sequence[Evaluation]) -> FreeElements | None:
    """The same of a case: a graph's first output, or that of a call."""
    if case.procedure.batch_size is not None:  # in slices, and states are carried from one to the next
        return None
    names = list(case.inputs)

    def formula(given: Sequence[Array]) -> Sequence[Evaluation]:
        return [_first_output(case, dict(zip(names, given, strict=True)))]

    return free_at_infinity(formula, list(case.inputs.values()), truth)


def _first_output(case: Case, inputs: dict[str, Array]) -> Evaluation:
    if not isinstance(case.subject, LayerGraph):
        assert isinstance(case.subject, ApiCall)
        return evaluate_call(case.subject, inputs)
    found = evaluate(case.subject, inputs, case.weights, training=case.procedure.training, beside=MasksAndStates())
    ref = case.subject.outputs[0]
    node = next(node for node in case.subject.nodes if node.name == ref.node)
    return found[node.key][ref.index]


def _concerned(given: Sequence[Array], truth: Evaluation) -> bool:
    small = sum(array.size for array in given) <= _MOST_NUMBERS
    endless = any(_is_real(array) and bool((~is_finite(array) & ~is_nan(array)).any()) for array in given)
    return small and endless and _is_real(truth.value) and bool(is_nan(truth.value).any())


def _is_real(array: Array) -> bool:
    return is_floating(dtype_name(array)) and array.dtype.kind != "c"


def _value(formula: Formula, given: Sequence[Array], size: float, order: int) -> Array:
    with np.errstate(all="ignore"):
        found = formula(_grown(given, size, order))
        return np.asarray(found[0].value if found else np.nan, np.float64)


def _grown(given: Sequence[Array], size: float, order: int) -> list[Array]:
    """Infinities as large numbers, each another one."""
    total = sum(array.size for array in given)
    speeds = size * (1.0 + np.arange(total)[::order] / total)
    ends = np.cumsum([array.size for array in given])[:-1]
    return [_finite(array, own) for array, own in zip(given, np.split(speeds, ends), strict=True)]


def _finite(array: Array, speeds: Array) -> Array:
    if not _is_real(array):
        return array
    wide = array.astype(np.float64)
    return np.where(np.isinf(wide), np.copysign(speeds.reshape(wide.shape), wide), wide)


def _limit(values: Sequence[Array]) -> Array:
    """What they tend to: where they stay what they are, that; an infinity where they grow; elsewhere NaN."""
    first, second, third = values
    with np.errstate(all="ignore"):
        settled = (third == second) | (np.abs(third - second) <= _SAME * np.abs(third))
        growing = (np.abs(third) > 2 * np.abs(second)) & (np.abs(second) > 2 * np.abs(first))
        endless = np.where(growing & (np.sign(third) == np.sign(second)), np.copysign(np.inf, third), np.nan)
        return np.asarray(np.where(settled, third, endless))


def _equal(one: Array, other: Array) -> Array:
    with np.errstate(all="ignore"):
        near = np.isfinite(other) & (np.abs(one - other) <= _SAME * np.abs(other))
        return np.asarray((one == other) | near)
