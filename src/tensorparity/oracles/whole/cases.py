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
    graph = _alone(node, given)
    inputs = dict(zip((item.name for item in graph.inputs), given, strict=True))
    return Case(graph, inputs=inputs, weights=_own_weights(model, node), seed=seed)


def replayed_case(model: Model, node: Node, given: Sequence[Array], seed: int) -> Case:
    """One layer run as the layers of a model are: in its file, where it stands; of a graph, alone as it stood there.

    No other layer of a graph has a part in that, so that none is left in the case: it can be reduced, and written down.
    """
    if model.file is not None:
        return Case(model.file, _replay_of(node), inputs=_inputs_of(node, given), seed=seed)
    graph = _alone(node, given)
    (own,) = graph.nodes
    return Case(graph, _replay_of(own), inputs=_inputs_of(own, given), weights=_own_weights(model, node), seed=seed)


def _replay_of(node: Node) -> Procedure:
    return Procedure(goal=Goal.REPLAY, nodes=(node.key,))


def _inputs_of(node: Node, given: Sequence[Array]) -> dict[str, Array]:
    return {f"{node.key}/{index}": array for index, array in enumerate(given)}


def _alone(node: Node, given: Sequence[Array]) -> LayerGraph:
    names = [f"x{index}" for index in range(len(given))]
    specs = tuple(InputSpec(name, array.shape[1:], array.dtype.name) for name, array in zip(names, given, strict=True))
    own = Node(node.layer, node.op, tuple(Ref(name) for name in names), node.params, call_params=node.call_params)
    return LayerGraph(specs, (own,), (Ref(own.name),), name=f"{node.layer}-alone")


def _own_weights(model: Model, node: Node) -> dict[str, Array]:
    return {name: array for name, array in model.weights.items() if name.startswith(f"{node.layer}/")}


def _is_sayable(node: Node) -> bool:
    """A LayerGraph can say all of it: the layer, and what it is called with."""
    declared = {parameter.name for parameter in layer(node.op).call_parameters} if has_layer(node.op) else set()
    return has_layer(node.op) and set(node.call_params) <= declared
