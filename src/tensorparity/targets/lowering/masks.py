"""Where masks go in a graph, by the catalogue's rules: no lowered form carries them, so nothing may read one."""

from __future__ import annotations

from ...core.graph import LayerGraph
from ...operators.catalogue import has_layer, layer
from ...operators.spec import no_masks

#: Layers that read a mask in training only.
_IN_TRAINING = frozenset(["BatchNormalization"])


def mask_read(graph: LayerGraph, *, training: bool, loss: bool) -> str:
    """Where a mask changes a number, as in "a mask reaches ..."; empty where none does."""
    masked: set[str] = set()
    for node in graph.nodes:
        if not has_layer(node.op):  # refused on its own account
            continue
        spec = layer(node.op)
        reached = any(ref.node in masked for ref in node.inputs)
        if reached and spec.masked is not None and (training or node.op not in _IN_TRAINING):
            return f"a mask reaches {node.name!r} ({node.op})"
        source = node.op == "Masking" or bool(node.params.get("mask_zero"))
        if source or (reached and spec.masks is not no_masks):
            masked.add(node.name)
    if loss and any(ref.node in masked for ref in graph.outputs):
        return "a mask reaches the loss"
    return ""
