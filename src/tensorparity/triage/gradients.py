"""The isolated replay of the backward pass: identical inputs and identical cotangents on every target.

Near a kink a last-bit difference of the input flips a gradient, and a whole network's gradients part
without anybody being wrong. Alone and on the same numbers, a node has no such excuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..core.arrays import Array, Arrays, is_floating
from ..core.graph import Node
from ..core.model import Model, node_inputs
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.traits import Traits
from .backward import GradientErrors, judge_gradients, layer_function

_BATCH_NODES = 16


def replay_gradients(
    runner: Runner,
    model: Model,
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    seed: int,
    traits: Traits,
    *,
    training: bool = False,
) -> Iterator[GradientErrors]:
    """Pull one seeded cotangent back through every node alone; one answer per node.

    Where the targets differ and the catalogue has a reference, that decides; so two targets are enough. Else it is
    the vote.
    """
    assert model.graph is not None
    rng = np.random.default_rng([seed, 0xBAC])
    for nodes in _batches(model.graph.nodes):
        arrays: dict[str, Array] = {}
        cotangents: dict[str, Array] = {}
        known: list[Node] = []
        for node in nodes:
            output = activations.get(node.key)
            try:
                given = node_inputs(model.graph, node, inputs, activations)
            except KeyError:
                continue
            if output is None or not is_floating(output.dtype.name):
                continue
            known.append(node)
            arrays.update({f"{node.key}/{index}": array for index, array in enumerate(given)})
            cotangents[node.key] = np.asarray(rng.standard_normal(output.shape)).astype(output.dtype)
        procedure = Procedure(goal=Goal.REPLAY, nodes=tuple(node.key for node in known), training=training)
        pairs = [(model.case(target, procedure, arrays, cotangents), target) for target in targets]
        outcomes = dict(zip(targets, runner.run_pairs(pairs), strict=True))
        for node in known:
            answers = {target: _of_node(node, outcome) for target, outcome in outcomes.items()}
            given = node_inputs(model.graph, node, inputs, activations)
            function = layer_function(node, given, model.weights, cotangents[node.key], training=training)
            yield judge_gradients(node, answers, function, traits)


def _batches(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Nodes of one layer go into different batches: their weights' gradients have one name."""
    batch: list[Node] = []
    for node in nodes:
        if len(batch) >= _BATCH_NODES or any(other.layer == node.layer for other in batch):
            yield batch
            batch = []
        batch.append(node)
    if batch:
        yield batch


def _of_node(node: Node, outcome: Outcome) -> dict[str, Array]:
    prefixes = (f"input:{node.key}/", f"weight:{node.layer}/")
    return {name: array for name, array in outcome.trace.gradients.items() if name.startswith(prefixes)}
