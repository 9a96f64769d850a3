"""An operator of ONNX as a call of a public function: its attributes are arguments, and two words say the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..call import ApiCall
from .layers import PREFIX

#: Arguments that are no attributes: the version of the operators, and which of its outputs the node has.
OPSET, OUTPUTS = "opset", "outputs"


def is_operator(call: object) -> bool:
    return isinstance(call, ApiCall) and call.api.startswith(PREFIX)


def domain_and_type(api: str) -> tuple[str, str]:
    """``onnx.Softmax`` is of the standard's domain, ``onnx.ai.onnx.ml.Scaler`` of ``ai.onnx.ml``."""
    domain, _, op = api.removeprefix(PREFIX).rpartition(".")
    return domain, op


def attributes_of(call: ApiCall) -> dict[str, Any]:
    return {name: value for name, value in call.kwargs.items() if name not in (OPSET, OUTPUTS)}


def shown_outputs(arguments: Mapping[str, Any]) -> tuple[bool, ...]:
    """By place, whether the node has that output; one by default."""
    return tuple(bool(item) for item in arguments.get(OUTPUTS, (True,)))
