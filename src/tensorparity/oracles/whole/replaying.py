"""The isolated replay as checks: each node alone, on identical inputs on every target.

Which activations serve as the identical inputs does not matter, as long as they are real ones and finite; they come
from one target's trace. Nodes go out in batches of bounded size, so that memory stays bounded too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.channels import is_finite
from ...core.graph import LayerGraph, Node
from ...core.model import Model, node_inputs
from ...core.oracle import Check
from ...core.outcome import Outcome, Trace
from ...core.procedure import Goal, Procedure
from ...core.traits import Traits
from ...triage.measuring import measure_node
from ...triage.node_errors import NodeErrors
from .sight import Asking

_BATCH_BYTES = 48 << 20
_PLAIN = Procedure()
_Batch = Sequence[tuple[Node, list[Array]]]


def replay_nodes(
    model: Model,
    nodes: Sequence[Node],
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    traits: Traits,
    *,
    deadline: float = 1.0,
    like: Procedure = _PLAIN,
) -> Asking[list[NodeErrors]]:
    """Replay the nodes on the targets; one NodeErrors per node that no other node gives a NaN or an infinity.

    Args:
        like: how the whole is run; its mode, dtype, data format and training flag are those of every node.
    """
    assert model.graph is not None
    found = []
    for batch in _batches(model.graph, nodes, inputs, activations):
        (answer,) = yield [Check(_case(model, like, batch), tuple(targets), deadline=deadline)]
        outcomes = dict(answer.outcomes)
        if len(batch) > 1 and any(not outcome.completed for outcome in outcomes.values()):
            outcomes = yield from _one_by_one(model, batch, outcomes, deadline, like)
        for node, given in batch:
            found.append(
                measure_node(node, given, model.weights, outcomes, traits, training=like.training, dtype=like.dtype)
            )
    return found


def _case(model: Model, like: Procedure, batch: _Batch) -> Case:
    procedure = Procedure(
        goal=Goal.REPLAY,
        mode=like.mode,
        training=like.training,
        dtype=like.dtype,
        data_format=like.data_format,
        reload=like.reload,
        nodes=tuple(node.key for node, _ in batch),
    )
    arrays = {f"{node.key}/{index}": array for node, given in batch for index, array in enumerate(given)}
    assert model.graph is not None
    if model.file is not None:
        return Case(model.file, procedure, inputs=arrays)
    return Case(model.graph, procedure, inputs=arrays, weights=model.weights)


def _batches(
    graph: LayerGraph, nodes: Sequence[Node], inputs: Arrays, activations: Mapping[str, Array]
) -> Iterator[list[tuple[Node, list[Array]]]]:
    batch: list[tuple[Node, list[Array]]] = []
    size = 0
    for node in nodes:
        try:
            given = node_inputs(graph, node, inputs, activations)
        except KeyError:
            continue  # the trace ended before this node
        names = [ref.node for ref in node.inputs]
        if not all(name in inputs or is_finite(array).all() for name, array in zip(names, given, strict=True)):
            continue  # upstream is broken: the first finite nodes tell; what the case itself gives is no breakage
        batch.append((node, given))
        size += sum(array.nbytes for array in given)
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _one_by_one(
    model: Model, batch: _Batch, outcomes: Mapping[str, Outcome], deadline: float, like: Procedure
) -> Asking[dict[str, Outcome]]:
    """A batch that one node spoils for a target is repeated node by node there."""
    failed = tuple(target for target, outcome in outcomes.items() if not outcome.completed)
    answers = yield [Check(_case(model, like, [item]), failed, deadline=deadline) for item in batch]
    found = dict(outcomes)
    for target in failed:
        alone = [answer.outcomes[target] for answer in answers]
        nodes = {key: array for outcome in alone for key, array in outcome.trace.nodes.items()}
        ended = next((outcome for outcome in alone if not outcome.completed), alone[0])
        found[target] = replace(ended, trace=Trace(nodes=nodes))
    return found
