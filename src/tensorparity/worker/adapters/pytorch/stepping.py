"""Running a graph node by node, or with every node's output among its outputs."""

import torch
from torch import fx

from .program import is_computation, node_key, output_key, tensor_outputs
from .tensors import to_numpy


class Stepper(fx.Interpreter):
    """Says which node is next before it runs it."""

    def __init__(self, module, at):
        fx.Interpreter.__init__(self, module)
        self._tell = at

    def run_node(self, n):
        if n.op == "call_function":
            self._tell(n)
        return fx.Interpreter.run_node(self, n)


class _Tracer(Stepper):
    def __init__(self, module, at, keep):
        Stepper.__init__(self, module, at)
        self._keep = keep

    def run_node(self, n):
        value = Stepper.run_node(self, n)
        if is_computation(n):
            self._keep(n, value)
        return value


def trace_eagerly(program, tensors, at):
    """Return (output per node by key, outputs by name); copies, since nodes may write in place."""
    nodes, named = {}, {}

    def keep(node, value):
        for index, (_, tensor) in enumerate(tensor_outputs(node, value)):
            nodes[output_key(node, index)] = to_numpy(tensor)

    tracer = _Tracer(program.exported.graph_module, lambda node: at(node_key(node)), keep)
    flat = tracer.run(*program.graph_arguments(tensors))
    for node, value in zip(_returned_nodes(program.graph), flat):
        if isinstance(node, fx.Node) and node.name in program.outputs:
            named[node.name] = value
    return nodes, named


def _returned_nodes(graph):
    return list(next(node for node in graph.nodes if node.op == "output").args[0])


class Exposed(object):
    """The program's graph with the output of every node among its outputs, as one module to compile."""

    def __init__(self, program):
        copies = {}
        graph = fx.Graph()
        clones = any(_writes(node) for node in program.graph.nodes)
        self.keys, shown = [], []
        for node in program.graph.nodes:
            if node.op == "output":
                break
            copies[node] = graph.node_copy(node, lambda item: copies[item])
            if is_computation(node):
                self._show(graph, node, copies[node], clones, shown)
        returned = _returned_nodes(program.graph)
        named = [node for node in returned if isinstance(node, fx.Node) and node.name in program.outputs]
        self.names = [node.name for node in named]
        graph.output(tuple(shown + [copies[node] for node in named]))
        self.module = fx.GraphModule(program.exported.graph_module, graph)

    def _show(self, graph, node, copy, clones, shown):
        import operator

        for index, (place, _) in enumerate(tensor_outputs(node)):
            item = copy if place is None else graph.call_function(operator.getitem, (copy, place))
            # a node further on may write into it
            shown.append(graph.call_function(torch.ops.aten.clone.default, (item,)) if clones else item)
            self.keys.append(output_key(node, index))

    def split(self, values):
        """Return (output per node by key, outputs by name)."""
        count = len(self.keys)
        return dict(zip(self.keys, values[:count])), dict(zip(self.names, values[count:]))


def _writes(node):
    return node.op == "call_function" and bool(getattr(getattr(node.target, "_schema", None), "is_mutable", False))
