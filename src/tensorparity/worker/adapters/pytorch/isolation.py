"""Nodes of a program alone: small graphs that compute single nodes from given tensors.

The sizes a node was traced with may be symbols (a batch that varies). They are read off the tensors
that are given; where a node's own inputs do not tell them, the program's inputs that do are given too.
"""

import torch
from torch import fx

from .program import node_key, origin, output_key, tensor_outputs


def sources(program, node):
    """Return the nodes whose tensors a replay of ``node`` is given, in order."""
    found = [item for item in node.all_input_nodes if is_activation(program, item)]
    missing = _symbols_needed(program, node) - _symbols_told(found)
    for name in program.inputs:
        placeholder = program.nodes[name]
        if missing & _symbols_told([placeholder]) and placeholder not in found:
            found.append(placeholder)
            missing -= _symbols_told([placeholder])
    return found


def is_activation(program, node):
    """Tell whether a node is a tensor that flows, not one that belongs to the program."""
    return isinstance(node.meta.get("val"), torch.Tensor) and node.op != "get_attr" and not program.is_state(node)


def source_ref(node):
    """Return the reference of a source in a LayerGraph: [node, index]."""
    base, index = origin(node)
    return [base.name, index]


class Isolated(object):
    """Several nodes, each alone, as one graph.

    Args:
        keys: of the nodes.
        given: arrays as tensors by ``KEY/0``, ``KEY/1``, ...
    """

    def __init__(self, program, keys, given):
        self._graph = fx.Graph()
        self._arguments = []
        self._results = []
        self.names = []
        for key in keys:
            self._add(program, program.by_key(key), key, given)
        self._graph.output(tuple(self._results))
        self.module = fx.GraphModule(program.exported.graph_module, self._graph)

    @property
    def arguments(self):
        return list(self._arguments)

    def _add(self, program, node, key, given):
        flowing = sources(program, node)
        tensors = [given["{}/{}".format(key, index)] for index in range(len(flowing))]
        known = _bind(flowing, tensors)
        inside = {}
        for item, tensor in zip(flowing, tensors):
            inside[item] = self._placeholder(tensor)
        for item in node.all_input_nodes:
            if item in inside:
                continue
            if program.is_state(item):
                value = program.state(item)
                inside[item] = self._placeholder(value.detach().clone() if isinstance(value, torch.Tensor) else value)
            elif item.op == "get_attr":
                inside[item] = self._graph.get_attr(item.target)
            else:
                inside[item] = _number(item, known)
        args = fx.node.map_arg(node.args, lambda item: inside[item])
        kwargs = fx.node.map_arg(node.kwargs, lambda item: inside[item])
        made = self._graph.call_function(node.target, args, kwargs)
        made.meta["key"] = node_key(node)
        self._take_results(node, made)

    def _placeholder(self, value):
        self._arguments.append(value)
        return self._graph.placeholder("given_{}".format(len(self._arguments)))

    def _take_results(self, node, made):
        import operator

        for index, (place, _) in enumerate(tensor_outputs(node)):
            lone = place is None
            self._results.append(made if lone else self._graph.call_function(operator.getitem, (made, place)))
            self.names.append(output_key(node, index))


def _symbols_needed(program, node):
    """Return the symbols in the sizes that a node takes as numbers."""
    found = set()
    for item in node.all_input_nodes:
        value = item.meta.get("val")
        if not isinstance(value, torch.Tensor) and hasattr(value, "node"):
            found |= set(value.node.expr.free_symbols)
    return found


def _symbols_told(nodes):
    """Return the symbols that the shapes of these nodes' tensors tell outright."""
    return {size.node.expr for node in nodes for size in node.meta["val"].shape if _is_symbol(size)}


def _is_symbol(size):
    return hasattr(size, "node") and size.node.expr.is_Symbol


def _bind(nodes, tensors):
    known = {}
    for node, tensor in zip(nodes, tensors):
        for size, actual in zip(node.meta["val"].shape, tensor.shape):
            if _is_symbol(size):
                known[size.node.expr] = int(actual)
    return known


def _number(node, known):
    """Return the number behind a symbolic size, bool or float."""
    value = node.meta.get("val")
    if not hasattr(value, "node"):
        return value
    found = value.node.expr.xreplace(known)
    if getattr(found, "free_symbols", None):
        raise ValueError("{} depends on {}, which the node's inputs do not tell".format(node.name, found))
    return value.node.pytype(found)
