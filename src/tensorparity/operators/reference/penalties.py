"""Penalties that a layer adds to the loss: of its weights, and of what it gives.

    l1 * sum |x| + l2 * sum x^2

of a weight as it is, of an output divided by the size of the batch. A layer adds those of its weights once, those of
its outputs with every call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.graph import LayerGraph, Node
from ...core.jsontext import Json, mappings
from ..arguments import gives_argument, is_number, refuse
from ..catalogue import has_layer, layer
from ..spec import Evaluation, ShapeError
from .rounding import growth

#: The factor of a regularizer that is named and not configured.
_DEFAULT = 0.01
_LARGEST = float(np.finfo(np.float32).max)
_ARGUMENT = "_regularizer"


@dataclass(frozen=True, slots=True)
class Factors:
    """The one formula that all of these regularizers are."""

    l1: float = 0.0
    l2: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.l1 or self.l2)

    def of(self, x: Array) -> Evaluation:
        """The penalty of each number; nothing is known where float32 overflows before the factor brings it back."""
        x = x.astype(np.float64)
        with np.errstate(all="ignore"):
            parts = [(self.l1, np.abs(x)), (self.l2, np.square(x))]
            value = sum((factor * part for factor, part in parts if factor), np.zeros(x.shape))
            over = np.any([part > _LARGEST for factor, part in parts if factor] or [np.zeros(x.shape, bool)], axis=0)
        return Evaluation(value, np.where(over, np.inf, 2.0 * np.abs(value)))

    def of_output(self, x: Array) -> Evaluation:
        """The penalty of each number of an output, which counts a batch as one."""
        each = self.of(x)
        size = max(1, len(x)) if x.ndim else 1
        return Evaluation(each.value / size, each.kappa / size)


def factors_of(regularizer: Json) -> Factors:
    """What a regularizer stands for: None, Keras' name of it, or its class and configuration.

    Raises:
        ShapeError: if it is none that has this formula, or has a factor that is no number.
    """
    if regularizer is None:
        return Factors()
    name = regularizer.get("class_name") if isinstance(regularizer, dict) else regularizer
    config = regularizer.get("config") if isinstance(regularizer, dict) else {}
    config = config if isinstance(config, dict) else {}
    if name in ("l1", "L1"):
        return Factors(l1=_factor(config, "l1", _DEFAULT))
    if name in ("l2", "L2"):
        return Factors(l2=_factor(config, "l2", _DEFAULT))
    if name in ("l1l2", "L1L2"):
        return Factors(_factor(config, "l1", 0.0), _factor(config, "l2", 0.0))
    raise ShapeError(f"Argument `regularizer`: expected None, L1, L2 or L1L2. Received: {regularizer!r}")


def _factor(config: Mapping[str, Json], name: str, default: float) -> float:
    value = config.get(name)
    if value is not None and not is_number(value):
        refuse(name, "a number", value)
    return default if value is None else float(value)


# A layer


def weight_factors(node: Node) -> dict[str, Factors]:
    """The penalties of a layer's weights, by the name of the weight inside of the layer.

    Raises:
        ShapeError: if the layer may add one that has no formula here.
    """
    if not has_layer(node.op) or node.params.get("trainable") is False:  # what is not trained is not penalized
        return {}
    governed = layer(node.op).governed
    found = {weight: factors_of(node.params.get(name + _ARGUMENT)) for name, weight in governed.items()}
    return {weight: factors for weight, factors in found.items() if factors}


def output_factors(node: Node) -> Factors:
    """The penalty of whatever the layer gives.

    Raises:
        ShapeError: if it has no formula here.
    """
    if not has_layer(node.op):
        return Factors()
    spec = layer(node.op)
    return factors_of(spec.activity(spec.complete(node.params)))


def adds_penalties(node: Node) -> bool:
    """Whether the layer adds something to the loss, whether or not it has a formula here."""
    try:
        return bool(output_factors(node) or weight_factors(node)) or has_unknown_penalty(node)
    except ShapeError:
        return True


def penalizes_outputs(node: Node) -> bool:
    """Whether the layer adds something of its outputs to the loss, or may do so."""
    try:
        return bool(output_factors(node))
    except ShapeError:
        return True


def has_unknown_penalty(node: Node) -> bool:
    """Whether something inside of the layer, or an argument that is not declared, may add a penalty."""
    if not has_layer(node.op):
        return _mentions_penalty(node.params)
    spec = layer(node.op)
    known = {name + _ARGUMENT for name in spec.governed}
    known |= {parameter.name for parameter in spec.parameters}
    own = {name: value for name, value in node.params.items() if name not in known}
    inside = [value for name, value in node.params.items() if name in known and not name.endswith(_ARGUMENT)]
    return _mentions_penalty(own) or any(_mentions_penalty(value) for value in inside)


def _mentions_penalty(value: Json) -> bool:
    return gives_argument(value, _ARGUMENT) or any(
        mapping.get("class_name") == "ActivityRegularization" for mapping in mappings(value)
    )


# A graph


def penalty_terms(
    graph: LayerGraph, weights: Mapping[str, Array], outputs: Mapping[str, Sequence[Array]]
) -> list[Evaluation]:
    """All that the layers of a graph add to the loss, number by number.

    Args:
        weights: by ``layer/weight``.
        outputs: all outputs of each node that penalizes them, by its key.

    Raises:
        ShapeError: if a layer may add something that has no formula here, or its outputs are not given.
    """
    found: list[Evaluation] = []
    seen: set[str] = set()
    for node in graph.nodes:
        if has_unknown_penalty(node):
            raise ShapeError(f"node {node.name!r} ({node.op}) may add a penalty that has no formula")
        if node.layer not in seen:
            seen.add(node.layer)
            for name, factors in weight_factors(node).items():
                if f"{node.layer}/{name}" in weights:  # a layer without a bias has no penalty of it
                    found.append(factors.of(weights[f"{node.layer}/{name}"]))
        own = output_factors(node)
        if own and not outputs.get(node.key):
            raise ShapeError(f"node {node.name!r}: its outputs are not known, of which there is a penalty")
        found += [own.of_output(array) for array in outputs[node.key]] if own else []
    return found


def summed(terms: Sequence[Evaluation]) -> Evaluation:
    """Penalties as one number with its rounding: each is a sum of its own, in the dtype of what it is of."""
    value = sum(float(part.value.sum()) for part in terms)
    kappa = sum(float(part.kappa.sum()) + growth(part.value.size) * float(np.abs(part.value).sum()) for part in terms)
    return Evaluation(np.asarray(value), np.asarray(kappa))
