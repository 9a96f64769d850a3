"""A layer without its activations: what the rounding of their derivatives is measured by.

Libraries take the derivative of tanh, sigmoid or softmax from the rounded output. Where it saturates, hardly anything
is left of 1 - y * y but the rounding of y: small beside the slope that the layer would have without an activation, and
large beside the slope that it has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ...core.graph import Node
from ...core.jsontext import Json
from ...operators.catalogue import layer

#: Not the one of gates: products of gates without bounds would grow beyond all measure from step to step.
_ARGUMENT = "activation"
#: Whose derivative is not taken from a rounded output.
_STRAIGHT = (None, "linear", "relu", "leaky_relu", "relu6")
#: Cells and layers inside of others that bend by default.
_BENT_BY_DEFAULT = ("SimpleRNN", "LSTM", "GRU")


def without_activations(node: Node) -> Node | None:
    """The same layer with a linear activation, inside of wrappers and cells as well; None where it has no others."""
    if node.op == "Softmax":
        return replace(node, op="Identity", params={})
    params = layer(node.op).complete(node.params)
    changed: dict[str, Json] = {} if params.get(_ARGUMENT) in _STRAIGHT else {_ARGUMENT: "linear"}
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
    by_default = value["class_name"].removesuffix("Cell") in _BENT_BY_DEFAULT and _ARGUMENT not in config
    bends = by_default or config.get(_ARGUMENT) not in _STRAIGHT
    return {**value, "config": {**config, _ARGUMENT: "linear"} if bends else config}
