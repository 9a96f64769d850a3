"""What a reproducer may claim of a training step by the formulas: a loss, its gradients, an optimizer's step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.channels import distance
from ...core.errors import TensorParityError
from ...core.outcome import Outcome
from ...core.policies import policy_named
from ...core.procedure import Goal
from ...core.verdict import Stage
from ...operators.losses.catalogue import LOSSES
from ...operators.optimizers.catalogue import OPTIMIZERS
from ...operators.reference.directional import one_sided, scales
from ...operators.spec import ShapeError
from ...oracles.measure.backward import Differentiated, loss_function, pulled_back
from ...oracles.measure.steps import loss_truth, observed_loss, stepped_to, stepped_truths, worst_weight
from ...targets.catalogue import traits_of
from .claim import Claim
from .reference_claims import REFERENCE, claim_by_reference

#: Numbers whose derivatives are taken one by one.
_MOST_NUMBERS = 256
#: Sets of equal numbers that are moved together, and how many numbers of such a set a script lists.
_MOST_TIES, _MOST_SUMMED = 8, 64
_TOGETHER = "equal numbers that are moved together have one slope, the sum of theirs"
#: What is claimed of a derivative: less than any other formula would give, more than differences and rounding lose.
_APART, _IN_ROUNDOFFS = 1e-3, 64.0


def claim_by_formula(case: Case, stage: Stage, own: Outcome) -> Claim | None:
    """What the catalogue says of a loss, a gradient or a step; None where it says nothing, or the suspect is right."""
    claims = {Stage.UPDATE: _of_step, Stage.LOSS: _of_loss, Stage.BACKWARD: _of_gradient}
    claim = claims[stage](case, own) if own.completed and stage in claims else None
    right = claim is not None and claim.off is not None and claim.off <= claim.tolerance
    return None if right else claim


def _of_step(case: Case, own: Outcome) -> Claim | None:
    """The weight that is furthest off, by the optimizer's formula on the gradient that the target itself gives."""
    recipe, name = case.procedure.optimizer, worst_weight(case, own, held=True)
    if recipe is None or name is None:
        return None
    truth, formula = stepped_truths(case, own, held=True)[name], OPTIMIZERS[recipe.name].formula
    return claim_by_reference("weights", name, truth, stepped_to(own, name), formula)


def _of_loss(case: Case, own: Outcome) -> Claim | None:
    recipe, truth = case.procedure.loss, loss_truth(case, own, traits_of([own.target]))
    if recipe is None or truth is None:
        return None
    assert own.trace.loss is not None
    observed = observed_loss(case, own.target, own.trace.loss, traits_of([own.target]))
    return claim_by_reference("losses", "0", truth, observed, LOSSES[recipe.name].formula)


def _of_gradient(case: Case, own: Outcome) -> Claim | None:
    """The gradient that is furthest from the formula's own derivative, taken number by number."""
    try:
        function = pulled_back(case) if case.procedure.goal is Goal.REPLAY else loss_function(case)
    except (TensorParityError, ShapeError, KeyError):
        return None
    if function is None:
        return None
    share = max(_APART, _IN_ROUNDOFFS * policy_named(case.procedure.dtype).roundoff)
    claims = [
        claim
        for name in function.arguments
        if name in own.trace.gradients and (claim := _of_argument(function, name, own.trace.gradients[name], share))
    ]
    return max(claims, key=lambda claim: claim.off / claim.tolerance if claim.off else 0.0, default=None)


@dataclass(frozen=True)
class _Derivative:
    """By one number after the other: where both sides agree a number, at a kink all that lies between them.

    Args:
        reach: how far to either side of the value the sides are; 0 where they agree.
        noise: what differences lose.
    """

    value: Array
    reach: Array
    noise: float


def _of_argument(function: Differentiated, name: str, observed: Array, share: float) -> Claim | None:
    derivative = _derivative(function, name)
    if derivative is None or observed.shape != derivative.value.shape or not observed.size:
        return None
    expected = derivative.value
    allowed = share * float(np.abs(expected).max()) + derivative.noise + 1e-30
    units = distance(observed, expected) / (derivative.reach + allowed)
    index = tuple(int(part) for part in np.unravel_index(int(np.argmax(units)), units.shape))
    if units[index] <= 1:
        return _of_ties(function, name, observed, share)
    claim = Claim("gradients", name, expected, allowed, REFERENCE, observed=observed, precise=True)
    if not derivative.reach.any():
        return claim
    claim = replace(claim, element=index)
    reach, middle = float(derivative.reach[index]), float(expected[index])
    if not reach:
        return claim
    return replace(claim, formula="the slopes on either side, or between", between=(middle - reach, middle + reach))


