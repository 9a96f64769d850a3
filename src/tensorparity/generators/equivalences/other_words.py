"""Beyond the paper: the same call by other words: defaults written out, the alias or the method that is documented."""

from __future__ import annotations

from ...core.rule import Demands
from .base import Category, Variant

_BEYOND = Category.BEYOND
DEFAULTS = Variant("defaults-written", 0, _BEYOND, "F(I) = F(I, defaults)", {}, Demands(), variant="defaults")
ALIAS = Variant(
    "alias",
    0,
    _BEYOND,
    "F(I) = G(I), F being an alias of G",
    {"tensorflow": "its aliases are one object", "keras": "its aliases are one object"},
    variant="alias",
)
OTHER_NAME = Variant(
    "other-name",
    0,
    _BEYOND,
    "F(I) = G(I), G being F by another public name",
    {},
    Demands(optional=True, otherwise=True),
    derivative=1,
    variant="other name",
)
METHOD = Variant(
    "method",
    0,
    _BEYOND,
    "F(I, ...) = I.F(...)",
    {"tensorflow": "its tensors have no such methods", "keras": "its tensors are the backend's"},
    Demands(optional=True),
    variant="method",
)
