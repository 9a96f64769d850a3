"""Rule 16, save and load: a model answers the same after it was saved and loaded, in every way a library offers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.call import CALLED, ApiCall
from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.rule import Agreement, Demands
from .base import Category
from .models import ModelRule


@dataclass(frozen=True)
class SaveAndLoad(ModelRule):
    """One way; ``state_dict`` promises the weights, and not what a constructor was given."""

    way: str = ""

    def counterpart(self, case: Case) -> Counterpart | None:
        if isinstance(case.subject, LayerGraph):
            return Counterpart(procedure=replace(case.procedure, reload=True, variant=self.way))
        if not isinstance(case.subject, ApiCall) or case.subject.api != CALLED:
            return None
        return Counterpart(procedure=replace(case.procedure, variant=self.way or "saved"))


_STATEMENT = "eval(M, I) = save(M), eval(load(M), I)"
_NO_MODELS = {"tensorflow": "models are Keras'", "jax": "it has no models"}


def _rule(name: str, way: str, other: str) -> SaveAndLoad:
    absent = {**_NO_MODELS, other: f"that is {'Keras' if other == 'torch' else 'torch'}'s way"}
    demands = Demands(agreement=Agreement.BITS) if other == "keras" else Demands()
    return SaveAndLoad(name, 16, Category.EVALUATION, _STATEMENT, absent, demands, way=way)


KERAS_FILE = _rule("save-keras", "", "torch")
KERAS_H5 = _rule("save-h5", "h5", "torch")
KERAS_WEIGHTS = _rule("save-weights", "weights", "torch")
KERAS_CONFIG = _rule("from-config", "config", "torch")
KERAS_CLONE = _rule("clone-model", "clone", "torch")
KERAS_JSON = _rule("to-json", "json", "torch")
STATE_DICT = _rule("state-dict", "state_dict", "keras")
PICKLE = _rule("torch-save", "torch.save", "keras")
DEEP_COPY = _rule("deep-copy", "deep copy", "keras")
MODULE_EXPORT = _rule("module-export", "export", "keras")
