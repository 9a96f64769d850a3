"""Tolerance: how far from what is expected a library lets its own tests go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|actual - expected| <= atol + rtol |expected|."""

    rtol: float
    atol: float
    source: str

    def allows(self, off: float, expected: float) -> bool:
        return off <= self.atol + self.rtol * abs(expected)
