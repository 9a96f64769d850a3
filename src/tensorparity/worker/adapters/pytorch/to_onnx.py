"""A program as an ONNX file, by torch's own exporter, with the program's names on the file's tensors.

The exporter rewrites the program first and numbers its nodes anew. Each new node knows which one it
came from; the last to come from a node carries that node's output. What has an equal in the program
is renamed after it, so outputs have the program's names, and a map says which nodes can be traced and
which can be run alone: those whose inputs are tensors of the file too.

The file that users get is optimized, and has lost many a tensor to fusion. It is what verdicts are
about; tracing and replaying use the file as it was before, which the first one names by its digest.
"""

import hashlib
import json
import logging
import operator
import warnings

from ...contract import Unsupported, import_library
from .isolation import source_ref, sources
from .program import origin, output_key, shape_of, tensor_outputs

#: Where the file before optimization keeps the map: {key: {"outputs": [tensor], "inputs": [tensor] or None, ...}}.
LAYERS = "tensorparity.layers"
#: Where the optimized file keeps the digest of the other.
STEPS = "tensorparity.steps"


def export_onnx(program):
    """Return the serialized model, the one before optimization, and the map of its layers."""
    for name in ("onnx", "onnxscript"):
        import_library(name)
    exported = _export(program)
    graph = exported.model.graph
    renamed = _rename(graph, _counterparts(program, exported.exported_program), program)
    layers = _layers(program, graph, renamed)
    exported.model.metadata_props[LAYERS] = json.dumps(layers, sort_keys=True)
    steps = exported.model_proto.SerializeToString()
    exported.optimize()
    del exported.model.metadata_props[LAYERS]
    exported.model.metadata_props[STEPS] = hashlib.sha256(steps).hexdigest()
    return exported.model_proto.SerializeToString(), steps, layers


def _export(program):
    import torch

    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = torch.onnx.export(program.exported, dynamo=True, verbose=False, optimize=False)
    except Exception as error:
        raise Unsupported("torch.onnx: " + _root(error))
    if exported is None:
        raise Unsupported("torch.onnx.export gave no model")
    return exported


def _root(error):
    """Return the first line of what an exception goes back to; the exporter's own are advice."""
    while error.__cause__ is not None:
        error = error.__cause__
    return "{}: {}".format(type(error).__name__, (str(error).strip().splitlines() or [""])[0])


def _counterparts(program, rewritten):
    """Return the output key in the program for the name of each node in the rewritten one that is its equal."""
    families = {}
    for node in rewritten.graph.nodes:
        if node.op == "call_function":
            families.setdefault(_ancestor(program, node), []).append(node)
    found = {}
    for ancestor in program.traced_nodes():
        leaving = [node for node in families.get(ancestor.name, ()) if _leaves(program, node)]
        outputs = tensor_outputs(ancestor)
        for index, (place, described) in enumerate(outputs):
            alike = [node for node in leaving if _alike(node.meta.get("val"), described)]
            if len(outputs) > 1:
                alike = [node for node in alike if node.target is operator.getitem and node.args[1] == place]
            if len(alike) == 1:
                found[alike[0].name] = output_key(ancestor, index)
    return found


def _leaves(program, node):
    """Tell whether what a node gives is used by descendants of others, not only within the family."""
    name = _ancestor(program, node)
    return any(user.op == "output" or _ancestor(program, user) != name for user in node.users)


def _ancestor(program, node):
    """Return the name of the node in the program that a rewritten node came from."""
    name, steps = None, node.meta.get("from_node")
    while steps:
        name, steps = steps[-1].name, steps[-1].from_node
    known = program.nodes.get(name)
    return name if known is None else origin(known)[0].name


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
    titles = [program.title(name) for name in program.outputs]
    wanted.update({id(value): name for value, name in zip(graph.outputs, titles)})
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
    """Return for each node of the program its tensors in the file.

    ``sizes`` are those of the inputs, and ``shapes`` inputs of the whole file of which only the sizes matter
    (a reshape keeps the batch): each size a number or the name of one that varies.
    """
    named = {(key.rpartition("#")[0], _index(key)): value for key, value in renamed.items()}
    named.update({(value.name, 0): value for value in graph.inputs})
    layers = {}
    for node in program.traced_nodes():
        outputs = [named.get((node.name, index)) for index, _ in enumerate(tensor_outputs(node))]
        if any(value is None for value in outputs):
            continue
        flowing = sources(program, node)
        inputs = [named.get(tuple(source_ref(item))) for item in flowing]
        reached = None if None in inputs else _reached(outputs, inputs, graph)
        layers[node.name + "#0"] = {
            "outputs": [value.name for value in outputs],
            "inputs": None if reached is None else [value.name for value in inputs],
            "sizes": [_sizes_json(item) for item in flowing],
            "shapes": {name: _sizes_json(program.nodes[name]) for name in reached or ()},
        }
    return layers


def _index(key):
    return int(key.rpartition(".")[2]) if "#0." in key else 0


def _sizes_json(node):
    return [size if isinstance(size, int) else str(size) for size in node.meta["val"].shape]


def _reached(outputs, inputs, graph):
    """Return the inputs of the file whose shape the outputs depend on besides ``inputs``; None if on their values."""
    given = {id(value) for value in inputs}
    free = {id(value) for value in graph.inputs}
    seen, shapes, waiting = set(), set(), list(outputs)
    while waiting:
        value = waiting.pop()
        if value is None or id(value) in seen or id(value) in given:
            continue
        seen.add(id(value))
        if id(value) in free:
            return None
        producer = value.producer()
        if producer is None:
            continue
        if producer.op_type == "Shape" and id(producer.inputs[0]) in free - given:
            shapes.add(producer.inputs[0].name)
        else:
            waiting.extend(producer.inputs)
    return sorted(shapes)
