"""Changing one thing of a case, and everything else so that it still fits.

A pass says what the graph and the inputs shall be; here the weights, cotangents and labels are cut to
size by the catalogue's shape rules. What cannot fit is None, and costs no check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.errors import TensorParityError
from ...core.graph import InputSpec, LayerGraph, Node, Ref
from ...core.jsontext import Json
from ...core.procedure import Goal
from ...core.rule import is_fixed
from ...operators.catalogue import has_layer, layer
from ...operators.reference.evaluate import declare_weights, infer_shapes
from ...operators.spec import ShapeError, WeightSpec

#: So long an axis is that the default windows of layers fit into it.
_AMPLE = 4

#: What a weight is where nothing is special about it, by its role.
NATURAL = {"kernel": 1.0, "bias": 0.0, "scale": 1.0, "offset": 0.0, "mean": 0.0, "variance": 1.0}


def graph_of(case: Case) -> LayerGraph | None:
    """The case's graph, if it is one that can be edited: a graph of layers the catalogue knows.

    Of a node that is replayed inside of a larger graph, the case has the node's inputs and not the graph's.
    """
    graph = case.subject
    if not isinstance(graph, LayerGraph) or is_fixed(case):
        return None
    if case.procedure.goal is Goal.REPLAY and graph.nodes[-1].key not in case.procedure.nodes:
        return None
    return graph if all(has_layer(node.op) for node in graph.nodes) else None


def graph_inputs(case: Case) -> dict[str, Array]:
    """The arrays by the name of the graph's input; a replay of one node names them by node and position."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    if case.procedure.goal is not Goal.REPLAY:
        return dict(case.inputs)
    node = graph.nodes[-1]
    return {ref.node: case.inputs[f"{node.key}/{index}"] for index, ref in enumerate(node.inputs)}


def named_inputs(case: Case, graph: LayerGraph, inputs: Arrays) -> dict[str, Array]:
    """The inverse of ``graph_inputs``."""
    if case.procedure.goal is not Goal.REPLAY:
        return {item.name: inputs[item.name] for item in graph.inputs}
    node = graph.nodes[-1]
    return {f"{node.key}/{index}": inputs[ref.node] for index, ref in enumerate(node.inputs)}


