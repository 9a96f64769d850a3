"""What a reproducer may claim of a training step by the formulas: a loss, its gradients, an optimizer's step."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.channels import distance
from ..core.errors import TensorParityError
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.verdict import Stage
from ..operators.directional import Terms, one_sided, scales
from ..operators.losses import LOSSES
from ..operators.optimizers import OPTIMIZERS
from ..operators.spec import Evaluation, ShapeError
from ..triage.backward import Differentiated, loss_function, pulled_back
from ..triage.reproduce.claim import Claim
from ..triage.steps import loss_truth, stepped_truths, worst_weight
from .reference_claims import REFERENCE, claim_by_reference

#: Numbers whose derivatives are taken one by one.
_MOST_NUMBERS = 256
#: What is claimed of a derivative: less than any other formula would give, more than differences and rounding lose.
_APART = 1e-3


def claim_by_formula(case: Case, stage: Stage, own: Outcome) -> Claim | None:
    """What the catalogue says of a loss, a gradient or a step; None where it says nothing, or the suspect is right."""
    claims = {Stage.UPDATE: _of_step, Stage.LOSS: _of_loss, Stage.BACKWARD: _of_gradient}
    claim = claims[stage](case, own) if own.completed and stage in claims else None
    right = claim is not None and claim.off is not None and claim.off <= claim.tolerance
    return None if right else claim


def _of_step(case: Case, own: Outcome) -> Claim | None:
    """The weight that is furthest off, by the optimizer's formula on the gradient that the target itself gives."""
    recipe, name = case.procedure.optimizer, worst_weight(case, own)
    if recipe is None or name is None:
        return None
    truth, formula = stepped_truths(case, own)[name], OPTIMIZERS[recipe.name].formula
    return claim_by_reference("weights", name, truth, own.trace.weights[name], formula)


def _of_loss(case: Case, own: Outcome) -> Claim | None:
    recipe, truth = case.procedure.loss, loss_truth(case, own)
    if recipe is None or truth is None:
        return None
    observed = np.asarray(own.trace.loss, np.float32)
    return claim_by_reference("losses", "0", truth, observed, LOSSES[recipe.name].formula)


def _of_gradient(case: Case, own: Outcome) -> Claim | None:
    """The gradient that is furthest from the formula's own derivative, taken number by number."""
    try:
        function = pulled_back(case) if case.procedure.goal is Goal.REPLAY else loss_function(case)
    except (TensorParityError, ShapeError, KeyError):
        return None
    if function is None:
        return None
    claims = [
        claim
        for name in function.arguments
        if name in own.trace.gradients and (claim := _of_argument(function, name, own.trace.gradients[name]))
    ]
    return max(claims, key=lambda claim: claim.off / claim.tolerance if claim.off else 0.0, default=None)


def _of_argument(function: Differentiated, name: str, observed: Array) -> Claim | None:
    expected = _derivative(function, name)
    if expected is None or observed.shape != expected.shape or not expected.size:
        return None
    allowed = _APART * float(np.abs(expected).max()) + 1e-30
    if float(distance(observed, expected).max()) <= allowed:
        return None
    return Claim("gradients", name, expected, allowed, REFERENCE, observed=observed, precise=True)


def _derivative(function: Differentiated, name: str) -> Array | None:
    """By one number after the other, from either side; None at a kink, and of too many."""
    at = [array.astype(np.float64) for array in function.arguments.values()]
    place = list(function.arguments).index(name)
    if at[place].size > _MOST_NUMBERS:
        return None
    middle, steps = function.terms(at), scales(at[place])
    found = np.zeros(at[place].shape)
    for index in np.ndindex(*found.shape):
        step = float(steps[index])
        above, below = (_slope(function.terms, at, place, index, own, middle) for own in (step, -step))
        if above is None or below is None or not np.isclose(above, below, rtol=_APART / 10, atol=1e-9):
            return None
        found[index] = (above + below) / 2.0
    return found


def _slope(
    terms: Terms, at: list[Array], place: int, index: tuple[int, ...], step: float, middle: Evaluation
) -> float | None:
    direction = [np.zeros_like(array) for array in at]
    direction[place][index] = step
    slope = one_sided(terms, at, direction, middle)
    return float(slope.values.sum()) / step if slope is not None else None
