"""The node tests that the onnx package carries: a model of one operator, with inputs.

Only those whose inputs and outputs are plain tensors of dtypes that travel are taken; the rest is counted.
"""

import numpy as np

_KINDS = frozenset("biufc")


def list_samples(options):
    """Return the models and their inputs, as arrays of bytes and arrays."""
    samples, arrays, missing, unwritten = [], {}, [], 0
    try:
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    except (ImportError, AttributeError) as error:
        return {"samples": [], "missing": ["node tests: {}".format(error)], "unwritten": 0}, {}
    for case in cases:
        given = _inputs(case)
        if given is None:
            unwritten += 1
            continue
        place = str(len(samples))
        samples.append({"of": _operator(case.model), "source": case.name, "arrays": sorted(given)})
        arrays[place + ":model"] = np.frombuffer(case.model.SerializeToString(), np.uint8)
        arrays.update({place + "/" + name: array for name, array in given.items()})
    return {"samples": samples, "missing": missing, "unwritten": unwritten}, arrays


def _operator(model):
    return "onnx." + (model.graph.node[0].op_type if model.graph.node else "")


def _inputs(case):
    """Return the inputs by name, or None where they are no plain tensors."""
    if not case.data_sets or not _plain_values(case.model.graph):
        return None
    names = [value.name for value in case.model.graph.input]
    values = list(case.data_sets[0][0])
    if len(names) != len(values):
        return None
    if not all(isinstance(value, np.ndarray) and value.dtype.kind in _KINDS for value in values):
        return None
    return dict(zip(names, values))


def _plain_values(graph):
    values = list(graph.input) + list(graph.output)
    return bool(graph.input) and all(value.type.HasField("tensor_type") for value in values)
