"""Where masks go in a graph, by the catalogue's rules: they are not carried in torch, so nothing may read one."""

from __future__ import annotations

from ....core.graph import LayerGraph
from ....operators.catalogue import layer
from ....operators.spec import no_masks
from .program import Refusal

#: Layers that read a mask in training only.
_IN_TRAINING = frozenset(["BatchNormalization"])


def check_masks(graph: LayerGraph, *, training: bool, loss: bool) -> None:
    """Refuse a graph in which a mask changes a number.

    Raises:
        Refusal: naming the layer that reads the mask.
    """
    masked: set[str] = set()
    for node in graph.nodes:
        spec = layer(node.op)
        reached = any(ref.node in masked for ref in node.inputs)
        if reached and spec.masked is not None and (training or node.op not in _IN_TRAINING):
            raise Refusal(f"a mask reaches {node.name!r} ({node.op}), and masks are not carried in torch")
        source = node.op == "Masking" or bool(node.params.get("mask_zero"))
        if source or (reached and spec.masks is not no_masks):
            masked.add(node.name)
    if loss and any(ref.node in masked for ref in graph.outputs):
        raise Refusal("a mask reaches the loss, and masks are not carried in torch")
