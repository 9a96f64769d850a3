"""A program as an ONNX file, by torch's own exporter, with the program's names on the file's tensors.

The exporter rewrites the program first and numbers its nodes anew. Each new node knows which one it
came from; the last to come from a node carries that node's output. What has an equal in the program
is renamed after it, so outputs have the program's names, and a map says which nodes can be traced and
which can be run alone: those whose inputs are tensors of the file too.
"""

import json
import logging
import warnings

from ...contract import Unsupported, import_library
from .isolation import source_ref, sources
from .program import origin, output_key, shape_of, tensor_outputs

#: Where the file keeps the map: {key: {"outputs": [tensor], "inputs": [tensor] or None}}.
LAYERS = "tensorparity.layers"


def export_onnx(program):
    """Return the serialized model and the map of its layers."""
    import torch

    for name in ("onnx", "onnxscript"):
        import_library(name)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.onnx.export(program.exported, dynamo=True, verbose=False)
    if exported is None:
        raise Unsupported("torch.onnx.export gave no model")
    graph = exported.model.graph
    renamed = _rename(graph, _counterparts(program, exported.exported_program), program)
    layers = _layers(program, graph, renamed)
    exported.model.metadata_props[LAYERS] = json.dumps(layers, sort_keys=True)
    return exported.model_proto.SerializeToString(), layers


def _counterparts(program, rewritten):
    """Return the output key in the program for the name of each node in the rewritten one."""
    found = {}
    for node in rewritten.graph.nodes:
        if node.op != "call_function":
            continue
        ancestor = program.nodes.get(_ancestor(node))
        if ancestor is None:
            continue
        _, taken = origin(node)
        for index, described in tensor_outputs(ancestor.meta.get("val")):
            several = isinstance(ancestor.meta.get("val"), (list, tuple))
            if _alike(node.meta.get("val"), described) and (taken == index or not several):
                found[output_key(ancestor, index)] = node.name  # the last one stays
    return {name: key for key, name in found.items()}


def _ancestor(node):
    """Return the name of the node in the program that a rewritten node came from."""
    name, steps = None, node.meta.get("from_node")
    while steps:
        name, steps = steps[-1].name, steps[-1].from_node
    return name


def _alike(value, described):
    import torch

    if not isinstance(value, torch.Tensor):
        return False
    return value.dtype == described.dtype and len(value.shape) == len(described.shape) and _sizes(value, described)


def _sizes(value, described):
    return all(a is None or b is None or a == b for a, b in zip(shape_of(value), shape_of(described)))


def _rename(graph, counterparts, program):
    """Give the file's tensors the program's names; return the tensors by output key."""
    made = [output for node in graph for output in node.outputs]
    found = {counterparts[value.name]: value for value in made if value.name in counterparts}
    wanted = {id(value): _tensor_name(key) for key, value in found.items()}
    wanted.update({id(value): name for value, name in zip(graph.outputs, program.outputs)})
    taken = {value.name for value in graph.inputs} | set(graph.initializers)
    # what must keep the program's name comes first, what is nobody's counterpart gives way
    for value in sorted(made, key=lambda value: (not value.is_graph_output(), id(value) not in wanted)):
        name = wanted.get(id(value), value.name)
        while name in taken:
            name += "_"
        value.name = name
        taken.add(name)
    return found


def _tensor_name(key):
    return key.replace("#0", "")


def _layers(program, graph, renamed):
    """Return for each node of the program its tensors in the file."""
    named = {(key.rpartition("#")[0], _index(key)): value for key, value in renamed.items()}
    named.update({(value.name, 0): value for value in graph.inputs})
    layers = {}
    for node in program.traced_nodes():
        outputs = [named.get((node.name, index)) for index, _ in tensor_outputs(node.meta["val"])]
        if any(value is None for value in outputs):
            continue
        inputs = [named.get(tuple(source_ref(item))) for item in sources(program, node)]
        alone = None not in inputs and _is_cut(outputs, inputs, graph)
        layers[node.name + "#0"] = {
            "outputs": [value.name for value in outputs],
            "inputs": [value.name for value in inputs] if alone else None,
        }
    return layers


def _index(key):
    return int(key.rpartition(".")[2]) if "#0." in key else 0


def _is_cut(outputs, inputs, graph):
    """Tell whether the outputs depend on nothing but the inputs (and constants)."""
    given = {id(value) for value in inputs}
    free = {id(value) for value in graph.inputs}
    seen, waiting = set(), list(outputs)
    while waiting:
        value = waiting.pop()
        if value is None or id(value) in seen or id(value) in given:
            continue
        seen.add(id(value))
        if id(value) in free:
            return False
        producer = value.producer()
        if producer is not None:
            waiting.extend(producer.inputs)
    return True
