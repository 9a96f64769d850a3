"""LayerGraph, our IR: layers with parameters and the tensors that flow between them.

Weights are not in here but in the Case, as arrays named ``layer/weight``. Two nodes with the same
``layer`` share their weights; ``call`` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from . import fields
from .errors import UsageError
from .jsontext import Json, canonical


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input of a graph. ``shape`` is without the batch axis; None is a size that may vary."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str = "float32"

    def to_json(self) -> Json:
        return {"name": self.name, "shape": list(self.shape), "dtype": self.dtype}

    @classmethod
    def from_json(cls, data: Json) -> InputSpec:
        shape = fields.field(data, "shape", list)
        sizes = tuple(None if size is None else fields.item(size, int, "shape") for size in shape)
        return cls(fields.field(data, "name", str), sizes, fields.field(data, "dtype", str))


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor: output ``index`` of node ``node``, or the graph input of that name."""

    node: str
    index: int = 0

    def to_json(self) -> Json:
        return [self.node, self.index]

    @classmethod
    def from_json(cls, data: Json) -> Ref:
        node, index = fields.item(data, list, "a tensor")
        return cls(fields.item(node, str, "a tensor's node"), fields.item(index, int, "a tensor's index"))


@dataclass(frozen=True, slots=True)
class Node:
    """One call of one layer.

    ``op`` is the catalogue's name of the layer type (``Conv2D``); ``params`` the constructor's
    arguments that differ from the default; ``call_params`` those of the call itself. ``name`` is
    unique in the graph and equals ``layer`` unless the layer is called more than once.
    """

    name: str
    op: str
    inputs: tuple[Ref, ...]
    params: Mapping[str, Json] = field(default_factory=dict)
    layer: str = ""
    call: int = 0
    call_params: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layer", self.layer or self.name)
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))
        object.__setattr__(self, "call_params", MappingProxyType(dict(self.call_params)))

    @property
    def key(self) -> str:
        """How traces name this node: layer and call index, as decision 6 asks."""
        return f"{self.layer}#{self.call}"

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "op": self.op,
            "inputs": [ref.to_json() for ref in self.inputs],
            "params": dict(self.params),
            "layer": self.layer,
            "call": self.call,
            "call_params": dict(self.call_params),
        }

    @classmethod
    def from_json(cls, data: Json) -> Node:
        return cls(
            name=fields.field(data, "name", str),
            op=fields.field(data, "op", str),
            inputs=tuple(Ref.from_json(ref) for ref in fields.field(data, "inputs", list)),
            params=fields.field(data, "params", dict),
            layer=fields.field(data, "layer", str),
            call=fields.field(data, "call", int),
            call_params=fields.field(data, "call_params", dict),
        )


def leading_to(nodes: Sequence[Node], names: Iterable[str]) -> set[str]:
    """The names of all nodes and inputs that these depend on, and their own; nodes come in the order of the flow."""
    needed = set(names)
    for node in reversed(nodes):
        if node.name in needed:
            needed.update(ref.node for ref in node.inputs)
    return needed


@dataclass(frozen=True, slots=True)
class LayerGraph:
    """Nodes in topological order between named inputs and outputs.

    Raises:
        UsageError: if a name is used twice, or a tensor is used before it exists.
    """

    inputs: tuple[InputSpec, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Ref, ...]
    name: str = "graph"

    kind = "layer-graph"

    def __post_init__(self) -> None:
        known: set[str] = set()
        for item in self.inputs:
            self._introduce(item.name, known)
        shared: dict[str, Node] = {}
        for node in self.nodes:
            self._require(node.inputs, known, f"node {node.name!r}")
            self._introduce(node.name, known)
            first = shared.setdefault(node.layer, node)
            if first is node:
                continue
            # As JSON: a NaN equals itself there, and a tuple the list it comes back as.
            if (first.op, canonical(first.params)) != (node.op, canonical(node.params)):
                raise UsageError(f"layer {node.layer!r} is declared in two ways: by {first.name!r} and {node.name!r}")
        if not self.outputs:
            raise UsageError(f"graph {self.name!r} has no outputs")
        self._require(self.outputs, known, "the outputs")

    @staticmethod
    def _introduce(name: str, known: set[str]) -> None:
        if name in known:
            raise UsageError(f"two inputs or nodes are named {name!r}")
        known.add(name)

    @staticmethod
    def _require(refs: Iterable[Ref], known: set[str], where: str) -> None:
        for ref in refs:
            if ref.node not in known:
                raise UsageError(f"{where} uses {ref.node!r} before it exists")

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def leading_to(self, name: str) -> set[str]:
        """The names of all nodes and inputs that a node depends on, and its own."""
        return leading_to(self.nodes, [name])

    def predecessors(self, node: Node) -> tuple[Node, ...]:
        by_name = {other.name: other for other in self.nodes}
        return tuple(by_name[ref.node] for ref in node.inputs if ref.node in by_name)

    def to_json(self) -> Json:
        return {
            "kind": self.kind,
            "name": self.name,
            "inputs": [item.to_json() for item in self.inputs],
            "nodes": [node.to_json() for node in self.nodes],
            "outputs": [ref.to_json() for ref in self.outputs],
        }

    @classmethod
    def from_json(cls, data: Json) -> LayerGraph:
        return cls(
            inputs=tuple(InputSpec.from_json(item) for item in fields.field(data, "inputs", list)),
            nodes=tuple(Node.from_json(node) for node in fields.field(data, "nodes", list)),
            outputs=tuple(Ref.from_json(ref) for ref in fields.field(data, "outputs", list)),
            name=fields.field(data, "name", str),
        )


class GraphBuilder:
    """Writes a LayerGraph call by call; the zoo and the tests read better for it."""

    def __init__(self, name: str = "graph") -> None:
        self._name = name
        self._inputs: list[InputSpec] = []
        self._nodes: list[Node] = []
        self._calls: dict[str, int] = {}

    def input(self, name: str, shape: tuple[int | None, ...], dtype: str = "float32") -> Ref:
        self._inputs.append(InputSpec(name, shape, dtype))
        return Ref(name)

    def add(self, op: str, *inputs: Ref, name: str = "", again: str = "", **params: Any) -> Ref:
        """Append a node; ``again`` names an earlier layer to call once more."""
        count = sum(node.op == op for node in self._nodes)
        label = again or name or f"{op.lower()}_{count + 1}"
        call = self._calls.get(label, 0)
        self._calls[label] = call + 1
        unique = label if call == 0 else f"{label}__{call}"
        if call and not params:
            params = dict(next(node for node in self._nodes if node.layer == label).params)
        self._nodes.append(Node(unique, op, tuple(inputs), params, layer=label, call=call))
        return Ref(unique)

    def build(self, *outputs: Ref) -> LayerGraph:
        return LayerGraph(tuple(self._inputs), tuple(self._nodes), tuple(outputs), self._name)


def output_name(ref: Ref) -> str:
    """What an output of a graph is called: by its node, with the index where it is not the first."""
    return ref.node if ref.index == 0 else f"{ref.node}.{ref.index}"
