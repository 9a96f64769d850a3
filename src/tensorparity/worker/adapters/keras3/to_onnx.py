"""A Keras model as an ONNX file, by Keras' own export, and a second file in which its layers can be found.

The first is what users get from ``model.export(path, format="onnx")``; only its ends are given the model's
names. In it most layers cannot be found: exporters fold, fuse, move transpositions about and lose names.
The second is the same export, with the exporter's optimizer switched off, of the same layers with every
output shown. So no name has to be guessed: the outputs come in the order in which they were asked for.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile

from ...contract import Unsupported, import_library
from ..onnx_graphs import OnnxGraph
from .program import output_key

#: Where the second file keeps the map: {key: {"outputs": [tensor], "inputs": [tensor] or None, ...}}.
LAYERS = "tensorparity.layers"
#: Where the first one keeps the digest of the second.
STEPS = "tensorparity.steps"
#: What the inputs of the second file are called, with a number behind it.
_NUMBERED = "tensorparity_"


def export_onnx(program, unoptimized):
    """Return the serialized model, the one to trace and replay, and the map of its layers.

    ``unoptimized`` makes a context in which the exporter optimizes nothing.
    """
    import_library("onnx")
    shown = _Shown(program)
    with unoptimized():
        steps = _exported(shown.model)
    layers = _map_layers(program, shown, steps)
    _set_metadata(steps.model, LAYERS, json.dumps(layers, sort_keys=True))
    serialized = steps.model.SerializeToString()
    users = export_as_users(program)
    _set_metadata(users.model, STEPS, hashlib.sha256(serialized).hexdigest())
    return users.model.SerializeToString(), serialized, layers


def export_as_users(program):
    """Return the graph that users get, with the model's names at its ends."""
    import_library("onnx")
    users = _exported(program.model)
    _name_inputs(users, [name for name, _ in program.inputs])
    _name_outputs(users, [(name, value.name) for (name, _), value in zip(program.outputs, users.outputs())])
    return users


class _Shown(object):
    """The program's layers called once more, without models inside models, with all their outputs shown."""

    def __init__(self, program):
        import keras

        self.tensors = {}
        for index, (_, token) in enumerate(program.inputs):
            like = program.input_tensors[token]
            self.tensors[token] = keras.Input(
                batch_shape=like.shape, dtype=like.dtype, name="{}{}".format(_NUMBERED, index)
            )
        inputs = list(self.tensors.values())
        self.tokens = []
        for step in program.steps:
            for token, tensor in zip(step.results, step.run(self.tensors, False)):
                self.tensors[token] = tensor
                self.tokens.append(token)
        self.model = keras.Model(inputs, [self.tensors[token] for token in self.tokens])

    def sizes(self, token):
        """Return the sizes of a tensor: numbers, and names of those that vary; all batches are one."""
        return [
            size if size is not None else "batch" if axis == 0 else "{}/{}".format(token, axis)
            for axis, size in enumerate(self.tensors[token].shape)
        ]


def _exported(model):
    import keras
    import onnx

    given = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
    model(keras.tree.map_structure(_like, given))  # a model that was never called is not exported
    folder = tempfile.mkdtemp()
    try:
        path = os.path.join(folder, "model.onnx")
        model.export(path, format="onnx", verbose=False)
        proto = onnx.load(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    unknown = _unknown_operators(proto)
    if unknown:
        raise Unsupported("the exporter has no ONNX for {}".format(", ".join(unknown)))
    graph = OnnxGraph(proto)
    spare = len(graph.inputs()) - len(model.inputs)
    if spare > 0:
        last = graph.inputs()[-1].name
        raise Unsupported("the exported file asks for inputs that the model does not have, {} for one".format(last))
    return graph


def _like(tensor):
    import keras

    return keras.KerasTensor(tensor.shape, dtype=tensor.dtype)


def _unknown_operators(proto):
    """Return operators that are not ONNX's: what an exporter cannot convert it may leave as it is."""
    from onnx import defs

    known = [item.domain for item in proto.functions]
    return sorted(
        set(
            node.op_type
            for node in proto.graph.node
            if node.domain not in known and not defs.has(node.op_type, domain=node.domain)
        )
    )


def _name_inputs(graph, names):
    """Give the inputs the model's names; a backend that does not accept one has changed it."""
    values = {value.name: value for value in graph.inputs()}
    if set(values) == set(names):
        return
    changed = [re.sub(r"[^A-Za-z0-9_.\-/]", "_", name) for name in names]
    if len(set(changed)) == len(names) and set(changed) == set(values):
        found = [values[name] for name in changed]
    else:
        found = list(values.values())
    for value, name in zip(found, names):
        graph.rename_input(value, name)


def _name_outputs(graph, named):
    """Have the graph give these tensors, under these names, and nothing else."""
    types = {value.name: value.type for value in graph.outputs()}
    graph.drop_outputs()
    for name, tensor in named:
        graph.add_output(name, tensor, types.get(tensor))


def _map_layers(program, shown, steps):
    """Show every layer's outputs under names of their own; return which tensors are which layer's."""
    tensors = {token: value.name for (_, token), value in zip(program.inputs, _in_order(steps))}
    given = dict(tensors)
    for token, value in zip(shown.tokens, steps.outputs()):
        tensors[token] = steps.origin(value.name)
    _name_outputs(steps, [(name, tensors[token]) for name, token in program.outputs])
    for (name, token), value in zip(program.inputs, _in_order(steps)):
        given[token] = tensors[token] = steps.rename_input(value, name)
    layers = {}
    for step in program.steps:
        outputs = []
        for index, token in enumerate(step.results):
            outputs.append(steps.add_copy("layer:" + output_key(step.key, index), tensors[token]))
        inputs = [tensors[token] for token in step.sources]
        shapes = steps.needed_shapes([tensors[token] for token in step.results], inputs)
        layers[step.key] = {
            "outputs": outputs,
            "inputs": None if shapes is None else inputs,
            "sizes": [shown.sizes(token) for token in step.sources],
            "shapes": {given[t]: shown.sizes(t) for t in given if given[t] in (shapes or ())},
        }
    return layers


def _in_order(steps):
    """Return the inputs of the file in the order of the model's: they were numbered."""
    return sorted(steps.inputs(), key=lambda value: int(value.name.rpartition("_")[2]))


def _set_metadata(model, key, text):
    entry = model.metadata_props.add()
    entry.key, entry.value = key, text
