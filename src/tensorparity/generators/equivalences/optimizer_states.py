"""Rule 16 on training in torch: model, optimizer and schedule are carried over, and training goes on as it would."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category
from .models import ModelRule, modules

#: In the order of their turns; one that a release does not have is unsupported there.
OPTIMIZERS = (
    *("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad"),
    *("Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor", "Muon"),
)
_TRAINED = "trained "


@dataclass(frozen=True)
class OptimizerState(ModelRule):
    """Args:
    way: how everything is carried over.
    """

    way: str = "state_dict"

    def applies(self, api: str) -> bool:
        return api.startswith("torch.nn.")

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Modules, each with an optimizer of its own; all optimizers at least once."""
        found = []
        for place, case in enumerate(modules(max(count, len(OPTIMIZERS)), seed)):
            variant = _TRAINED + OPTIMIZERS[place % len(OPTIMIZERS)]
            found.append(replace(case, procedure=replace(case.procedure, variant=variant)))
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        variant = case.procedure.variant
        if not isinstance(case.subject, ApiCall) or not variant.startswith(_TRAINED) or "," in variant:
            return None
        return Counterpart(procedure=replace(case.procedure, variant=f"{variant}, {self.way}"))


_ABSENT = {"tensorflow": "models are Keras'", "jax": "it has no models", "keras": "see whole-keras"}
_STATEMENT = "train(M, O) = train(load(save(M, O)))"


def _rule(name: str, way: str) -> OptimizerState:
    return OptimizerState(name, 16, Category.EVALUATION, _STATEMENT, _ABSENT, cost=1, way=way)


OPTIMIZER_STATE = _rule("optimizer-state", "state_dict")
OPTIMIZER_COPY = _rule("optimizer-copy", "deep copy")
OPTIMIZER_FILE = _rule("optimizer-file", "torch.save")
