"""Beyond the paper: a function that is documented to follow NumPy's of some name, and that function.

NumPy's runs in the same worker. Where documentation does not speak of it, a function of the same name counts only if a
trial on tame numbers shows that it means the same. Integers of other widths and dtypes by default are conventions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.case import Case
from ...core.rule import Demands
from .base import Category, Variant, without_subnormals


@dataclass(frozen=True)
class NumpyTwin(Variant):
    """NumPy knows numbers below the smallest normal one; not every library does."""

    def prepared(self, case: Case) -> Case | None:
        return without_subnormals(case)


NUMPY_TWIN = NumpyTwin(
    "numpy-twin",
    0,
    Category.BEYOND,
    "F(I) = numpy.F(I)",
    {},
    Demands(dtypes=False, optional=True, truth=1, accused=0),
    variant="numpy",
)
