"""A claim by the float64 reference: the array, and how far rounding may take it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ...core.channels import distance, magnitude
from ...operators.reference.rounding import K, underflow
from ...operators.spec import Evaluation
from .claim import Claim

REFERENCE = "the float64 reference"


def claim_by_reference(
    group: str, name: str, truth: Evaluation, observed: Array | None, formula: str, least: float = 0.0
) -> Claim:
    """By the bound of the whole array if that shows it, else by the element's own, as the verdict does.

    Args:
        least: nothing below it is claimed.
    """
    dtype = dtype_name(observed) if observed is not None else "float32"
    dtype = dtype if is_floating(dtype) else "float64"
    with np.errstate(all="ignore"):
        size = magnitude(truth.value) + np.where(np.isnan(truth.kappa), 0.0, truth.kappa)
        allowed = np.maximum(K * (unit_roundoff(dtype) * size + underflow(dtype)), least)
    widest = float(allowed[np.isfinite(allowed)].max(initial=least))
    claim = Claim(group, name, truth.value, widest, REFERENCE, formula, observed, precise=True)
    if observed is None or claim.off is None or claim.off > widest or not truth.value.ndim or not truth.value.size:
        return claim
    units = np.where(np.isfinite(allowed), distance(observed, truth.value) / allowed, 0.0)
    index = tuple(int(part) for part in np.unravel_index(int(np.argmax(units)), units.shape))
    return replace(claim, tolerance=float(allowed[index]), element=index) if units[index] > 1 else claim
