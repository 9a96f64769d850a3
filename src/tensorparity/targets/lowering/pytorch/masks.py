"""Where masks go in a graph, by Keras' rules: they are not carried in torch, so nothing may read one."""

from __future__ import annotations

from ....core.graph import LayerGraph
from ....operators.catalogue import layer, layer_names
from .program import Refusal

#: Layers that compute something else where a mask reaches them.
_READERS = frozenset(
    ["AdditiveAttention", "Attention", "Bidirectional", "GRU", "GlobalAveragePooling1D", "GroupQueryAttention"]
    + ["LSTM", "MultiHeadAttention", "RNN", "SimpleRNN", "Softmax", "TimeDistributed"]
    + [f"ConvLSTM{dims}D" for dims in (1, 2, 3)]
)
#: Layers that make a mask of the index 0, if asked to.
_TABLES = frozenset(["Embedding", "ReversibleEmbedding"])
#: Layers that hand a mask on; all others drop it. Those that pass their input on may do so with the mask attached.
_CARRIERS = frozenset(
    ["Activation", "ActivityRegularization", "Add", "Average", "BatchNormalization", "Concatenate"]
    + ["Dense", "ELU", "GroupNormalization", "Identity"]
    + ["LayerNormalization", "LeakyReLU", "Masking", "Maximum", "Minimum", "Multiply", "Normalization", "PReLU"]
    + ["ReLU", "Rescaling", "Subtract", "UnitNormalization"]
    + [name for name in layer_names() if layer(name).random]
)


def check_masks(graph: LayerGraph, *, training: bool, loss: bool) -> None:
    """Refuse a graph in which a mask changes a number.

    Raises:
        Refusal: naming the layer that reads the mask.
    """
    masked: set[str] = set()
    for node in graph.nodes:
        reached = any(ref.node in masked for ref in node.inputs)
        reads = node.op in _READERS or (training and node.op == "BatchNormalization")
        if reached and reads:
            raise Refusal(f"a mask reaches {node.name!r} ({node.op}), and masks are not carried in torch")
        source = node.op == "Masking" or bool(node.op in _TABLES and node.params.get("mask_zero"))
        if source or (reached and node.op in _CARRIERS):
            masked.add(node.name)
    if loss and any(ref.node in masked for ref in graph.outputs):
        raise Refusal("a mask reaches the loss, and masks are not carried in torch")
