"""What a reproducer may claim of a training step by the formulas: a loss, its gradients, an optimizer's step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.channels import distance
from ..core.errors import TensorParityError
from ..core.outcome import Outcome
from ..core.policies import policy_named
from ..core.procedure import Goal
from ..core.verdict import Stage
from ..operators.directional import Terms, one_sided, scales
from ..operators.losses import LOSSES
from ..operators.optimizers import OPTIMIZERS
from ..operators.spec import Evaluation, ShapeError
from ..triage.backward import Differentiated, loss_function, pulled_back
from ..triage.reproduce.claim import Claim
from ..triage.steps import loss_truth, observed_loss, stepped_to, stepped_truths, worst_weight
from .reference_claims import REFERENCE, claim_by_reference

#: Numbers whose derivatives are taken one by one.
_MOST_NUMBERS = 256
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
    recipe, truth = case.procedure.loss, loss_truth(case, own)
    if recipe is None or truth is None:
        return None
    assert own.trace.loss is not None
    observed = observed_loss(case, own.target, own.trace.loss)
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
        return None
    claim = Claim("gradients", name, expected, allowed, REFERENCE, observed=observed, precise=True)
    if not derivative.reach.any():
        return claim
    claim = replace(claim, element=index)
    reach, middle = float(derivative.reach[index]), float(expected[index])
    if not reach:
        return claim
    return replace(claim, formula="the slopes on either side, or between", between=(middle - reach, middle + reach))


def _derivative(function: Differentiated, name: str) -> _Derivative | None:
    """From either side; None where a side has no slope, and of too many numbers."""
    at = [array.astype(np.float64) for array in function.arguments.values()]
    place = list(function.arguments).index(name)
    if at[place].size > _MOST_NUMBERS:
        return None
    middle, steps = function.terms(at), scales(at[place])
    found, reach, noise = np.zeros(at[place].shape), np.zeros(at[place].shape), 0.0
    for index in np.ndindex(*found.shape):
        step = float(steps[index])
        above, below = (_slope(function.terms, at, place, index, own, middle) for own in (step, -step))
        if above is None or below is None:
            return None
        lost = above[1] + below[1]
        found[index], noise = (above[0] + below[0]) / 2.0, max(noise, lost)
        if not np.isclose(above[0], below[0], rtol=_APART / 10, atol=1e-9 + 2.0 * lost):
            reach[index] = abs(above[0] - below[0]) / 2.0
    return _Derivative(found, reach, noise)


def _slope(
    terms: Terms, at: list[Array], place: int, index: tuple[int, ...], step: float, middle: Evaluation
) -> tuple[float, float] | None:
    """The slope by one number, and how far rounding in float64 may have taken it."""
    direction = [np.zeros_like(array) for array in at]
    direction[place][index] = step
    slope = one_sided(terms, at, direction, middle)
    if slope is None or not slope.resolved:
        return None
    return float(slope.values.sum()) / step, slope.noise / abs(step)
