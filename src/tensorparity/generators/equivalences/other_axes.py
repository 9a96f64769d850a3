"""Beyond the paper: an axis may be counted from the last one on, and is the same axis."""

from __future__ import annotations

from ...core.rule import Demands
from .base import Category, Variant

AXIS_FROM_THE_END = Variant(
    "axis-from-the-end",
    0,
    Category.BEYOND,
    "F(I, axis) = F(I, axis - rank)",
    {},
    Demands(optional=True),
    derivative=1,
    variant="axis from the end",
)
