"""Loops and branches of an ONNX node that goes by other names: what their bodies use of the graph around them, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...core.onnx.model import OnnxNode, parse_node
from ...core.onnx.wire import Buffer, Field, delimited_field, read_fields, text

_GRAPH_NODE, _GRAPH_TENSOR, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_ATTRIBUTE = 1, 2, 3, 5
_ATTRIBUTE_GRAPHS = (6, 11)
_TENSOR_NAME, _VALUE_NAME = 8, 1


def renamed_node(node: OnnxNode, renamed: Mapping[str, str], name: str) -> bytes:
    """The node called ``name``, with new names for what it takes and gives; its subgraphs know them, too."""
    kept = (raw for number, raw in _node_parts(node, renamed, outputs=True) if number != _NODE_NAME)
    return b"".join((*kept, text(_NODE_NAME, name)))


def _node_parts(node: OnnxNode, renamed: Mapping[str, str], *, outputs: bool) -> Iterator[tuple[int, Buffer]]:
    """The fields of the message, by number."""
    captured = {name: renamed[name] for name in node.captured if name in renamed}
    for name in node.inputs:
        yield _NODE_INPUT, text(_NODE_INPUT, renamed.get(name, name))
    for name in node.outputs:
        yield _NODE_OUTPUT, text(_NODE_OUTPUT, renamed.get(name, name) if outputs else name)
    for field in read_fields(node.raw):
        if field.number == _NODE_ATTRIBUTE and captured:
            yield field.number, delimited_field(_NODE_ATTRIBUTE, _attribute(field.bytes, captured))
        elif field.number not in (_NODE_INPUT, _NODE_OUTPUT):
            yield field.number, field.raw


def _attribute(message: memoryview, renamed: Mapping[str, str]) -> bytes:
    return b"".join(
        delimited_field(field.number, _graph(field.bytes, renamed)) if field.number in _ATTRIBUTE_GRAPHS else field.raw
        for field in read_fields(message)
    )


def _graph(message: memoryview, renamed: Mapping[str, str]) -> bytes:
    """A body whose nodes know the tensors around it by new names; what it makes itself keeps its own."""
    fields = list(read_fields(message))
    nodes = {id(field): parse_node(field.bytes) for field in fields if field.number == _GRAPH_NODE}
    own = {name for node in nodes.values() for name in node.outputs}
    own.update(_name(field, _VALUE_NAME) for field in fields if field.number == _GRAPH_INPUT)
    own.update(_name(field, _TENSOR_NAME) for field in fields if field.number == _GRAPH_TENSOR)
    free = {name: new for name, new in renamed.items() if name not in own}
    parts: list[Buffer] = []
    for field in fields:
        if field.number == _GRAPH_NODE:
            inner = (raw for _, raw in _node_parts(nodes[id(field)], free, outputs=False))
            parts.append(delimited_field(_GRAPH_NODE, b"".join(inner)))
        elif field.number == _GRAPH_OUTPUT and _name(field, _VALUE_NAME) in free:
            parts.append(delimited_field(_GRAPH_OUTPUT, _renamed_value(field.bytes, free)))
        else:
            parts.append(field.raw)
    return b"".join(parts)


def _renamed_value(message: memoryview, renamed: Mapping[str, str]) -> bytes:
    return b"".join(
        text(_VALUE_NAME, renamed.get(field.text, field.text)) if field.number == _VALUE_NAME else field.raw
        for field in read_fields(message)
    )


def _name(field: Field, number: int) -> str:
    return next((part.text for part in read_fields(field.bytes) if part.number == number), "")
