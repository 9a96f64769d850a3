"""Cases of single layers, taken out of a model."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.arrays import Array
from ...core.case import Case
from ...core.graph import InputSpec, LayerGraph, Node, Ref
from ...core.model import Model
from ...core.procedure import Goal, Procedure
from ...operators.catalogue import has_layer, layer


def one_layer_case(model: Model, node: Node, given: Sequence[Array], seed: int, *, in_file: bool = False) -> Case:
    """The guilty layer alone with the inputs that showed it.

    Args:
        in_file: leave it in its file, where it has one, as a layer unknown to us always is.
    """
    if (in_file or not _is_sayable(node)) and model.file is not None:
        return replayed_case(model, node, given, seed)
    names = [f"x{index}" for index in range(len(given))]
    specs = tuple(InputSpec(name, array.shape[1:], array.dtype.name) for name, array in zip(names, given, strict=True))
    alone = Node(node.layer, node.op, tuple(Ref(name) for name in names), node.params, call_params=node.call_params)
    graph = LayerGraph(specs, (alone,), (Ref(alone.name),), name=f"{node.layer}-alone")
    weights = {name: array for name, array in model.weights.items() if name.startswith(f"{node.layer}/")}
    return Case(graph, inputs=dict(zip(names, given, strict=True)), weights=weights, seed=seed)


def replayed_case(model: Model, node: Node, given: Sequence[Array], seed: int) -> Case:
    """One layer run alone where it stands: in its file, or in its graph."""
    arrays = {f"{node.key}/{index}": array for index, array in enumerate(given)}
    procedure = Procedure(goal=Goal.REPLAY, nodes=(node.key,))
    if model.file is not None:
        return Case(model.file, procedure, inputs=arrays, seed=seed)
    assert model.graph is not None
    return Case(model.graph, procedure, inputs=arrays, weights=model.weights, seed=seed)


def _is_sayable(node: Node) -> bool:
    """A LayerGraph can say all of it: the layer, and what it is called with."""
    declared = {parameter.name for parameter in layer(node.op).call_parameters} if has_layer(node.op) else set()
    return has_layer(node.op) and set(node.call_params) <= declared
