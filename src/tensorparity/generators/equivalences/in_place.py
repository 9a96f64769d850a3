"""Beyond the paper: a function that gives a new tensor, and the same writing into the one that it is given."""

from __future__ import annotations

from ...core.rule import Demands
from .base import Category, Variant

_WHY = "only torch writes into given memory"
IN_PLACE = Variant(
    "in-place",
    0,
    Category.BEYOND,
    "F(I) = F_(I)",
    {"tensorflow": _WHY, "jax": _WHY, "keras": _WHY},
    Demands(optional=True),
    derivative=1,
    variant="in place",
)
