"""Claim: what a script asserts. One array that should be so, and how far rounding may take it from there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.channels import distance


@dataclass(frozen=True)
class Claim:
    """The answer that is expected of the suspect.

    Args:
        group: ``outputs``, ``gradients``, ``weights`` (after a step) or ``losses``.
        name: of the array in its group.
        tolerance: absolute, what rounding explains: anywhere, or of ``element`` where there is one.
        source: where the expectation comes from, in words.
        formula: the documentation's sentence behind it.
        observed: what the suspect gave; None where it gave nothing.
        element: the one that is claimed, where only its own tolerance shows that it is wrong.
        precise: the expectation was computed in a higher precision than what is tested.
        dtype: the answer's, where that is what is wrong.
        between: of ``element``, all that is right where that is no single number; ``expected`` is in the middle.
        stated: the source says so of the form; nobody computed the expectation.
        summed: the places, axis by axis, of the numbers whose sum is claimed: ``expected`` and ``observed`` are sums.
    """

    group: str
    name: str
    expected: Array
    tolerance: float
    source: str
    formula: str = ""
    observed: Array | None = None
    element: tuple[int, ...] | None = None
    precise: bool = False
    dtype: str = ""
    between: tuple[float, float] | None = None
    summed: tuple[tuple[int, ...], ...] | None = None
    stated: bool = False

    @property
    def off(self) -> float | None:
        """How far the suspect is from it; None for another shape or no answer."""
        if self.observed is None or self.observed.shape != self.expected.shape:
            return None
        apart = distance(self.observed, self.expected)
        if self.element is None:
            return float(apart.max(initial=0.0))
        reach = (self.between[1] - self.between[0]) / 2.0 if self.between else 0.0
        return max(float(apart[self.element]) - reach, 0.0)

    def worst_element(self) -> tuple[int, ...] | None:
        if self.observed is None or self.observed.shape != self.expected.shape or not self.expected.ndim:
            return None
        if self.element is not None:
            return self.element
        apart = distance(self.observed, self.expected)
        index = np.unravel_index(int(np.argmax(apart)), apart.shape)
        return tuple(int(part) for part in index)
