"""A layer inside of a layer: the serialized form that wrappers take as a parameter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...core.jsontext import Json
from ..arguments import refuse
from ..catalogue import layer
from ..spec import LayerSpec, Params


@dataclass(frozen=True, slots=True)
class Nested:
    """The layer a wrapper wraps: its declaration, its parameters with the defaults, and its name."""

    spec: LayerSpec
    params: Mapping[str, Json]
    name: str


def serialized_layer(kind: str, name: str, **params: Json) -> Json:
    """A layer the way Keras writes it down inside of another. The name is part of its weights' names."""
    return {
        "module": "keras.layers",
        "class_name": kind,
        "config": {"name": name, **params},
        "registered_name": None,
    }


def nested_layer(params: Params, argument: str, allowed: Collection[str]) -> Nested:
    """The layer that a parameter holds in serialized form.

    Raises:
        ShapeError: if it is none of the allowed kinds, or has no name.
    """
    value = params[argument]
    good = isinstance(value, dict) and value.get("class_name") in allowed and isinstance(value.get("config"), dict)
    if not good or not isinstance(value["config"].get("name"), str):
        refuse(argument, f"a serialized and named layer, one of {', '.join(sorted(allowed))}", value)
    spec = layer(value["class_name"])
    declared = {parameter.name for parameter in spec.parameters}
    config = {name: item for name, item in value["config"].items() if name in declared}
    return Nested(spec, spec.complete(config), value["config"]["name"])
