"""Rules 15 and 16 on models that are compiled and trained: outputs, loss, metrics, weights, configuration, optimizer.

A model takes a step, is saved and loaded in some way, and evaluated; where the optimizer came along, it takes another.
Networks bring their losses and optimizers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Arrays
from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.jsontext import Json
from ...core.procedure import Goal
from ...core.rule import Agreement, Demands
from ...operators.catalogue import has_layer, layer
from ...operators.masks_and_states import keeps_states
from ..networks.networks import NetworkGenerator
from ..networks.settings import NetworkSettings
from .base import Category
from .models import ModelRule

#: Networks that are drawn for one that draws nothing itself.
_ATTEMPTS = 6
#: A worker sets these to zero, so that such layers pass on what they are given.
_SILENCED = frozenset({"rate", "stddev"})
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
        drawn = (generator.next().case for _ in range(_ATTEMPTS * count))
        certain = itertools.islice((case for case in drawn if not is_left_to_chance(case)), count)
        return [lived(case, self.plain, self.size) for case in certain]

    def trying(self, model: Case) -> Case:
        return lived(model, self.plain, self.size, keep=True)

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, LayerGraph) or case.procedure.variant != self.plain:
            return None
        if any(keeps_states(node) for node in case.subject.nodes) or is_left_to_chance(case):
            return None  # what it remembers of its training, and what it draws, is saved by nobody
        if self.size is not None:
            return Counterpart(procedure=replace(case.procedure, batch_size=self.size))
        return Counterpart(procedure=replace(case.procedure, variant=f"{self.plain} {self.way}"))


def is_left_to_chance(case: Case) -> bool:
    """Whether a layer of the network, or one inside of it, draws numbers in training that nobody silences."""
    graph = case.subject
    nodes = graph.nodes if isinstance(graph, LayerGraph) else ()
    return any(_draws(node.op, node.params) and not _SILENCED & layer(node.op).defaults().keys() for node in nodes)


def _draws(op: str, params: Mapping[str, Json]) -> bool:
    inner = [value for value in params.values() if isinstance(value, Mapping) and "config" in value]
    own = has_layer(op) and layer(op).draws(layer(op).complete(params))
    return own or any(_draws(str(value.get("class_name")), value["config"]) for value in inner)


def lived(case: Case, plain: str, size: int | None = None, *, keep: bool = False) -> Case:
    """A network as a life; in batches of another size it is evaluated on many instances, no two alike.

    Args:
        keep: the instances are many already.
    """
    count = min(len(array) for array in case.inputs.values())
    index = np.arange(_INPUTS if size else count) % count
    inputs = more_like(case.inputs, _INPUTS, case.seed) if size and not keep else _rows(case.inputs, index)
    procedure = replace(
        case.procedure,
        goal=Goal.FIT,
        training=True,
        steps=1,
        trace=False,
        variant=plain,
        batch_size=_INPUTS if size else None,
    )
    return replace(case, procedure=procedure, inputs=inputs, labels=_rows(case.labels, index))


def more_like(arrays: Arrays, count: int, seed: int) -> Arrays:
    """So many instances, each number one that the array has somewhere; fractions a little nearer to zero."""
    rng = np.random.default_rng([seed, 1000])
    found = {}
    for name, array in arrays.items():
        drawn = rng.choice(array.reshape(-1), (count, *array.shape[1:]))
        if array.dtype.kind == "f":
            drawn = (drawn * rng.uniform(0.5, 1.0, drawn.shape)).astype(array.dtype)
        found[name] = drawn
    return found


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
