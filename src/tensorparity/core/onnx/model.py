"""An ONNX model decoded as far as it is looked at; everything else stays the bytes it was.

Numbers of fields are those of ``onnx.proto3``, which only ever grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..jsontext import Json
from .wire import Buffer, Field, WireError, delimited_field, read_fields

#: TensorProto.DataType by the name a dtype travels under here; the others exist, but not in NumPy.
DATA_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "string": 8,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e5m2": 19,
}
DTYPES = {number: name for name, number in DATA_TYPES.items()}

#: Domains of the operators that the ONNX standard itself defines.
STANDARD_DOMAINS = ("", "ai.onnx")

#: Caps: no model of use comes near them.
MOST_NODES = 200_000
MOST_DEPTH = 24

_MODEL_IR, _MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTION = 1, 7, 8, 25
_GRAPH_NODE, _GRAPH_TENSOR, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SPARSE = 1, 5, 11, 12, 15
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_OP, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 3, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 1, 6, 11
#: What a value is if it is no tensor.
_OTHER_TYPES = {4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}
_TENSOR_TYPE = 1
#: Of long values only this much is shown.
_SHOWN = 64

#: A size: known, named, or neither.
Size = int | str | None


@dataclass(frozen=True, slots=True)
class Value:
    """An input or output of a graph; ``shape`` is None where not even the rank is said."""

    name: str
    kind: str
    dtype: str
    shape: tuple[Size, ...] | None


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One node.

    Args:
        attributes: for display; long ones are described, not listed.
        nested: it has subgraphs (If, Loop, Scan).
        captured: tensors of the outer graph that they use.
        raw: the message itself.
    """

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Json]
    nested: bool
    captured: tuple[str, ...]
    raw: memoryview

    @property
    def standard(self) -> bool:
        return self.domain in STANDARD_DOMAINS

    @property
    def full_op(self) -> str:
        """With the domain, where that is not the standard's."""
        return self.op if self.standard else f"{self.domain}.{self.op}"


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """The main graph. ``inputs`` are those a caller must give: not the ones with an initializer.

    Args:
        initializers: the fields that hold them, by name, ready to be written again.
    """

    nodes: tuple[OnnxNode, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    initializers: Mapping[str, memoryview]


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A model. ``opsets`` by domain; ``functions`` are those the file itself defines."""

    data: memoryview
    ir_version: int
    opsets: Mapping[str, int]
    functions: tuple[str, ...]
    graph: OnnxGraph

    def framed(self, graph: bytes) -> bytes:
        """A model of another graph with the versions, operator sets and functions of this one.

        Fields are in ascending order: OpenVINO tells ONNX files from others by it.
        """
        kept = (_MODEL_IR, _MODEL_OPSET, _MODEL_FUNCTION)
        parts: list[tuple[int, Buffer]] = [(_MODEL_GRAPH, delimited_field(_MODEL_GRAPH, graph))]
        parts += [(field.number, field.raw) for field in read_fields(self.data) if field.number in kept]
        return b"".join(part for _, part in sorted(parts, key=lambda part: part[0]))


def parse_model(data: Buffer) -> OnnxModel:
    """Decode a ModelProto.

    Raises:
        WireError: if it is none.
    """
    view = memoryview(data)
    fields = list(read_fields(view))
    graphs = _all(fields, _MODEL_GRAPH)
    if len(graphs) != 1:
        raise WireError(f"it holds {len(graphs)} graphs, expected one")
    opsets = dict(_opset(field.bytes) for field in _all(fields, _MODEL_OPSET))
    version = next((field.integer for field in _all(fields, _MODEL_IR)), 0)
    if not version or not opsets:
        raise WireError("it names no " + ("operator set" if version else "IR version"))
    functions = tuple(_function_name(field.bytes) for field in _all(fields, _MODEL_FUNCTION))
    return OnnxModel(view, version, opsets, functions, _main_graph(graphs[0].bytes))


def _all(fields: Iterable[Field], number: int) -> list[Field]:
    return [field for field in fields if field.number == number]


def _texts(fields: Iterable[Field], number: int) -> tuple[str, ...]:
    return tuple(field.text for field in fields if field.number == number)


def _last_text(fields: Iterable[Field], number: int) -> str:
    return next(iter(reversed(_texts(fields, number))), "")


def _opset(message: memoryview) -> tuple[str, int]:
    fields = list(read_fields(message))
    return _last_text(fields, 1), next((field.integer for field in _all(fields, 2)), 0)


def _function_name(message: memoryview) -> str:
    fields = list(read_fields(message))
    domain = _last_text(fields, 10)
    return f"{domain}.{_last_text(fields, 1)}" if domain else _last_text(fields, 1)


# Graphs


def _main_graph(message: memoryview) -> OnnxGraph:
    fields = list(read_fields(message))
    initializers = dict(_initializers(fields))
    return OnnxGraph(
        nodes=tuple(parse_node(field.bytes) for field in _checked_count(_all(fields, _GRAPH_NODE))),
        inputs=tuple(value for value in _values(fields, _GRAPH_INPUT) if value.name not in initializers),
        outputs=tuple(_values(fields, _GRAPH_OUTPUT)),
        initializers=initializers,
    )


def _checked_count(nodes: list[Field]) -> list[Field]:
    if len(nodes) > MOST_NODES:
        raise WireError(f"a graph has {len(nodes)} nodes, more than {MOST_NODES}")
    return nodes


def _initializers(fields: Iterable[Field]) -> Iterator[tuple[str, memoryview]]:
    for field in fields:
        if field.number == _GRAPH_TENSOR:
            yield _last_text(list(read_fields(field.bytes)), 8), field.raw
        elif field.number == _GRAPH_SPARSE:  # it is called by the name of its values
            values = _all(read_fields(field.bytes), 1)
            yield (_last_text(list(read_fields(values[0].bytes)), 8) if values else ""), field.raw


def _values(fields: Iterable[Field], number: int) -> Iterator[Value]:
    for field in fields:
        if field.number == number:
            yield parse_value(field.bytes)


def parse_value(message: Buffer) -> Value:
    """Decode a ValueInfoProto."""
    fields = list(read_fields(message))
    name = _last_text(fields, 1)
    for declared in _all(fields, 2):
        for field in read_fields(declared.bytes):
            if field.number == _TENSOR_TYPE:
                return _tensor_value(name, field.bytes)
            if field.number in _OTHER_TYPES:
                return Value(name, _OTHER_TYPES[field.number], "", None)
    return Value(name, "untyped", "", None)


def _tensor_value(name: str, message: memoryview) -> Value:
    dtype, shape = "", None
    for field in read_fields(message):
        if field.number == 1:
            dtype = DTYPES.get(field.integer, f"data type {field.integer}")
        elif field.number == 2:
            shape = tuple(_size(dim.bytes) for dim in read_fields(field.bytes) if dim.number == 1)
    return Value(name, "tensor", dtype, shape)


def _size(message: memoryview) -> Size:
    """A dimension; exporters write sizes they do not know as 0 or -1, too."""
    for field in read_fields(message):
        if field.number == 1:
            return field.integer if field.integer > 0 else None
        if field.number == 2:
            return field.text or None
    return None


# Nodes


def parse_node(message: memoryview, depth: int = 0) -> OnnxNode:
    """Decode a NodeProto."""
    fields = list(read_fields(message))
    attributes = _all(fields, _NODE_ATTRIBUTE)
    shown = [_attribute(field.bytes) for field in attributes]
    captured = [name for field in attributes for name in _captures(field.bytes, depth)]
    return OnnxNode(
        name=_last_text(fields, _NODE_NAME),
        op=_last_text(fields, _NODE_OP),
        domain=_last_text(fields, _NODE_DOMAIN),
        inputs=_texts(fields, _NODE_INPUT),
        outputs=_texts(fields, _NODE_OUTPUT),
        attributes=dict(shown),
        nested=any(_graphs_in(field.bytes) for field in attributes),
        captured=tuple(dict.fromkeys(captured)),
        raw=message,
    )


def _captures(attribute: memoryview, depth: int) -> Iterator[str]:
    """What the subgraphs of an attribute use of the graph around them."""
    for field in _graphs_in(attribute):
        if depth >= MOST_DEPTH:
            raise WireError(f"graphs are nested more than {MOST_DEPTH} deep")
        yield from _free_names(field.bytes, depth + 1)


def _graphs_in(attribute: memoryview) -> list[Field]:
    return [field for field in read_fields(attribute) if field.number in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS)]


def _free_names(graph: memoryview, depth: int) -> Iterator[str]:
    fields = list(read_fields(graph))
    known = {value.name for value in _values(fields, _GRAPH_INPUT)} | dict(_initializers(fields)).keys()
    for field in _checked_count(_all(fields, _GRAPH_NODE)):
        node = parse_node(field.bytes, depth)
        yield from (name for name in (*node.inputs, *node.captured) if name and name not in known)
        known.update(node.outputs)
    yield from (value.name for value in _values(fields, _GRAPH_OUTPUT) if value.name not in known)


def _attribute(message: memoryview) -> tuple[str, Json]:
    """Name and value of an attribute, for a reader."""
    fields = list(read_fields(message))
    repeated: dict[int, list[Json]] = {}
    for field in fields:
        if field.number in _READERS:
            repeated.setdefault(field.number, []).extend(_READERS[field.number](field))
    name = _last_text(fields, _ATTRIBUTE_NAME)
    kind = next((field.integer for field in _all(fields, 20)), 0)
    for number, values in repeated.items():
        if number in _LISTS:
            return name, values if len(values) <= _SHOWN else f"{len(values)} values"
        return name, values[-1]
    return name, [] if kind in _LISTS.values() else None


def _string(field: Field) -> list[Json]:
    found = bytes(field.bytes).decode("utf-8", "replace")
    return [found if len(found) <= _SHOWN * 4 else f"{len(found)} characters"]


def _tensor_summary(field: Field) -> list[Json]:
    dims: list[int] = []
    dtype = "?"
    for part in read_fields(field.bytes):
        if part.number == 1:
            dims += part.integers
        elif part.number == 2:
            dtype = DTYPES.get(part.integer, f"data type {part.integer}")
    return [f"{dtype} tensor of shape ({', '.join(map(str, dims))})"]


def _graph_summary(field: Field) -> list[Json]:
    return [f"graph of {len(_all(read_fields(field.bytes), _GRAPH_NODE))} nodes"]


_READERS: Mapping[int, Callable[[Field], list[Json]]] = {
    2: lambda field: field.floats,
    3: lambda field: field.integers,
    4: _string,
    5: _tensor_summary,
    6: _graph_summary,
    7: lambda field: field.floats,
    8: lambda field: field.integers,
    9: _string,
    10: _tensor_summary,
    11: _graph_summary,
    21: lambda field: [f"the function's {field.text}"],
}
#: Attributes that are lists, with their AttributeType.
_LISTS = {7: 6, 8: 7, 9: 8, 10: 9, 11: 10}
