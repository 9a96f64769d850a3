"""The layers of an ONNX model: names for its nodes, what flows between them, how it is fed.

Operators are called ``onnx.Conv``, so that nobody takes them for a layer of the catalogue: ONNX's Softmax
is not Keras'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ..graph import InputSpec, LayerGraph, Node, Ref
from .model import OnnxGraph, OnnxNode, Size, Value

PREFIX = "onnx."

#: What these give is drawn, so two runtimes need not agree.
RANDOM = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"]
)

_CONSTANT = "Constant"


class Feeding(Enum):
    """How instances become inputs of the model."""

    BATCH = "batch"
    """All inputs and outputs begin with a batch axis of any size."""
    ROWS = "rows"
    """The batch axis is there, and its size is one: one run per instance."""
    ITEMS = "items"
    """There is no common batch axis: an instance is a whole set of inputs."""


def feeding_of(inputs: Sequence[Value], outputs: Sequence[Value]) -> Feeding:
    """By what the file declares; inputs must say their rank."""
    first = [value.shape[0] if value.shape else 0 for value in inputs]
    last = [value.shape[0] if value.shape else 0 for value in outputs if value.shape is not None]
    names = {size for size in first if isinstance(size, str)}
    elsewhere = {size for value in inputs for size in (value.shape or ())[1:] if isinstance(size, str)}
    if all(map(_open, first)) and len(names) <= 1 and all(_open(size) and size not in elsewhere for size in last):
        return Feeding.BATCH
    if all(size == 1 for size in first) and all(value.shape and value.shape[0] == 1 for value in outputs):
        return Feeding.ROWS
    return Feeding.ITEMS


def _open(size: Size) -> bool:
    return not isinstance(size, int)


@dataclass(frozen=True)
class Layer:
    """A node that computes something: its unique name, and the tensors that flow in and out."""

    name: str
    node: OnnxNode
    given: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.name}#0"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Those it really has; an optional one may be left out, also the first."""
        return tuple(name for name in self.node.outputs if name)

    def output_key(self, index: int) -> str:
        return self.key if index == 0 else f"{self.key}.{index}"


class OnnxLayers:
    """The nodes of a graph as layers.

    Raises:
        UsageError: from ``graph``, if a tensor is used before it exists or a name is given twice.
    """

    def __init__(self, graph: OnnxGraph) -> None:
        self.source = graph
        #: Those that are compared: no sequences, maps or strings.
        self.outputs = tuple(value for value in graph.outputs if _is_numeric(value))
        self.feeding = feeding_of(graph.inputs, self.outputs)
        #: Constants by the tensor they give: nodes that compute nothing.
        self.constants: Mapping[str, OnnxNode] = {
            node.outputs[0]: node for node in graph.nodes if _is_constant(node) and node.outputs
        }

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        taken = {value.name for value in self.source.inputs}
        found: list[Layer] = []
        for index, node in enumerate(self.source.nodes):
            if not _is_constant(node):
                name = _unique(node.name.replace("#", "_") or f"{node.op}_{index}", taken)
                found.append(Layer(name, node, self._tensors_into(node)))
        return tuple(found)

    def _tensors_into(self, node: OnnxNode) -> tuple[str, ...]:
        """The tensors that are computed or fed: what subgraphs capture comes last."""
        return tuple(name for name in (*node.inputs, *node.captured) if name and not self.is_fixed(name))

    def is_fixed(self, tensor: str) -> bool:
        return tensor in self.source.initializers or tensor in self.constants

    def graph(self, name: str) -> LayerGraph:
        """The layers as a LayerGraph: weights and constants are not in it."""
        refs = {value.name: Ref(value.name) for value in self.source.inputs}
        nodes: list[Node] = []
        for layer in self.layers:
            inputs = tuple(refs.get(tensor, Ref(tensor)) for tensor in layer.given)
            nodes.append(Node(layer.name, PREFIX + layer.node.full_op, inputs, layer.node.attributes))
            refs.update({tensor: Ref(layer.name, index) for index, tensor in enumerate(layer.outputs)})
        outputs = tuple(refs[value.name] for value in self.outputs if value.name in refs)
        return LayerGraph(self.specs(), tuple(nodes), outputs, name)

    def specs(self) -> tuple[InputSpec, ...]:
        """The signature: shapes without the batch axis, where there is one."""
        cut = 0 if self.feeding is Feeding.ITEMS else 1
        return tuple(
            InputSpec(value.name, tuple(_number(size) for size in (value.shape or ())[cut:]), value.dtype)
            for value in self.source.inputs
        )


def _number(size: Size) -> int | None:
    return size if isinstance(size, int) else None


def _is_numeric(value: Value) -> bool:
    return value.kind in ("tensor", "untyped") and value.dtype != "string"


def _is_constant(node: OnnxNode) -> bool:
    return node.standard and node.op == _CONSTANT


def _unique(name: str, taken: set[str]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
