"""The isolated replay of the backward pass: identical inputs and identical cotangents on every target.

Near a kink a last-bit difference of the input flips a gradient, and a whole network's gradients part
without anybody being wrong. Alone and on the same numbers, a node has no such excuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, Arrays, is_floating
from ...core.case import Case
from ...core.graph import Node
from ...core.model import Model, node_inputs
from ...core.oracle import Check
from ...core.outcome import Outcome
from ...core.procedure import Goal, Procedure
from ...core.traits import Traits
from ..base import Asking
from .backward import GradientErrors, judge_gradients, layer_function

_BATCH_NODES = 16


@dataclass(frozen=True)
class _Pulled:
    """A node, what flows into it, and the cotangent that is pulled back through it."""

    node: Node
    given: tuple[Array, ...]
    cotangent: Array


def replay_gradients(
    case: Case,
    model: Model,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    traits: Traits,
) -> Asking[list[GradientErrors]]:
    """Pull one seeded cotangent back through every node alone, as in training; one answer per node.

    Where the targets differ and the catalogue has a reference, that decides; so two targets are enough. Else it is
    the vote.

    Args:
        case: the model on a few instances.
        model: the same with its layers known.
        activations: of these instances, by node.
    """
    assert model.graph is not None
    rng = np.random.default_rng([case.seed, 0xBAC])
    found: list[GradientErrors] = []
    for nodes in _batches(model.graph.nodes):
        batch = _pulled(model, nodes, case.inputs, activations, rng)
        answers = (yield [Check(_replay(case, batch), tuple(targets))]) if batch else ()
        for answer in answers:
            outcomes, weights = answer.outcomes, model.weights
            found += [
                judge_replayed(item.node, item.given, item.cotangent, weights, outcomes, traits) for item in batch
            ]
    return found


def _pulled(
    model: Model, nodes: Sequence[Node], inputs: Arrays, activations: Mapping[str, Array], rng: np.random.Generator
) -> list[_Pulled]:
    assert model.graph is not None
    found: list[_Pulled] = []
    for node in nodes:
        output = activations.get(node.key)
        try:
            given = node_inputs(model.graph, node, inputs, activations)
        except KeyError:
            continue
        if output is not None and is_floating(output.dtype.name):
            cotangent = np.asarray(rng.standard_normal(output.shape)).astype(output.dtype)
            found.append(_Pulled(node, tuple(given), cotangent))
    return found


def _replay(case: Case, batch: Sequence[_Pulled]) -> Case:
    """These nodes of the case's model, each alone."""
    return replace(
        case,
        procedure=Procedure(goal=Goal.REPLAY, nodes=tuple(item.node.key for item in batch), training=True),
        inputs={f"{item.node.key}/{index}": array for item in batch for index, array in enumerate(item.given)},
        labels={},
        cotangents={item.node.key: item.cotangent for item in batch},
    )


def judge_replayed(
    node: Node,
    given: Sequence[Array],
    cotangent: Array,
    weights: Arrays,
    outcomes: Mapping[str, Outcome],
    traits: Traits,
) -> GradientErrors:
    """What the targets make of a cotangent that is pulled back through one node of a model.

    Args:
        given: what flows into the node.
    """
    answers = {target: _of_node(node, outcome) for target, outcome in outcomes.items()}
    function = layer_function(node, given, weights, cotangent, training=True)
    return judge_gradients(node, answers, function, traits)


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
