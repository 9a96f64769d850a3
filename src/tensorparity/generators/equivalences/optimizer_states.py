"""Rule 16 on training in torch: model, optimizer and schedule are carried over, and training goes on as it would.

Beyond it: an optimizer that takes all parameters at once, or fuses its step, trains as one that takes them in turn.
The settings are those that torch's own tests have for each optimizer, and one of ours.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from ...core.call import ApiCall, ArrayArg, TupleArg
from ...core.case import Case, Counterpart
from ...core.jsontext import Json
from ...core.rule import Demands
from .base import Category
from .models import ModelRule, modules

#: In the order of their turns; one that a release does not have is unsupported there.
OPTIMIZERS = (
    *("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad"),
    *("Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor", "Muon"),
)
_TRAINED, _OPTIMIZERS = "trained ", "torch.optim."


@dataclass(frozen=True)
class OptimizerState(ModelRule):
    """Args:
    way: how everything is carried over.
    """

    way: str = "state_dict"

    def applies(self, api: str) -> bool:
        return api.startswith(("torch.nn.", _OPTIMIZERS))

    def of_sample(self, case: Case) -> Case | None:
        """A module that is trained with the settings of an optimizer in torch's own tests, or with ours for none."""
        call = case.subject
        if not isinstance(call, ApiCall) or not call.api.startswith(_OPTIMIZERS):
            return None
        dense = len(call.kwargs) % 2 == 0 or call.api.endswith("Muon")  # which is for matrices
        module = modules(2, len(call.api))[0 if dense else 1]
        settings = {key: _plain(value, case) for key, value in call.kwargs.items()}
        said = json.dumps(settings, separators=(",", ":")) if settings else ""
        variant = _TRAINED + call.api.removeprefix(_OPTIMIZERS) + said
        return replace(module, procedure=replace(module.procedure, variant=variant))

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Modules, each with an optimizer of its own; all optimizers at least once."""
        found = []
        for place, case in enumerate(modules(max(count, len(OPTIMIZERS)), seed)):
            variant = _TRAINED + OPTIMIZERS[place % len(OPTIMIZERS)]
            found.append(replace(case, procedure=replace(case.procedure, variant=variant)))
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        variant = case.procedure.variant
        if not isinstance(case.subject, ApiCall) or not variant.startswith(_TRAINED) or ", " in variant:
            return None
        return Counterpart(procedure=replace(case.procedure, variant=f"{variant}, {self.way}"))


def _plain(value: Any, case: Case) -> Json:
    """A setting as JSON; one that is a tensor says so."""
    if isinstance(value, ArrayArg):
        return {"$tensor": case.inputs[value.name].tolist()}
    return list(value.items) if isinstance(value, TupleArg) else value


_ABSENT = {"tensorflow": "models are Keras'", "jax": "it has no models", "keras": "see whole-keras"}
_STATEMENT = "train(M, O) = train(load(save(M, O)))"


def _rule(name: str, way: str) -> OptimizerState:
    return OptimizerState(name, 16, Category.EVALUATION, _STATEMENT, _ABSENT, cost=1, way=way)


OPTIMIZER_STATE = _rule("optimizer-state", "state_dict")
OPTIMIZER_COPY = _rule("optimizer-copy", "deep copy")
OPTIMIZER_FILE = _rule("optimizer-file", "torch.save")
_AT_ONCE = "train(M, O) = train(M, O that takes parameters at once)"
OPTIMIZER_FOREACH = OptimizerState(
    "optimizer-foreach", 0, Category.BEYOND, _AT_ONCE, _ABSENT, Demands(optional=True), cost=1, way="foreach"
)
OPTIMIZER_FUSED = OptimizerState(
    "optimizer-fused", 0, Category.BEYOND, _AT_ONCE, _ABSENT, Demands(optional=True), cost=1, way="fused"
)
