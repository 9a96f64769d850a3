"""Losses called with weights: one per sample, or, where a sample has several losses, one for each of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.case import ApiCall, ArrayArg, Case
from ...core.procedure import Goal, Procedure
from ...operators.losses.weighed import WEIGHED
from ...operators.spec import ShapeError
from .losses import loss_cases

#: Halves and zeros: what is not weighed does not count.
_WEIGHTS = (0.0, 0.5, 1.0, 1.0, 2.0, 0.1, 1.7)


def weighed_loss_cases(seed: int) -> Iterator[Case]:
    """The losses of ``loss_cases``, weighed; the n-th case depends on the seed and n alone."""
    for index, case in enumerate(loss_cases(seed)):
        weighed = _weighed(case, np.random.default_rng([seed, 0x3E16, index]))
        if weighed is not None:
            yield weighed


def _weighed(case: Case, rng: np.random.Generator) -> Case | None:
    """The same labels and predictions; None where they have not one loss each."""
    recipe = case.procedure.loss
    if recipe is None or case.procedure.dtype or recipe.name not in WEIGHED:
        return None
    labels, predictions = case.labels["y0"], case.inputs["p0"]
    params = {name: value for name, value in recipe.params.items() if name != "ignore_class"}
    loss = WEIGHED[recipe.name]
    try:
        each = loss.each(params, labels, predictions)
    except ShapeError:
        return None
    if not each.value.ndim or len(each.value) != len(predictions):
        return None  # all samples have one loss together
    weights = rng.choice(_WEIGHTS, each.value.shape).astype(np.float32)
    inputs = {"y_true": labels, "y_pred": predictions, "sample_weight": weights}
    call = ApiCall(loss.api, tuple(ArrayArg(name) for name in inputs), params)
    return Case(call, Procedure(goal=Goal.CALL), inputs=inputs, seed=case.seed)
