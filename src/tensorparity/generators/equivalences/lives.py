"""Rules 15 and 16 on models that are compiled and trained: outputs, loss, metrics, weights, configuration, optimizer.

A model takes a step, is saved and loaded in some way, and evaluated; where the optimizer came along, it takes another.
Networks bring their losses and optimizers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Arrays
from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.procedure import Goal
from ...core.rule import Agreement, Demands
from ..networks.networks import NetworkGenerator
from ..networks.settings import NetworkSettings
from .base import Category
from .models import ModelRule

#: How many inputs a model is evaluated on, and trained on in one step.
_INPUTS = 1000
_WHOLE, _MODEL = "lived", "lived model"


@dataclass(frozen=True)
class Life(ModelRule):
    """Args:
    plain: what is compared: with the optimizer's state, or without.
    way: how it is saved and loaded.
    size: of the other side's batches.
    """

    plain: str = _MODEL
    way: str = ""
    size: int | None = None

    def applies(self, api: str) -> bool:
        return super().applies(api) and not api.startswith("torch.")

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Networks with labels, without anything that draws numbers."""
        settings = NetworkSettings(goal=Goal.UPDATE, training=False, max_vertices=6, policies=("float32",))
        generator = NetworkGenerator(seed, settings, {})
        return [lived(generator.next().case, self.plain, self.size) for _ in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, LayerGraph) or case.procedure.variant != self.plain:
            return None
        if self.size is not None:
            return Counterpart(procedure=replace(case.procedure, batch_size=self.size))
        return Counterpart(procedure=replace(case.procedure, variant=f"{self.plain} {self.way}"))


def lived(case: Case, plain: str, size: int | None = None) -> Case:
    """A network as a life, its instances repeated in turn until there are many."""
    count = min(len(array) for array in case.inputs.values())
    index = np.arange(_INPUTS if size else count) % count
    procedure = replace(
        case.procedure,
        goal=Goal.FIT,
        training=True,
        steps=1,
        trace=False,
        variant=plain,
        batch_size=_INPUTS if size else None,
    )
    return replace(case, procedure=procedure, inputs=_rows(case.inputs, index), labels=_rows(case.labels, index))


def _rows(arrays: Arrays, index: np.ndarray) -> Arrays:
    return {name: array[index] for name, array in arrays.items()}


_ABSENT = {
    "tensorflow": "models are Keras'",
    "jax": "it has no models",
    "torch": "see optimizer-state, and the rules of modules",
}
_SAVED = "eval(train(M), I) = save(train(M)), eval(load(M), I)"


def _saved(name: str, plain: str, way: str) -> Life:
    demands = Demands(agreement=Agreement.BITS)
    return Life(name, 16, Category.EVALUATION, _SAVED, _ABSENT, demands, cost=1, plain=plain, way=way)


def _batched(size: int) -> Life:
    statement = f"evaluate(M, I, batch-size={_INPUTS}) = evaluate(M, I, batch-size={size})"
    return Life(f"evaluated-by-{size}", 15, Category.EVALUATION, statement, _ABSENT, cost=1, size=size)


WHOLE_KERAS = _saved("whole-keras", _WHOLE, "keras")
WHOLE_H5 = _saved("whole-h5", _WHOLE, "h5")
MODEL_KERAS = _saved("model-keras", _MODEL, "keras")
MODEL_CONFIG = _saved("model-config", _MODEL, "config")
MODEL_CLONE = _saved("model-clone", _MODEL, "clone")
MODEL_JSON = _saved("model-json", _MODEL, "json")
MODEL_WEIGHTS = _saved("model-weights", _MODEL, "weights")
EVALUATED_BY_7 = _batched(7)
EVALUATED_BY_100 = _batched(100)
