"""Beyond the paper: what an element or a row gives depends neither on its place nor on what stands around it.

Whether a function works element by element or row by row is found by a trial on tame numbers, in the worker.
"""

from __future__ import annotations

from ...core.rule import Agreement, Demands
from .base import Category, Variant


def _rule(name: str, variant: str, statement: str, demands: Demands | None = None) -> Variant:
    return Variant(name, 0, Category.BEYOND, statement, {}, demands or Demands(), variant=variant)


BY_ELEMENT = _rule("by-element", "by element", "F(I)[i] = F(I[i:i+1])[0]")
WITHOUT_AXES = _rule("without-axes", "without axes", "F(I)[i] = F(I[i])")
AMONG_OTHERS = _rule("among-others", "among others", "F(I) = F(others, I, others)[among]")
ROW_BY_ROW = _rule("row-by-row", "row by row", "F(I)[i] = F(I[i:i+1])[0], rows")
#: How libraries say that an axis must not be empty: of an axis that is no batch, that is their right.
_EMPTY = (
    r"empty|non-?zero|zero[- ]size|size (?:of )?(?:0|zero)|at least (?:1|one)|numel\(\) ?==? ?0"
    r"|greater than (?:0|zero)|positive|number of [\w ]+ \(0\)"
)
OF_NOTHING = _rule(
    "of-nothing",
    "of nothing",
    "form(F(I)[:0]) = F(I[:0])",
    Demands(agreement=Agreement.FORM, refusing=_EMPTY),
)
