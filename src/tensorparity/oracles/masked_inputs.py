"""A layer behind a mask, alone: its inputs come out of Masking layers that make just the masks it had in the network.

Hidden steps are set to the value that Masking looks for. What a layer makes of its mask does not depend on them, and so
the case needs nothing that users do not write themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.graph import InputSpec, LayerGraph, Node, Ref
from ..core.outcome import Outcome
from ..operators.catalogue import layer
from ..operators.layers.nested import serialized_layer
from ..operators.spec import Mask

_VALUES = (0.0, -1.0, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class MaskedInput:
    """One input: what is fed, the nodes that mask it, and where the masked tensor is."""

    fed: Array
    nodes: tuple[Node, ...]
    ref: Ref


def mask_input(name: str, x: Array, mask: Mask) -> MaskedInput:
    """The input of that name under a mask.

    Raises:
        ValueError: if no Masking layer makes this mask.
    """
    if mask is None:
        return MaskedInput(x, (), Ref(name))
    if mask.shape == x.shape[:-1]:
        fed, value = _mark_hidden_steps(x, mask)
        return MaskedInput(fed, (_masking_node(name, value),), Ref(f"{name}_masked"))
    if mask.shape != x.shape[:2]:
        raise ValueError(f"no mask of shape {mask.shape} can be made for an input of shape {x.shape}")
    fed, value = _mark_hidden_steps(x.reshape(*x.shape[:2], -1), mask)
    inner = serialized_layer("Reshape", f"{name}_step", target_shape=list(x.shape[2:]))
    shaped = Node(f"{name}_shaped", "TimeDistributed", (Ref(f"{name}_masked"),), {"layer": inner})
    return MaskedInput(fed, (_masking_node(name, value), shaped), Ref(shaped.name))


def _masking_node(name: str, value: float) -> Node:
    return Node(f"{name}_masked", "Masking", (Ref(name),), {"mask_value": value} if value else {})


def _mark_hidden_steps(x: Array, mask: Array) -> tuple[Array, float]:
    """The input with its hidden steps set to a value that no other step is full of."""
    for value in _VALUES:
        if np.any(x != value, axis=-1)[mask].all():
            return np.where(mask[..., None], x, np.asarray(value, x.dtype)), value
    raise ValueError("every value that could mark a hidden step fills one that is not")


def any_mask(masks: Sequence[Mask]) -> bool:
    return any(mask is not None for mask in masks)


def alone(node: Node, given: Sequence[Array], weights: Arrays, seed: int, masks: Sequence[Mask] = ()) -> Case:
    """A graph of this one layer with all of its outputs, on these inputs, and behind these masks.

    Raises:
        ValueError: if there is no such mask in a graph.
    """
    hidden = masks or [None] * len(given)
    names = [f"x{index}" for index in range(len(given))]
    veils = [mask_input(name, array, mask) for name, array, mask in zip(names, given, hidden, strict=True)]
    specs = tuple(
        InputSpec(name, item.fed.shape[1:], item.fed.dtype.name) for name, item in zip(names, veils, strict=True)
    )
    refs = tuple(item.ref for item in veils)
    own = Node(node.layer, node.op, refs, node.params, call_params=node.call_params)
    params = layer(node.op).complete({**node.params, **node.call_params})
    count = len(layer(node.op).shape(params, [array.shape for array in given]))
    outputs = tuple(Ref(own.name, index) for index in range(count))
    kept = {name: array for name, array in weights.items() if name.startswith(f"{node.layer}/")}
    before = [masking for item in veils for masking in item.nodes]
    graph = LayerGraph(specs, (*before, own), outputs, name=f"{node.layer}-alone")
    fed = {name: item.fed for name, item in zip(names, veils, strict=True)}
    return Case(graph, inputs=fed, weights=kept, seed=seed)


def as_trace(node: Node, outcome: Outcome) -> Outcome:
    """Outputs of a single layer under the keys of a trace; what is in front of it may have some of its own."""
    own = {name: array for name, array in outcome.outputs.items() if name.split(".")[0] == node.name}
    nodes = {node.key + name[len(node.name) :]: array for name, array in own.items()}
    return replace(outcome, trace=replace(outcome.trace, nodes=nodes))