def _of_ties(function: Differentiated, name: str, observed: Array, share: float) -> Claim | None:
    """Equal numbers may each have any slope of their kink; but moved together they have one, which is the sum."""
    values, counts = np.unique(function.arguments[name], return_counts=True)
    tied = values[(counts > 1) & (counts <= _MOST_SUMMED) & (values == values)]  # no NaN equals another
    claims = [
        claim
        for value in tied[:_MOST_TIES]
        if (claim := _of_sum(function, name, function.arguments[name] == value, observed, share))
    ]
    return max(claims, key=lambda claim: (claim.off or 0.0) / claim.tolerance, default=None)


def _of_sum(function: Differentiated, name: str, members: Array, observed: Array, share: float) -> Claim | None:
    slope = _Sides(function, name).along(members)
    if slope is None or slope.reach:
        return None
    expected, given = np.asarray(slope.value), np.asarray(observed[members].sum(dtype=np.float64))
    allowed = share * float(max(abs(slope.value), np.abs(observed[members]).max())) + slope.lost + 1e-30
    if abs(given - expected) <= allowed:
        return None
    summed = tuple(tuple(int(index) for index in axis) for axis in np.nonzero(members))
    return Claim("gradients", name, expected, allowed, REFERENCE, _TOGETHER, given, precise=True, summed=summed)


def _derivative(function: Differentiated, name: str) -> _Derivative | None:
    """From either side; None where a side has no slope, and of too many numbers."""
    shape = function.arguments[name].shape
    if function.arguments[name].size > _MOST_NUMBERS:
        return None
    sides, found, reach, noise = _Sides(function, name), np.zeros(shape), np.zeros(shape), 0.0
    for index in np.ndindex(*shape):
        slope = sides.along(index)
        if slope is None:
            return None
        found[index], reach[index], noise = slope.value, slope.reach, max(noise, slope.lost)
    return _Derivative(found, reach, noise)


@dataclass(frozen=True)
class _Slope:
    """Of a function along one direction, from both sides.

    Args:
        value: the middle of what the sides say.
        reach: how far they are from it; 0 where they agree.
        lost: how far rounding in float64 may have taken them.
    """

    value: float
    reach: float
    lost: float


class _Sides:
    """Slopes of a function by one of its arguments."""

    def __init__(self, function: Differentiated, name: str) -> None:
        self._terms = function.terms
        self._at = [array.astype(np.float64) for array in function.arguments.values()]
        self._place = list(function.arguments).index(name)
        self._steps = scales(self._at[self._place])
        self._middle = self._terms(self._at)

    def along(self, moved: tuple[int, ...] | Array) -> _Slope | None:
        """By one number, or by several equal ones that move together; None where a side has no slope.

        The interval is taken term by term and summed, as ``oracles/measure/subgradients.py`` does: each term has a kink
        of its own, and
        cotangents of both signs would narrow the interval of the sum.
        """
        step = float(np.max(self._steps[moved]))
        above, below = (self._from_one_side(moved, own) for own in (step, -step))
        if above is None or below is None:
            return None
        lost = above[1] + below[1]
        low, high = (float(ends(above[0], below[0]).sum()) for ends in (np.minimum, np.maximum))
        alike = np.isclose(low, high, rtol=_APART / 10, atol=1e-9 + 2.0 * lost)
        return _Slope((low + high) / 2.0, 0.0 if alike else (high - low) / 2.0, lost)

    def _from_one_side(self, moved: tuple[int, ...] | Array, step: float) -> tuple[Array, float] | None:
        direction = [np.zeros_like(array) for array in self._at]
        direction[self._place][moved] = step
        slope = one_sided(self._terms, self._at, direction, self._middle)
        if slope is None or not slope.resolved:
            return None
        return slope.values / step, slope.noise / abs(step)
