"""Beyond the paper: an operator of ONNX on every runtime, and against its body, the operators that define it.

The calls are the node tests of the onnx package, with what each test expects, and the same with other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...core.case import Case, Counterpart
from ...core.onnx.operators import is_operator
from ...core.rule import Demands
from ..api_inputs import Api
from .base import LIBRARIES, ONNX, Category, Equivalence

_WHY = "ONNX's operators have bodies and runtimes"
_ELSEWHERE: Mapping[str, str] = dict.fromkeys(LIBRARIES, _WHY)


@dataclass(frozen=True)
class OfOperators(Equivalence):
    """A rule about ONNX's operators alone."""

    absent: Mapping[str, str] = field(default_factory=lambda: _ELSEWHERE)

    def libraries(self) -> tuple[str, ...]:
        return (ONNX,)


@dataclass(frozen=True)
class FunctionBody(OfOperators):
    """Nothing of the operator's documentation stands behind what a runtime does with the body but the body itself."""

    def speaks_of(self, api: Api) -> bool:
        return "body" in api.features

    def prepared(self, case: Case) -> Case | None:
        return replace(case, labels={}) if case.inputs else None

    def counterpart(self, case: Case) -> Counterpart | None:
        if not is_operator(case.subject) or case.procedure.derivative:
            return None
        return Counterpart(procedure=replace(case.procedure, variant="body"))


@dataclass(frozen=True)
class OtherRuntimes(OfOperators):
    """Who runs an operator must not matter."""

    documented: bool = True

    def equivalence(self, case: Case) -> Case | None:
        """The case itself: its other sides are the other targets, and what a test expects of it."""
        return case if is_operator(case.subject) and case.inputs and not case.procedure.derivative else None

    def counterpart(self, case: Case) -> Counterpart | None:
        return None


FUNCTION_BODY = FunctionBody("function-body", 0, Category.BEYOND, "F(I) = body(F)(I)", demands=Demands(optional=True))
OTHER_RUNTIMES = OtherRuntimes(
    "other-runtimes", 0, Category.BEYOND, "F(I) on one runtime = F(I) on another", oracle="same_operator"
)
