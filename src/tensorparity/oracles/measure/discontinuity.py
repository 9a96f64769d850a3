"""Where a last bit may turn into a large difference without anybody being wrong (decision 13)."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.graph import LayerGraph, Node
from ...core.jsontext import Json
from ...operators.catalogue import has_layer, layer


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Operators that step, by their name without prefix, overload, case and underscores.
_STEPPING = _words(
    """
    round rint floor ceil trunc fix sign signbit heaviside floordivide floordiv mod fmod remainder
    argmax argmin topk intopk sort argsort argpartition searchsorted bucketize digitize nonmaxsuppression
    equal notequal less lessequal lessorequal greater greaterequal greaterorequal eq ne lt le gt ge isclose
    nonzero unique histogram bincount hardmax quantizelinear dynamicquantizelinear
    """
)
_QUANTIZED = "qlinear"
_CASTS = _words("cast castlike to tocopy totype astype converttype")
#: Integers and booleans among ONNX' TensorProto.DataType.
_ONNX_STEPS = frozenset([2, 3, 4, 5, 6, 7, 9, 12, 13, 21, 22])

#: Operators that only move values about: what they are given exactly, they give on exactly.
_MOVING = _words(
    """
    inputlayer identity flatten reshape view permute transpose squeeze unsqueeze expanddims concatenate concat cat
    stack split slice gather repeatvector zeropadding1d zeropadding2d zeropadding3d cropping1d cropping2d cropping3d
    clone contiguous getitem select indexselect masking embedding alias detach
    """
)
#: Operators whose answer depends on no value of their input.
_SIZES = _words("shape size symsize ndim")


def downstream_of_discontinuity(graph: LayerGraph) -> set[str]:
    """Keys of the nodes that step on values which may carry rounding, and of all that depend on them.

    A discontinuity straight behind the graph's inputs (an Embedding of token ids) sees the same numbers
    everywhere and excuses nothing.
    """
    rounded: set[str] = set()
    stepped: set[str] = set()
    for node in graph.nodes:
        sources = {ref.node for ref in node.inputs}
        name = plain_name(node.op)
        if name in _SIZES:
            continue
        steps = is_discontinuous(node)
        if sources & stepped or (steps and sources & rounded):
            stepped.add(node.name)
        exact = not sources or name in _MOVING or steps
        if sources & rounded or not exact:
            rounded.add(node.name)
    return {node.key for node in graph.nodes if node.name in stepped}


def is_discontinuous(node: Node) -> bool:
    """A last-bit difference of the node's input may change its output by much."""
    if has_layer(node.op) and layer(node.op).discontinuous:
        return True
    name = plain_name(node.op)
    if name in _CASTS:
        return _to_integer({**node.params, **node.call_params})
    return name in _STEPPING or name.startswith(_QUANTIZED)


def plain_name(op: str) -> str:
    """``ArgMax``, ``onnx.ArgMax`` and ``torch.ops.aten.argmax.default`` all as ``argmax``."""
    parts = op.split(".")
    name = parts[3] if op.startswith("torch.ops.") and len(parts) > 3 else parts[-1]
    return name.replace("_", "").lower()


def _to_integer(params: Mapping[str, Json]) -> bool:
    for key in ("dtype", "to"):
        value = params.get(key)
        if isinstance(value, int):
            return value in _ONNX_STEPS
        if isinstance(value, str):
            return value.rpartition(".")[2].lower().startswith(("int", "uint", "bool", "long", "short"))
    return False
