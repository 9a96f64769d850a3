"""Variants of a network: every layer draws new values for its parameters, and the network stays one that can be run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, Node, Ref
from ...core.jsontext import Json
from ...operators.catalogue import has_layer, layer
from ...operators.reference.evaluate import count_products, declare_weights, draw_weights, infer_shapes
from ...operators.refused import refused_value, shape_problem
from ...operators.spec import Parameter, Shape, ShapeError
from .wrong_values import HUGE, wrong_values

#: Of a layer's parameters, the share that draws a value anew; the next one where the network would not be valid.
_SHARES = (1.0, 1.0, 0.5, 0.5, 0.25, 0.25)
#: Never drawn: a stateful layer gives other answers to the same rows, and states are outputs that nobody reads.
_LEFT_ALONE = frozenset(["stateful", "return_state"])
#: Of parameters that say nothing of what the layer computes, and of sizes, which decide whether trained weights fit.
_RARELY, _SIZES = 0.1, 0.5
#: A variant may cost so many times what its seed model costs.
_MOST_COSTLY = 4.0
#: Draws of an invalid value until one is found that the declaration refuses.
_ATTEMPTS = 40
#: Numbers that the weights of a layer with a wrong value may have.
_MOST_NUMBERS = 1 << 20
#: Sizes that are compared to see whether an output grows with them.
_SOME_SIZES = (1, 2)


@dataclass(frozen=True)
class Variant:
    """A mutated network with its weights.

    Args:
        changed: how many layers have another value than in the seed model.
        invalid: layer, parameter and value, where one was made invalid on purpose.
    """

    graph: LayerGraph
    weights: Arrays
    changed: int
    invalid: tuple[str, str, Json] | None = None


def valid_variant(graph: LayerGraph, weights: Arrays, rng: np.random.Generator, name: str) -> Variant:
    """New values for every layer, as far as the network stays valid, has the same outputs and is no costlier."""
    limit = max(1.0, _MOST_COSTLY * count_products(graph))
    wanted = _output_shapes(graph)
    found = graph
    order = list(dict.fromkeys(node.layer for node in graph.nodes))
    for own in rng.permutation(len(order)):
        found = _with_new_values(found, order[own], rng, wanted, limit)
    found = replace(found, name=name)
    before = {node.name: dict(node.params) for node in graph.nodes}
    changed = sum(dict(node.params) != before[node.name] for node in found.nodes)
    return Variant(found, fitting_weights(found, weights, rng), changed)


def _with_new_values(
    graph: LayerGraph, name: str, rng: np.random.Generator, wanted: Sequence[Shape], limit: float
) -> LayerGraph:
    """The network with other values for one of its layers; as it is where none of the draws was valid."""
    node = next(node for node in graph.nodes if node.layer == name)
    if not has_layer(node.op):
        return graph
    for share in _SHARES:
        params = {**node.params, **_drawn(layer(node.op).parameters, rng, share)}
        params = layer(node.op).significant(params)
        other = with_params(graph, name, params)
        allowed = not layer(node.op).invalid(params) and not _unsaid(node, params)
        if allowed and other is not None and _is_valid(other, graph, wanted, limit):
            return other
    return graph


def _unsaid(node: Node, params: Mapping[str, Json]) -> str:
    return layer(node.op).unsaid(layer(node.op).complete(params))


def _drawn(parameters: Sequence[Parameter], rng: np.random.Generator, share: float) -> dict[str, Json]:
    drawn = {}
    for parameter in parameters:
        often = share * (_RARELY if parameter.rare else _SIZES if parameter.required else 1.0)
        drawable = bool(parameter.valid) and not parameter.data and parameter.name not in _LEFT_ALONE
        if drawable and rng.random() < often:
            drawn[parameter.name] = _plain(parameter.valid[int(rng.integers(len(parameter.valid)))])
    return drawn


def _plain(value: Json) -> Json:
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def with_params(graph: LayerGraph, name: str, params: Mapping[str, Json]) -> LayerGraph | None:
    """The network with these parameters for all calls of a layer; None where that cannot even be written down."""
    nodes = tuple(replace(node, params=params) if node.layer == name else node for node in graph.nodes)
    try:
        return replace(graph, nodes=nodes)
    except TensorParityError:
        return None


def _is_valid(other: LayerGraph, before: LayerGraph, wanted: Sequence[Shape], limit: float) -> bool:
    try:
        shapes = infer_shapes(other, None)
        declare_weights(other)
    except (ShapeError, TensorParityError):
        return False
    if [shapes[ref.node][ref.index] for ref in other.outputs] != list(wanted):
        return False
    if any(size is not None and size < 1 for own in shapes.values() for shape in own for size in shape):
        return False
    return _takes_the_same_inputs(other, before) and count_products(other) <= limit


def _takes_the_same_inputs(other: LayerGraph, before: LayerGraph) -> bool:
    """Every index that an input may hold is one that the other network takes."""
    return all(new >= old for new, old in zip(_highest(other), _highest(before), strict=True))


def _highest(graph: LayerGraph) -> list[float]:
    """By use of an input, the index below which its values stay."""
    inputs = {item.name for item in graph.inputs}
    found = []
    for node in graph.nodes:
        for index, ref in enumerate(node.inputs):
            if ref.node in inputs:
                domain = layer(node.op).domain_of(layer(node.op).complete(node.params), index)
                found.append(float("inf") if domain.high is None else float(domain.high))
    return found


def _output_shapes(graph: LayerGraph) -> list[Shape]:
    shapes = infer_shapes(graph, None)
    return [shapes[ref.node][ref.index] for ref in graph.outputs]


def fitting_weights(graph: LayerGraph, trained: Arrays, rng: np.random.Generator) -> dict[str, Array]:
    """Trained weights where the shape is the same, else drawn."""
    drawn = draw_weights(graph, rng)
    return {
        name: trained[name] if name in trained and trained[name].shape == array.shape else array
        for name, array in drawn.items()
    }


# Invalid


def invalid_variant(graph: LayerGraph, weights: Arrays, rng: np.random.Generator, name: str) -> Variant | None:
    """The network up to a layer of which one parameter has a value that its declaration refuses; None if none is found.

    What stands behind that layer is left out, for it might refuse in its place.
    """
    nodes = [node for node in graph.nodes if has_layer(node.op) and layer(node.op).parameters]
    for _ in range(_ATTEMPTS):
        node = nodes[int(rng.integers(len(nodes)))]
        parameter = layer(node.op).parameters[int(rng.integers(len(layer(node.op).parameters)))]
        values = wrong_values(parameter, node.params.get(parameter.name, parameter.default))
        if parameter.data or not values:
            continue
        value = values[int(rng.integers(len(values)))]
        found = variant_with_value(graph, node, parameter.name, value, weights, name)
        if found is not None:
            return found
    return None


def variant_with_value(
    graph: LayerGraph, node: Node, parameter: str, value: Json, weights: Arrays, name: str
) -> Variant | None:
    """The network up to this layer, with this value; None where its declaration does not refuse that, and it alone."""
    cut = _up_to(graph, node, name)
    if shape_problem(cut) or (_is_huge(value) and _output_grows(cut, node, parameter, value)):
        return None
    other = with_params(cut, node.layer, {**node.params, parameter: value})
    refused = refused_value(other) if other is not None else None
    if other is None or refused is None or refused.node.layer != node.layer:
        return None
    plain = _as_python_takes_it(node, parameter, value)
    kept = _weights_beside(with_params(cut, node.layer, plain) or other, node, weights)
    return None if kept is None else Variant(other, kept, 1, (node.layer, parameter, value))


def _is_huge(value: Json) -> bool:
    return any(map(_is_huge, value)) if isinstance(value, (list, tuple)) else value == HUGE


def _output_grows(graph: LayerGraph, node: Node, parameter: str, value: Json) -> bool:
    """Whether the output grows with the value: then a huge one asks for memory, and nothing but memory refuses it."""
    sizes = []
    for size in _SOME_SIZES:
        plain = [size for _ in value] if isinstance(value, (list, tuple)) else size
        other = with_params(graph, node.layer, {**node.params, parameter: plain})
        if other is None or shape_problem(other):
            return False
        sizes.append([math.prod(size or 1 for size in shape) for shape in _output_shapes(other)])
    return sizes[0] < sizes[1]


def _as_python_takes_it(node: Node, parameter: str, value: Json) -> dict[str, Json]:
    """The layer's values; anything in the place of a truth value counts as Python has it, which decides the weights."""
    declared = layer(node.op).complete(node.params)[parameter]
    return {**node.params, parameter: bool(value) if isinstance(declared, bool) else value}


