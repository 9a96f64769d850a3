"""A program as a LayerGraph in JSON: what flows where, and the numbers each node is called with."""

import math

import torch

from .isolation import source_ref, sources
from .program import input_json, origin
from .tensors import dtype_name


def describe(program):
    """Return the graph; parameters and buffers belong to their nodes and are no inputs."""
    nodes = [_node_json(program, node) for node in program.traced_nodes()]
    known = set(program.inputs) | {node["name"] for node in nodes}
    outputs = [source_ref(program.nodes[name]) for name in program.outputs]
    return {
        "kind": "layer-graph",
        "name": "program",
        "inputs": [input_json(program, program.nodes[name]) for name in program.inputs],
        "nodes": nodes,
        "outputs": [ref for ref in outputs if ref[0] in known],
    }


def _node_json(program, node):
    return {
        "name": node.name,
        "op": op_name(node.target),
        "inputs": [source_ref(item) for item in sources(program, node)],
        "params": _numbers(node),
        "layer": node.name,
        "call": 0,
        "call_params": {},
    }


def op_name(target):
    """Return ``torch.ops.aten.conv2d.default`` and the like, which is also its public name."""
    if isinstance(target, torch._ops.OpOverload):
        return "torch.ops." + str(target)
    return "torch." + getattr(target, "__name__", str(target))


def _numbers(node):
    """Return the arguments that are no tensors, by name, where they are not at their default."""
    named = dict(node.kwargs)
    defaults = {}
    schema = getattr(node.target, "_schema", None)
    for position, argument in enumerate(schema.arguments if schema else ()):
        if position < len(node.args):
            named[argument.name] = node.args[position]
        if argument.has_default_value():
            defaults[argument.name] = argument.default_value
    return {
        name: _json(value)
        for name, value in named.items()
        if not _has_tensor(value) and not (name in defaults and defaults[name] == value)
    }


def _has_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(_has_tensor(item) for item in value)
    if isinstance(value, torch.fx.Node):
        described = origin(value)[0].meta.get("val")
        return value.op in ("placeholder", "get_attr") or not hasattr(described, "node")
    return False


def _json(value):
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, torch.fx.Node):
        return str(value.meta["val"])
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
