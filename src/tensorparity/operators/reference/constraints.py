"""What a weight is held to after every step of the optimizer: Keras' constraints, by their formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...core.arrays import Array
from ...core.graph import Node
from ...core.jsontext import Json
from ..arguments import gives_argument
from ..catalogue import has_layer, layer
from ..spec import Evaluation, ShapeError
from .rounding import growth

#: Keras' fuzz factor, which keeps a norm of 0 from dividing.
_EPSILON = 1e-7
#: The squares of smaller numbers are not normal in float32.
_LEAST_NORM = 1e-15
_ARGUMENT = "_constraint"

_Config = Mapping[str, Json]


def constrained(constraint: Json, weight: Evaluation) -> Evaluation:
    """The weight as its constraint leaves it.

    Args:
        constraint: None, Keras' name of it, or its class and configuration.

    Raises:
        ShapeError: if there is no formula of it here.
    """
    if constraint is None:
        return weight
    name = constraint.get("class_name") if isinstance(constraint, dict) else constraint
    config = constraint.get("config") if isinstance(constraint, dict) else {}
    if name not in _FORMULAS:
        raise ShapeError(f"Argument `constraint`: expected one of {sorted(_FORMULAS)}. Received: {constraint!r}")
    try:
        with np.errstate(all="ignore"):
            return _FORMULAS[name](config if isinstance(config, dict) else {}, weight)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"Argument `constraint`: {error}. Received: {constraint!r}") from error


def _non_negative(config: _Config, weight: Evaluation) -> Evaluation:
    # what rounding did to a negative weight may have taken it above 0
    return Evaluation(np.maximum(weight.value, 0.0), weight.kappa + np.abs(weight.value))


def _to_norm(config: _Config, weight: Evaluation, wanted: Callable[[Array], Array]) -> Evaluation:
    """The weight scaled so that its Euclidean length along the axis is the wanted one."""
    axis = config.get("axis", 0)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else int(axis)
    w, kappa = weight.value, np.broadcast_to(weight.kappa, weight.value.shape)
    norms = np.sqrt(np.sum(np.square(w), axis=axes, keepdims=True))
    scale = wanted(norms) / (_EPSILON + norms)
    count = max(1, w.size // max(1, norms.size))
    value = w * scale
    # how far rounding takes the norm, as a share of it
    carried = np.sum(np.abs(w) * (kappa + np.abs(w)), axis=axes, keepdims=True) / np.square(norms)
    bound = scale * (kappa + np.abs(w)) + np.abs(value) * (4.0 + growth(count) + 2.0 * carried)
    return Evaluation(value, np.where(norms < _LEAST_NORM, np.inf, bound))


def _max_norm(config: _Config, weight: Evaluation) -> Evaluation:
    most = float(config.get("max_value", 2))
    return _to_norm(config, weight, lambda norms: np.clip(norms, 0.0, most))


def _unit_norm(config: _Config, weight: Evaluation) -> Evaluation:
    return _to_norm(config, weight, np.ones_like)


def _min_max_norm(config: _Config, weight: Evaluation) -> Evaluation:
    least, most = float(config.get("min_value", 0.0)), float(config.get("max_value", 1.0))
    rate = float(config.get("rate", 1.0))
    return _to_norm(config, weight, lambda norms: rate * np.clip(norms, least, most) + (1.0 - rate) * norms)


_FORMULAS: dict[Json, Callable[[_Config, Evaluation], Evaluation]] = {
    "max_norm": _max_norm,
    "MaxNorm": _max_norm,
    "min_max_norm": _min_max_norm,
    "MinMaxNorm": _min_max_norm,
    "non_neg": _non_negative,
    "NonNeg": _non_negative,
    "unit_norm": _unit_norm,
    "UnitNorm": _unit_norm,
}


# A layer


def constraint_on(node: Node, weight: str) -> Json:
    """The constraint of one of a layer's weights, by its name inside of the layer; None where there is none."""
    if not has_layer(node.op):
        return None
    names = [name for name, governed in layer(node.op).governed.items() if governed == weight]
    return next((node.params.get(name + _ARGUMENT) for name in names), None)


def has_unknown_constraint(node: Node) -> bool:
    """Whether something inside of the layer, or an argument that is not declared, may hold a weight to something."""
    known = {name + _ARGUMENT for name in layer(node.op).governed} if has_layer(node.op) else set()
    return gives_argument({name: value for name, value in node.params.items() if name not in known}, _ARGUMENT)
