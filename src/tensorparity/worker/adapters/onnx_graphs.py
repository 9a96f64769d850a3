"""The graph of an ONNX file, for those who write one: its ends renamed, tensors shown, and traced back."""


class OnnxGraph(object):
    """A loaded ``onnx.ModelProto``, changed in place."""

    def __init__(self, model):
        self.model = model
        self._producers = {name: node for node in model.graph.node for name in node.output if name}
        self._types = None

    def inputs(self):
        fixed = set(item.name for item in self.model.graph.initializer)
        return [value for value in self.model.graph.input if value.name not in fixed]

    def outputs(self):
        return list(self.model.graph.output)

    def drop_outputs(self):
        del self.model.graph.output[:]

    def add_output(self, name, tensor, kind=None):
        """Have the graph give ``tensor`` under ``name``."""
        self.add_copy(name, tensor)
        value = self.model.graph.output.add()
        value.name = name
        if kind is not None:
            value.type.CopyFrom(kind)

    def add_copy(self, name, tensor):
        """Give ``tensor`` a second name; return it."""
        if name != tensor:
            node = self.model.graph.node.add()
            node.op_type, node.name = "Identity", "tensorparity/" + name
            node.input.append(tensor)
            node.output.append(name)
            self._producers[name] = node
        return name

    def rename_input(self, value, name):
        """Give an input another name; return it. Its users keep the one they know, of a copy."""
        if value.name == name:
            return name
        from onnx import helper

        old, value.name = value.name, name
        node = helper.make_node("Identity", [name], [old], name="tensorparity/" + name)
        self.model.graph.node.insert(0, node)
        self._producers = {output: item for item in self.model.graph.node for output in item.output if output}
        return name

    def origin(self, name):
        """Return the first tensor that is the same as this one but for copies of it and casts to its own type."""
        while True:
            node = self._producers.get(name)
            if node is None or not (node.op_type == "Identity" or self._casts_to_same(node)):
                return name
            name = node.input[0]

    def _casts_to_same(self, node):
        if node.op_type != "Cast":
            return False
        before = self._type_of(node.input[0])
        return before is not None and before == self._type_of(node.output[0])

    def _type_of(self, name):
        if self._types is None:
            self._types = self._infer_types()
        return self._types.get(name)

    def _infer_types(self):
        from onnx import shape_inference

        try:
            graph = shape_inference.infer_shapes(self.model).graph
        except Exception:  # too large for it, or operators it does not know: then no cast is seen through
            return {}
        values = list(graph.input) + list(graph.value_info) + list(graph.output)
        return {value.name: value.type.tensor_type.elem_type for value in values}

    def needed_shapes(self, outputs, inputs):
        """Return inputs of the file whose shape, not their values, ``outputs`` depend on besides ``inputs``.

        Return None where they depend on values of others.
        """
        given = set(inputs)
        free = set(value.name for value in self.inputs()) - given
        seen, shapes, waiting = set(), set(), list(outputs)
        while waiting:
            name = waiting.pop()
            if not name or name in seen or name in given:
                continue
            seen.add(name)
            if name in free:
                return None
            node = self._producers.get(name)
            if node is None:
                continue
            if node.op_type == "Shape" and self.origin(node.input[0]) in free:
                shapes.add(self.origin(node.input[0]))
            else:
                waiting.extend(node.input)
                waiting.extend(_captures(node))
        return sorted(shapes)


def _captures(node):
    """Return the tensors from outside of them that subgraphs of the node use."""
    return [name for item in node.attribute if item.HasField("g") for name in _captured(item.g)]


def _captured(graph):
    made = set(value.name for value in graph.input) | set(item.name for item in graph.initializer)
    made.update(name for node in graph.node for name in node.output)
    used = set(name for node in graph.node for name in node.input if name) | set(v.name for v in graph.output)
    for node in graph.node:
        for item in node.attribute:
            if item.HasField("g"):
                used |= _captured(item.g)
    return used - made