def refit(case: Case, graph: LayerGraph, inputs: Arrays) -> Case | None:
    """The case with another graph and other inputs, all else cut to fit; None where they do not go together."""
    try:
        graph = _without_default_parameters(_with_shapes(graph, inputs))
        batch = {len(inputs[item.name]) for item in graph.inputs}
        if len(batch) > 1:
            return None
        shapes = infer_shapes(graph, next(iter(batch), 1))
        weights = {name: _weight(case.weights.get(name), spec) for name, spec in declare_weights(graph).items()}
    except (ShapeError, TensorParityError, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return None  # a shape rule that stumbles over odd parameters refuses them
    sizes = [size for group in shapes.values() for shape in group for size in shape]
    if any(size is None or size < 1 for size in sizes):
        return None
    kept = tuple(ref for ref in graph.outputs if ref.index < len(shapes[ref.node]))  # states may be no output any more
    if not kept:
        return None
    graph = replace(graph, outputs=kept)
    outputs = {ref.node: shapes[ref.node][ref.index] for ref in kept}
    return replace(
        case,
        subject=graph,
        inputs=named_inputs(case, graph, inputs),
        weights=weights,
        labels={name: _label(array, outputs[name]) for name, array in case.labels.items() if name in outputs},
        cotangents={key: _cotangent(graph, key, array, shapes) for key, array in case.cotangents.items()},
    )


def refit_grown(case: Case, graph: LayerGraph, inputs: Arrays) -> Case | None:
    """The case with another graph; where that does not fit inputs that are too short, on longer ones.

    What was drawn for a window of one number has no room for the default window.
    """
    found = refit(case, graph, inputs)
    if found is not None or any(array.size == 0 for array in inputs.values()):
        return found
    between, behind = slice(1, -1), slice(2, None)  # channels last, and first
    grown = ({name: _grown(array, axes) for name, array in inputs.items()} for axes in (between, behind))
    return next((fit for longer in grown if (fit := refit(case, graph, longer)) is not None), None)


def _grown(array: Array, axes: slice) -> Array:
    """The array with its values over again, where these axes are short."""
    places = range(array.ndim)[axes]
    return cut_array(array, tuple(max(n, _AMPLE) if axis in places else n for axis, n in enumerate(array.shape)))


def _with_shapes(graph: LayerGraph, inputs: Arrays) -> LayerGraph:
    specs = tuple(InputSpec(item.name, inputs[item.name].shape[1:], item.dtype) for item in graph.inputs)
    return replace(graph, inputs=specs)


def _without_default_parameters(graph: LayerGraph) -> LayerGraph:
    """Without the parameters that only repeat their default: model files spell out all of them."""
    nodes = tuple(
        replace(node, params=_significant_parameters(node), call_params=node.call_params) for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def _significant_parameters(node: Node) -> dict[str, Json]:
    spec = layer(node.op)
    declared, significant = spec.defaults(), spec.significant(node.params)
    return {name: value for name, value in node.params.items() if name not in declared or name in significant}


def _weight(old: Array | None, spec: WeightSpec) -> Array:
    if old is None:
        return np.full(spec.shape, NATURAL.get(spec.role, 1.0), np.float32)
    return cut_array(old, spec.shape)


def _label(old: Array, output: tuple[int | None, ...]) -> Array:
    """Labels have the output's shape, or one number (or one in a column) per instance."""
    dense = tuple(size or 1 for size in output)
    if old.ndim == len(dense) and (old.shape[-1] != 1 or dense[-1] == 1):
        return cut_array(old, dense)
    labels = cut_array(old, (dense[0], *old.shape[1:]))
    return np.minimum(labels, dense[-1] - 1) if labels.dtype.kind in "iu" else labels


def _cotangent(
    graph: LayerGraph, key: str, old: Array, shapes: Mapping[str, tuple[tuple[int | None, ...], ...]]
) -> Array:
    node = next(node for node in graph.nodes if node.key == key)
    return cut_array(old, tuple(size or 1 for size in shapes[node.name][0]))


def with_arrays(case: Case, groups: Mapping[str, Arrays]) -> Case:
    """The case with other arrays, by group (``inputs``, ``weights``, ...)."""
    return replace(
        case,
        inputs=groups.get("inputs", case.inputs),
        labels=groups.get("labels", case.labels),
        weights=groups.get("weights", case.weights),
        cotangents=groups.get("cotangents", case.cotangents),
    )


def cut_array(array: Array, shape: tuple[int, ...]) -> Array:
    """The leading corner of an array; where it is too small, its values over again."""
    if array.ndim == len(shape) and all(new <= old for new, old in zip(shape, array.shape, strict=True)):
        return np.ascontiguousarray(array[tuple(slice(size) for size in shape)])
    if array.size == 0:
        return np.ones(shape, array.dtype)
    return np.resize(array, shape)


def with_params(
    graph: LayerGraph, node: Node, params: Mapping[str, object], call_params: Mapping[str, object]
) -> LayerGraph:
    """The graph with other parameters of one layer, at each of its calls."""
    nodes = tuple(
        replace(other, params=params, call_params=call_params if other.name == node.name else other.call_params)
        if other.layer == node.layer
        else other
        for other in graph.nodes
    )
    return replace(graph, nodes=nodes)


def subgraph(case: Case, names: set[str], values: Arrays) -> Case | None:
    """Only these nodes; what flowed in from the others becomes an input.

    Args:
        values: by node name, for what flowed: the first output of each node.
    """
    graph = graph_of(case)
    if graph is None or not names or case.procedure.goal is Goal.REPLAY:
        return None
    kept = [node for node in graph.nodes if node.name in names]
    wanted = [ref for node in kept for ref in node.inputs if ref.node not in names]
    if any(ref.index or (ref.node not in case.inputs and ref.node not in values) for ref in wanted):
        return None
    sources = list(dict.fromkeys(ref.node for ref in wanted))
    inputs = {name: case.inputs[name] if name in case.inputs else values[name] for name in sources}
    dtypes = {item.name: item.dtype for item in graph.inputs}
    specs = tuple(
        InputSpec(name, array.shape[1:], dtypes.get(name, array.dtype.name)) for name, array in inputs.items()
    )
    used = {ref.node for node in kept for ref in node.inputs}
    outputs = tuple(ref for ref in graph.outputs if ref.node in names)
    outputs += tuple(Ref(node.name) for node in kept if node.name not in used and Ref(node.name) not in outputs)
    try:
        smaller = _with_calls_numbered(LayerGraph(specs, tuple(kept), outputs, graph.name))
    except TensorParityError:
        return None
    return refit(replace(case, inputs=inputs), smaller, inputs)


def _with_calls_numbered(graph: LayerGraph) -> LayerGraph:
    """Calls of a layer counted again from 0, for some of them may be gone; a first call has the layer's name."""
    calls: dict[str, int] = {}
    names: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        call = calls.get(node.layer, 0)
        calls[node.layer] = call + 1
        if call != node.call:
            names[node.name] = node.layer if call == 0 else f"{node.layer}__{call}"
        inputs = tuple(replace(ref, node=names.get(ref.node, ref.node)) for ref in node.inputs)
        nodes.append(replace(node, name=names.get(node.name, node.name), call=call, inputs=inputs))
    outputs = tuple(replace(ref, node=names.get(ref.node, ref.node)) for ref in graph.outputs)
    return replace(graph, nodes=tuple(nodes), outputs=outputs)
