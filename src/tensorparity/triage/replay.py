"""The isolated replay: each node alone, on identical inputs on every target.

No error arrives from upstream, so the guilty node shows directly. Which activations serve as the
identical inputs does not matter, as long as they are real ones and finite; they come from one
target's trace. Nodes go out in batches of bounded size, so that memory stays bounded too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..core.arrays import Array, Arrays
from ..core.channels import is_finite
from ..core.graph import Node
from ..core.model import Model, node_inputs
from ..core.outcome import Outcome, Trace
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.traits import Traits
from .measuring import measure_node
from .node_errors import NodeErrors

_BATCH_BYTES = 48 << 20
_PLAIN = Procedure()


def replay_nodes(
    runner: Runner,
    model: Model,
    nodes: Sequence[Node],
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    traits: Traits,
    *,
    fresh: bool = False,
    deadline_factor: float = 1.0,
    like: Procedure = _PLAIN,
) -> Iterator[NodeErrors]:
    """Replay the nodes on the targets; one NodeErrors per node that no other node gives a NaN or an infinity.

    Args:
        like: how the whole is run; its mode, dtype, data format and training flag are those of every node, and
            with ``reload`` the nodes are those of the model as it comes back when it is saved and loaded.
    """
    assert model.graph is not None
    for batch in _batches(model, nodes, inputs, activations):
        arrays = {f"{node.key}/{i}": array for node, given in batch for i, array in enumerate(given)}
        procedure = _alone(like, *(node for node, _ in batch))
        pairs = [(model.case(target, procedure, arrays), target) for target in targets]
        answers = runner.run_pairs(pairs, fresh=fresh, deadline_factor=deadline_factor)
        outcomes = dict(zip(targets, answers, strict=True))
        if len(batch) > 1 and any(not outcome.completed for outcome in outcomes.values()):
            outcomes = _one_by_one(runner, model, batch, outcomes, fresh, deadline_factor, like)
        for node, given in batch:
            training, dtype = like.training, like.dtype
            yield measure_node(node, given, model.weights, outcomes, traits, training=training, dtype=dtype)


def _alone(like: Procedure, *nodes: Node) -> Procedure:
    return Procedure(
        goal=Goal.REPLAY,
        mode=like.mode,
        training=like.training,
        dtype=like.dtype,
        data_format=like.data_format,
        reload=like.reload,
        nodes=tuple(node.key for node in nodes),
    )


def _batches(
    model: Model, nodes: Sequence[Node], inputs: Arrays, activations: Mapping[str, Array]
) -> Iterator[list[tuple[Node, list[Array]]]]:
    assert model.graph is not None
    batch: list[tuple[Node, list[Array]]] = []
    size = 0
    for node in nodes:
        try:
            given = node_inputs(model.graph, node, inputs, activations)
        except KeyError:
            continue  # the trace ended before this node
        names = [ref.node for ref in node.inputs]
        if not all(name in inputs or _finite(array) for name, array in zip(names, given, strict=True)):
            continue  # upstream is broken: the first finite nodes tell; what the case itself gives is no breakage
        batch.append((node, given))
        size += sum(array.nbytes for array in given)
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _finite(array: Array) -> bool:
    return bool(is_finite(array).all())


def _one_by_one(
    runner: Runner,
    model: Model,
    batch: Sequence[tuple[Node, list[Array]]],
    outcomes: dict[str, Outcome],
    fresh: bool,
    deadline_factor: float,
    like: Procedure,
) -> dict[str, Outcome]:
    """A batch that one node spoils for a target is repeated node by node there."""
    for target in [target for target, outcome in outcomes.items() if not outcome.completed]:
        nodes: dict[str, Array] = {}
        pairs = []
        for node, given in batch:
            arrays = {f"{node.key}/{i}": array for i, array in enumerate(given)}
            pairs.append((model.case(target, _alone(like, node), arrays), target))
        alone = runner.run_pairs(pairs, fresh=fresh, deadline_factor=deadline_factor)
        for outcome in alone:
            nodes.update(outcome.trace.nodes)
        failed = next((outcome for outcome in alone if not outcome.completed), alone[0])
        outcomes[target] = replace(failed, trace=Trace(nodes=nodes))
    return outcomes
