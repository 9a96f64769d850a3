"""Beyond the paper: the same call of Keras on every backend. Nothing is changed: who runs it must not matter."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence, api_name

#: Whose results depend on weights that every backend draws in its own way, or on a state.
_NOT_ALIKE = ("keras.layers.", "keras.random.", "keras.initializers.", "keras.optimizers.")


@dataclass(frozen=True)
class OtherBackends(Equivalence):
    def applies(self, api: str) -> bool:
        return super().applies(api) and not api.startswith(_NOT_ALIKE)

    def equivalence(self, case: Case) -> Case | None:
        """The case itself: its other sides are the other targets."""
        plain = isinstance(case.subject, ApiCall) and case.inputs
        return case if plain and self.applies(api_name(case)) else None

    def counterpart(self, case: Case) -> Counterpart | None:
        return None


_WHY = "it has no backends"
OTHER_BACKENDS = OtherBackends(
    "other-backends",
    0,
    Category.BEYOND,
    "F(I) on one backend = F(I) on another",
    {"tensorflow": _WHY, "torch": _WHY, "jax": _WHY},
    derivative=1,
    oracle="same_call",
)
