"""How functions of one number are told: a definition in mpmath for every number, the limits by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath

INF, NAN = math.inf, math.nan
#: Far from both ends of float64, and the ends themselves.
HUGE, SUBNORMAL = 1e300, 1e-310
MP = mpmath.MPContext()
MP.dps = 60


@dataclass(frozen=True)
class OneNumber:
    """A function of one number.

    Args:
        define: its definition in mpmath, for finite arguments inside of its domain.
        below: its value or limit at minus infinity, ``above`` at infinity; NaN where it has none.
        points: zeros, kinks, ties and ends of the domain, besides those that all have.
        hand: values by hand, where the definition says nothing or mpmath does not get there.
        low, high: the domain; outside of it there is no number.
    """

    define: Callable[[Any], Any]
    below: float = NAN
    above: float = NAN
    points: tuple[float, ...] = ()
    hand: tuple[tuple[float, float], ...] = ()
    low: float = -INF
    high: float = INF

    def vectors(self) -> list[tuple[float, float]]:
        """Arguments and values."""
        by_hand = {(x, math.copysign(1.0, x)) for x, _ in self.hand}
        ends = [(x, y) for x, y in ((-INF, self.below), (INF, self.above)) if self.low <= x <= self.high]
        everywhere = (0.0, -0.0, 1.0, -1.0, 0.5, HUGE, -HUGE, SUBNORMAL, -SUBNORMAL, 1e-20, 3e38)
        wanted = [x for x in (*everywhere, *self.points) if self.low <= x <= self.high]
        told = [(x, self.at(x)) for x in wanted if (x, math.copysign(1.0, x)) not in by_hand]
        return [*ends, (NAN, NAN), *self.hand, *told]

    def at(self, x: float) -> float:
        return float(self.define(MP.mpf(x)))
