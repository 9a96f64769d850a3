"""The layers of a model file as a library read them: a graph that says what the catalogue declares, and no more."""

from __future__ import annotations

from ..core.arrays import Arrays
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..core.onnx.layers import PREFIX as ONNX_PREFIX
from ..core.outcome import Outcome
from .catalogue import has_layer, layer

#: Of an unknown layer's configuration: what concerns Keras' bookkeeping, not the computation.
_BOOKKEEPING = ("name", "trainable", "dtype", "build_config")


def read_layers(outcome: Outcome) -> tuple[LayerGraph, Arrays]:
    """Graph and weights of a file that a target has read (``Goal.LAYERS``)."""
    graph = outcome.reply["graph"]
    trimmed = {**graph, "nodes": [{**node, "params": _declared_config(node)} for node in graph["nodes"]]}
    return LayerGraph.from_json(trimmed), outcome.outputs


def _declared_config(node: Json) -> Json:
    """Of a layer's configuration, what the catalogue declares and what is not at its default."""
    params = node["params"]
    if node["op"].startswith(ONNX_PREFIX):
        return params  # attributes of the operator, and nothing else
    if not has_layer(node["op"]):
        return {name: value for name, value in params.items() if name not in _BOOKKEEPING}
    declared = layer(node["op"]).significant(params)
    if declared.get("data_format") == "channels_last":
        del declared["data_format"]  # Keras writes its default out
    return declared
