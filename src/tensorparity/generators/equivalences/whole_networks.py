"""Beyond the paper: whole generated networks, as users get them from ``predict``, layer by layer, and watched."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.procedure import Mode
from .base import Category
from .models import ModelRule


@dataclass(frozen=True)
class WholeNetwork(ModelRule):
    """Args:
    watched: every layer's output is kept as well.
    """

    watched: bool = False

    def applies(self, api: str) -> bool:
        return super().applies(api) and not api.startswith("torch.")

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, LayerGraph):
            return None
        procedure = replace(case.procedure, trace=True) if self.watched else replace(case.procedure, mode=Mode.EAGER)
        return Counterpart(procedure=procedure)


_ABSENT = {
    "tensorflow": "models are Keras'",
    "jax": "it has no models",
    "torch": "its modules are run in the ways of calls",
}
EAGERLY = WholeNetwork("network-eagerly", 0, Category.BEYOND, "predict(M, I) = M(I)", _ABSENT, cost=1)
TRACED = WholeNetwork(
    "network-traced", 0, Category.BEYOND, "predict(M, I) = watched(M)(I)", _ABSENT, cost=1, watched=True
)
