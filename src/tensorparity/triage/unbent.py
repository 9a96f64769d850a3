"""A layer without its activations: what the rounding of their derivatives is measured by.

Libraries take the derivative of tanh, sigmoid or softmax from the rounded output. Where it saturates, hardly anything
is left of 1 - y * y but the rounding of y: small beside the slope that the layer would have without an activation, and
large beside the slope that it has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ..core.graph import Node
from ..core.jsontext import Json
from ..operators.catalogue import layer

_ARGUMENTS = ("activation", "recurrent_activation")
#: Whose derivative is not taken from a rounded output.
_STRAIGHT = (None, "linear", "relu", "leaky_relu", "relu6")
#: Cells and layers that bend by default, and what by.
_BENT_BY_DEFAULT = {"SimpleRNN": 1, "LSTM": 2, "GRU": 2}


def unbent(node: Node) -> Node | None:
    """The same layer with linear activations, inside of wrappers and cells as well; None where it has no others."""
    if node.op == "Softmax":
        return replace(node, op="Identity", params={})
    params = layer(node.op).complete(node.params)
    changed: dict[str, Json] = {
        name: "linear" for name in _ARGUMENTS if name in params and params[name] not in _STRAIGHT
    }
    for name, value in params.items():
        straight = _inside(value)
        if straight != value:
            changed[name] = straight
    return replace(node, params={**node.params, **changed}) if changed else None


def _inside(value: Json) -> Json:
    """A serialized layer or cell, and what it holds, with linear activations."""
    if isinstance(value, (list, tuple)):
        return [_inside(item) for item in value]
    if not isinstance(value, dict) or "class_name" not in value:
        return value
    config = {name: _inside(item) for name, item in cast(dict[str, Json], value.get("config") or {}).items()}
    count = _BENT_BY_DEFAULT.get(value["class_name"].removesuffix("Cell"), 0)
    names = {*_ARGUMENTS[:count], *(name for name in _ARGUMENTS if config.get(name) not in _STRAIGHT)}
    return {**value, "config": {**config, **dict.fromkeys(sorted(names), "linear")}}
