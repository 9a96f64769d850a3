"""The node tests that the onnx package carries: one operator with its attributes, inputs, and what it should give.

Only those of one operator whose inputs, outputs and attributes are plain numbers and strings are taken; the rest is
counted. Where a model of several operators has the same inputs as one of these, it is that one's body, written out.
"""

import numpy as np

from .onnx_apis import public_name

_KINDS = frozenset("biufc")
#: Kept of one operator: Cast alone has hundreds.
KEPT = 60
#: Of the first few, the same is asked of earlier versions of the operator, so many of them.
_FIRST, _EARLIER = 3, 3


def list_samples(options):
    """Return the calls, their inputs and what is expected of them."""
    samples, arrays, missing, counts, unwritten = [], {}, [], {}, 0
    try:
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    except (ImportError, AttributeError) as error:
        return {"samples": [], "missing": ["node tests: {}".format(error)], "unwritten": 0}, {}
    wanted = frozenset(options.get("of", ()))
    for case in cases:
        written = _written(case)
        if written is None:
            unwritten += 1
            continue
        call, given, expected = written
        of = call["api"]
        if (wanted and of not in wanted) or counts.get(of, 0) >= KEPT:
            continue
        counts[of] = counts.get(of, 0) + 1
        told = [(call, expected)]
        if counts[of] <= _FIRST:
            told += [(dict(call, kwargs=dict(call["kwargs"], opset=opset)), {}) for opset in _earlier(case.model)]
        for own, results in told:
            place = str(len(samples))
            samples.append(
                {"of": of, "source": case.name, "call": own, "arrays": sorted(given), "expected": sorted(results)}
            )
            arrays.update({place + "/" + name: array for name, array in given.items()})
            arrays.update({place + "/=" + name: array for name, array in results.items()})
    return {"samples": samples, "missing": missing, "unwritten": unwritten}, arrays


def _written(case):
    """Return (call, inputs, expected outputs), or None where a test is more than one operator on plain tensors."""
    graph = case.model.graph
    if len(graph.node) != 1 or not case.data_sets or not _plain_values(graph):
        return None
    node = graph.node[0]
    given = _named(graph.input, case.data_sets[0][0])
    expected = _named(graph.output, case.data_sets[0][1])
    attributes = _attributes(node)
    if given is None or expected is None or attributes is None:
        return None
    if set(filter(None, node.input)) != set(given) or list(filter(None, node.output)) != list(expected):
        return None
    if any(name in attributes for name in ("opset", "outputs")):
        return None
    versions = {item.domain: item.version for item in case.model.opset_import}
    call = {
        "api": public_name(node.domain, node.op_type),
        "args": [{"$array": name} if name else None for name in node.input],
        "kwargs": dict(attributes, opset=versions.get(node.domain, versions.get("", 0))),
    }
    if len(node.output) > 1 or not all(node.output):
        call["kwargs"]["outputs"] = [bool(name) for name in node.output]
    return call, given, {str(place): array for place, array in enumerate(expected.values())}


def _earlier(model):
    """Return the last version before each change of the operator that came no later than the model's own."""
    node = model.graph.node[0]
    own = {item.domain: item.version for item in model.opset_import}.get(node.domain, 0)
    since = _versions().get((node.domain, node.op_type), ())
    return [version - 1 for version in reversed(since) if 1 < version <= own and version > since[0]][:_EARLIER]


_SINCE = {}


def _versions():
    """Return by operator the versions of the standard at which it changed."""
    if not _SINCE:
        import onnx

        for schema in onnx.defs.get_all_schemas_with_history():
            _SINCE.setdefault((schema.domain, schema.name), []).append(schema.since_version)
        for versions in _SINCE.values():
            versions.sort()
    return _SINCE


def _plain_values(graph):
    values = list(graph.input) + list(graph.output)
    return bool(graph.input) and all(value.type.HasField("tensor_type") for value in values)


def _named(values, arrays):
    """Return arrays by name, or None where they are no plain tensors of dtypes that travel."""
    arrays = list(arrays)
    if len(values) != len(arrays):
        return None
    if not all(isinstance(array, (np.ndarray, np.generic)) for array in arrays):
        return None
    found = {value.name: np.asarray(array) for value, array in zip(values, arrays)}
    return found if all(array.dtype.kind in _KINDS for array in found.values()) else None


def _attributes(node):
    """Return the attributes as JSON, or None where one is a tensor, a graph, or an empty list of no known type."""
    from onnx import helper

    found = {}
    for item in node.attribute:
        value = helper.get_attribute_value(item)
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if isinstance(value, (list, tuple)) or hasattr(value, "__iter__") and not isinstance(value, str):
            value = [part.decode("utf-8", "replace") if isinstance(part, bytes) else part for part in value]
            if not value or not all(isinstance(part, (int, float, str)) for part in value):
                return None
        elif not isinstance(value, (int, float, str)):
            return None
        found[item.name] = value
    return found
