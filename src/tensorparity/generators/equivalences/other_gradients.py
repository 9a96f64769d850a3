"""Beyond the paper: gradients as the library pulls them back, against forward mode and against slopes in float64."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Variant, api_name, without_subnormals

#: What reads one triangle of a matrix that it takes for symmetric, and what hides from gradients on purpose.
_OF_ONE_TRIANGLE = re.compile(
    r"(cholesky|eigh|eigvalsh|ldl|lobpcg|fake_quant|quantize|stop_gradient|detach|grad_reverse)"
)


@dataclass(frozen=True)
class OtherGradient(Variant):
    """There is nothing to compare before something is pulled back, once.

    Args:
        dtype: the other side is computed in that precision.
    """

    dtype: str | None = None

    def applies(self, api: str) -> bool:
        return super().applies(api) and not _OF_ONE_TRIANGLE.search(api.rpartition(".")[2].lower())

    def prepared(self, case: Case) -> Case | None:
        return without_subnormals(case) if case.procedure.derivative == 1 else None

    def counterpart(self, case: Case) -> Counterpart | None:
        other = super().counterpart(case)
        if other is None or case.procedure.derivative != 1 or not self.applies(api_name(case)):
            return None
        assert other.procedure is not None
        return replace(other, procedure=replace(other.procedure, dtype=self.dtype or case.procedure.dtype))


_GRADIENTS = Demands(only="gradient:", optional=True)
SLOPES = OtherGradient(
    "slopes",
    0,
    Category.BEYOND,
    "gradient(F)(I) = slopes(F)(I)",
    {},
    replace(_GRADIENTS, dtypes=False, truth=1, accused=0),
    derivative=1,
    variant="slopes",
    dtype="float64",
)
FORWARD_MODE = OtherGradient(
    "forward-mode",
    0,
    Category.BEYOND,
    "reverse(F)(I) = forward(F)(I)",
    {},
    replace(_GRADIENTS, otherwise=True),
    cost=1,
    derivative=1,
    variant="forward mode",
)
