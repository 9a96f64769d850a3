"""Arguments of layers that a lowering need not know, because they change nothing that it computes."""

from __future__ import annotations

from ...core.graph import Node
from ...core.jsontext import Json
from ...operators.catalogue import layer

#: Arguments the catalogue leaves out because they change nothing in inference.
_WITHOUT_EFFECT = frozenset({"name", "trainable", "autocast", "synchronized"})
_SUFFIXES_WITHOUT_EFFECT = ("_initializer", "_regularizer", "_constraint")


#: ... and those of them that do in training, with the value that does not.
_IN_TRAINING: dict[str, Json] = {"trainable": True}


def undeclared(node: Node, training: bool) -> str | None:
    """A parameter of the node that the catalogue does not declare and that may matter, as ``name=value``."""
    declared = layer(node.op).defaults()
    for name, value in node.params.items():
        trained = training and layer(node.op).training is not None and value != _IN_TRAINING.get(name, value)
        if name not in declared and (trained or not _without_effect(name, value)):
            return f"{name}={value!r}"
    return None


def _without_effect(name: str, value: Json) -> bool:
    if name == "dtype":
        return _policy_name(value) in (None, "float32")
    return name in _WITHOUT_EFFECT or name.endswith(_SUFFIXES_WITHOUT_EFFECT) or value is None or value is False


def _policy_name(value: Json) -> Json:
    """The name of a dtype policy, which a layer's configuration holds plainly or as a serialised object."""
    if isinstance(value, dict):
        return value.get("config", {}).get("name", value)
    return value
