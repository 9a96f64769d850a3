"""An exported program (``torch.export``): its inputs, outputs and nodes by name.

The graph of a program takes parameters, buffers and constants as arguments before the user's inputs.
A node's key is its name in the graph with ``#0``; further outputs of a node are ``#0.1``, ``#0.2``. Of a
node with several outputs only those count that are used, in their order: exporters and compilers drop the
others. ``operator.getitem`` is no node of its own but an output of the node it takes from.
"""

import operator

from ...contract import Unsupported
from .tensors import dtype_name


class Program(object):
    """A loaded program and what is needed to call it whole or in part."""

    def __init__(self, exported):
        from torch.export.graph_signature import InputKind, OutputKind

        self.exported = exported
        self.module = exported.module()
        self.graph = exported.graph
        self.nodes = {node.name: node for node in self.graph.nodes}
        self._specs = list(exported.graph_signature.input_specs)
        self._user = [spec for spec in self._specs if spec.kind == InputKind.USER_INPUT]
        outputs = exported.graph_signature.output_specs
        self._returned = [spec.arg for spec in outputs if spec.kind == OutputKind.USER_OUTPUT]
        self.inputs = [spec.arg.name for spec in self._user if _is_tensor_argument(spec.arg)]
        self.outputs = [arg.name for arg in self._returned if _is_tensor_argument(arg)]
        self.titles = dict(zip([getattr(arg, "name", "") for arg in self._returned], output_titles(exported)))
        self._state = self._read_state()
        #: There is no batch axis: an instance is a whole set of inputs.
        self.whole_sets = not self._has_batch_axis()
        if not self.outputs:
            raise Unsupported("the program returns no tensor")

    @property
    def name(self):
        return type(self).__name__

    def _read_state(self):
        """Return parameters, buffers and constants by the name of their placeholder."""
        found = {}
        for spec in self._specs:
            for source in (self.exported.state_dict, self.exported.constants):
                if spec.target is not None and spec.target in source:
                    found[spec.arg.name] = source[spec.target]
                    break
        return found

    def _has_batch_axis(self):
        """Decide as the host does (``core/feeding``)."""
        inputs = [shape_of(self.nodes[name].meta["val"]) for name in self.inputs]
        if any(not sizes for sizes in inputs):
            return False
        first = {sizes[0] for sizes in inputs}
        if len(first) > 1:
            return False
        outputs = [shape_of(self.nodes[name].meta["val"]) for name in self.outputs if name in self.nodes]
        return first == {None} or all(sizes and sizes[0] in first for sizes in outputs)

    def is_state(self, node):
        return node.name in self._state

    def state(self, node):
        return self._state[node.name]

    def call(self, module, tensors):
        """Call ``module`` (the program's own, or a compiled one) as a user does; return outputs by name."""
        from torch.utils import _pytree

        flat = [tensors[s.arg.name] if _is_tensor_argument(s.arg) else _constant(s.arg) for s in self._user]
        args, kwargs = _pytree.tree_unflatten(flat, self.exported.call_spec.in_spec)
        before = {name: buffer.clone() for name, buffer in self.module.named_buffers()}
        try:
            leaves = _pytree.tree_leaves(module(*args, **kwargs))
        finally:
            for name, buffer in self.module.named_buffers():  # a program may change them; the next job must not see it
                buffer.data.copy_(before[name])
        pairs = zip(self._returned, leaves)
        return {arg.name: leaf for arg, leaf in pairs if _is_tensor_argument(arg)}

    def graph_arguments(self, tensors):
        """Return the arguments of the graph itself: copies of the state, then the user's inputs."""
        found = []
        for spec in self._specs:
            name = spec.arg.name
            if name in self._state:
                value = self._state[name]
                found.append(value.detach().clone() if hasattr(value, "detach") else value)
            else:
                found.append(tensors[name] if _is_tensor_argument(spec.arg) else _constant(spec.arg))
        return found

    def title(self, output):
        """Return what users call an output: its place in a dictionary; its own name where there is none.

        A name that an input has, too, is another one in files, which have one name for one tensor.
        """
        title = self.titles.get(output) or output
        while title != output and title in self.inputs:
            title += "_"
        return title

    def traced_nodes(self):
        """Return the nodes that compute tensors, in order."""
        return [node for node in self.graph.nodes if is_computation(node)]

    def by_key(self, key):
        """Return the node of a key.

        Raises KeyError if the program has no such node.
        """
        node = self.nodes.get(key.rpartition("#")[0])
        if node is None or not is_computation(node):
            raise KeyError("the program has no node {!r}".format(key))
        return node


def load_program(path):
    """Load a program that the host has inspected."""
    import torch

    return Program(torch.export.load(path))


def output_titles(exported):
    """Return a name for each leaf that a program returns, ``cache.layers.0.keys``; None unless it has keys."""
    from torch.utils import _pytree

    spec = exported.call_spec.out_spec
    if spec is None:
        return []
    tree = _pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    paths = [path for path, _ in _pytree.tree_flatten_with_path(tree)[0]]
    return [_title(path) if any(hasattr(part, "key") for part in path) else None for path in paths]


def _title(path):
    return ".".join(str(getattr(part, "key", getattr(part, "idx", part))) for part in path)


def is_computation(node):
    """Tell whether a node computes a tensor, or several."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    return bool(tensor_outputs(node))


def tensor_outputs(node, value=None):
    """Return [(place, tensor)] of a node's outputs, or of those in ``value``; the place is None for a lone one."""
    import torch

    described = node.meta.get("val")
    value = described if value is None else value
    if isinstance(described, torch.Tensor):
        return [(None, value)]
    if not isinstance(described, (list, tuple)):
        return []
    return [(place, value[place]) for place in used_places(node) if isinstance(described[place], torch.Tensor)]


def used_places(node):
    """Return the places of a node's outputs that something takes and uses."""
    return sorted({user.args[1] for user in node.users if user.target is operator.getitem and user.users})


def node_key(node):
    return node.name + "#0"


def output_key(node, index):
    return node_key(node) if index == 0 else "{}.{}".format(node_key(node), index)


def origin(node):
    """Return (node, index): which output of which node a ``getitem`` is; of others, the node itself and 0."""
    if node.op == "call_function" and node.target is operator.getitem:
        places = [place for place, _ in tensor_outputs(node.args[0])]
        return node.args[0], places.index(node.args[1]) if node.args[1] in places else 0
    return node, 0


def shape_of(tensor):
    """Return the sizes of a tensor's description; None for one that may vary."""
    return [size if isinstance(size, int) else None for size in tensor.shape]


def input_json(program, node):
    """Return the description of a placeholder, without its batch axis."""
    tensor = node.meta["val"]
    cut = 0 if program.whole_sets else 1
    return {"name": node.name, "shape": shape_of(tensor)[cut:], "dtype": dtype_name(tensor.dtype)}


def _is_tensor_argument(arg):
    from torch.export.graph_signature import TensorArgument

    return isinstance(arg, TensorArgument)


def _constant(arg):
    from torch.export.graph_signature import ConstantArgument

    if not isinstance(arg, ConstantArgument):
        raise Unsupported("input {} is no tensor but a {}".format(arg.name, type(arg).__name__))
    return arg.value