def _up_to(graph: LayerGraph, node: Node, name: str) -> LayerGraph:
    needed = graph.leading_to(node.name)
    return LayerGraph(
        tuple(item for item in graph.inputs if item.name in needed),
        tuple(other for other in graph.nodes if other.name in needed),
        (Ref(node.name),),
        name,
    )


def _weights_beside(graph: LayerGraph, node: Node, weights: Arrays) -> dict[str, Array] | None:
    """Weights of all layers; of the one with the wrong value such as that value asks for, if anything.

    None where that would be too many.
    """
    layers = {other.layer for other in graph.nodes if other.layer != node.layer}
    found = {name: array for name, array in weights.items() if name.partition("/")[0] in layers}
    own = {name: array for name, array in weights.items() if name.partition("/")[0] == node.layer}
    asked = _asked_weights(graph, node)
    if asked is None:
        return {**found, **own}
    if any(min(shape, default=1) < 0 or np.prod(shape, dtype=np.float64) > _MOST_NUMBERS for shape in asked.values()):
        return None if any(np.prod(s, dtype=np.float64) > _MOST_NUMBERS for s in asked.values()) else {**found, **own}
    fitting = {key: own[key] for key, shape in asked.items() if key in own and own[key].shape == shape}
    return {**found, **{key: np.ones(shape, np.float32) for key, shape in asked.items()}, **fitting}


def _asked_weights(graph: LayerGraph, node: Node) -> dict[str, tuple[int, ...]] | None:
    own = next(other for other in graph.nodes if other.name == node.name)
    before = LayerGraph(graph.inputs, tuple(n for n in graph.nodes if n.name != own.name), (own.inputs[0],), graph.name)
    shapes = infer_shapes(before, None)
    spec = layer(own.op)
    try:
        declared = spec.weights(spec.complete(own.params), [shapes[ref.node][ref.index] for ref in own.inputs])
    except (ShapeError, TypeError, ValueError, KeyError, IndexError, ArithmeticError):
        return None
    return {f"{own.layer}/{name}": tuple(weight.shape) for name, weight in declared.items()}
