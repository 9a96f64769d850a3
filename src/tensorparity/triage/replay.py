"""The isolated replay: each node alone, on identical inputs on every target.

No error arrives from upstream, so the guilty node shows directly. Which activations serve as the
identical inputs does not matter, as long as they are real ones and finite; they come from one
target's trace. Nodes go out in batches of bounded size, so that memory stays bounded too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays, dtype_name, is_floating
from ..core.errors import TensorParityError
from ..core.graph import Node
from ..core.messages import gist
from ..core.model import Model, node_inputs
from ..core.outcome import Outcome, Trace
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..operators.catalogue import has_layer
from ..operators.evaluate import evaluate_node
from ..operators.rounding import error_units
from ..operators.spec import Evaluation, ShapeError

_BATCH_BYTES = 48 << 20


@dataclass(frozen=True, slots=True)
class NodeErrors:
    """What each target made of one node on the same inputs.

    Args:
        errors: decision 5's e per target, against the reference or, without one, against the vote.
        absolute: largest absolute error per target; infinite where the shape is another.
        mutual: largest e of any target against any other.
        judged_by: ``reference``, ``vote`` or ``nothing``.
        endings: targets that gave no answer for this node, and why.
    """

    node: Node
    errors: Mapping[str, float]
    absolute: Mapping[str, float] = field(default_factory=dict)
    mutual: float = 0.0
    judged_by: str = "reference"
    endings: Mapping[str, str] = field(default_factory=dict)


def replay_nodes(
    runner: Runner,
    model: Model,
    nodes: Sequence[Node],
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    *,
    fresh: bool = False,
) -> Iterator[NodeErrors]:
    """Replay the nodes on the targets; one NodeErrors per node whose inputs are known and finite."""
    assert model.graph is not None
    for batch in _batches(model, nodes, inputs, activations):
        arrays = {f"{node.key}/{i}": array for node, given in batch for i, array in enumerate(given)}
        procedure = Procedure(goal=Goal.REPLAY, nodes=tuple(node.key for node, _ in batch))
        pairs = [(model.case(target, procedure, arrays), target) for target in targets]
        outcomes = dict(zip(targets, runner.run_pairs(pairs, fresh=fresh), strict=True))
        if len(batch) > 1 and any(not outcome.completed for outcome in outcomes.values()):
            outcomes = _one_by_one(runner, model, batch, outcomes, fresh)
        for node, given in batch:
            yield _measure(node, given, model.weights, outcomes)


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
        if not all(_finite(array) for array in given):
            continue  # upstream is broken: the first finite nodes tell
        batch.append((node, given))
        size += sum(array.nbytes for array in given)
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _finite(array: Array) -> bool:
    return array.dtype.kind not in "fcV" or bool(np.isfinite(array.astype(np.float64)).all())


def _one_by_one(
    runner: Runner,
    model: Model,
    batch: Sequence[tuple[Node, list[Array]]],
    outcomes: dict[str, Outcome],
    fresh: bool,
) -> dict[str, Outcome]:
    """A batch that one node spoils for a target is repeated node by node there."""
    for target in [target for target, outcome in outcomes.items() if not outcome.completed]:
        nodes: dict[str, Array] = {}
        pairs = []
        for node, given in batch:
            arrays = {f"{node.key}/{i}": array for i, array in enumerate(given)}
            pairs.append((model.case(target, Procedure(goal=Goal.REPLAY, nodes=(node.key,)), arrays), target))
        alone = runner.run_pairs(pairs, fresh=fresh)
        for outcome in alone:
            nodes.update(outcome.trace.nodes)
        failed = next((outcome for outcome in alone if not outcome.completed), alone[0])
        outcomes[target] = replace(failed, trace=Trace(nodes=nodes))
    return outcomes


def _measure(node: Node, given: Sequence[Array], weights: Arrays, outcomes: Mapping[str, Outcome]) -> NodeErrors:
    seen = {target: _node_outputs(node, outcome) for target, outcome in outcomes.items()}
    answered = {target: outputs for target, outputs in seen.items() if outputs}
    endings = {target: _ending(outcomes[target]) for target, outputs in seen.items() if not outputs}
    reference = _reference(node, given, weights)
    judged_by = "reference"
    if reference is None:
        reference = _vote(list(answered.values()))
        judged_by = "vote" if reference is not None else "nothing"
    if reference is None:
        return NodeErrors(node, dict.fromkeys(answered, float("nan")), judged_by=judged_by, endings=endings)
    return NodeErrors(
        node,
        errors={target: _error(outputs, reference) for target, outputs in answered.items()},
        absolute={target: _absolute(outputs, reference) for target, outputs in answered.items()},
        mutual=_mutual(list(answered.values()), reference),
        judged_by=judged_by,
        endings=endings,
    )


def _node_outputs(node: Node, outcome: Outcome) -> list[Array]:
    outputs = [outcome.trace.nodes[node.key]] if node.key in outcome.trace.nodes else []
    while outputs and f"{node.key}.{len(outputs)}" in outcome.trace.nodes:
        outputs.append(outcome.trace.nodes[f"{node.key}.{len(outputs)}"])
    return outputs


def _ending(outcome: Outcome) -> str:
    if outcome.failure is None:
        return "gave no output for this node"
    return f"{outcome.status.value}: {outcome.failure.type}: {gist(outcome.failure.message)}"


def _reference(node: Node, given: Sequence[Array], weights: Arrays) -> list[Evaluation] | None:
    if not has_layer(node.op):
        return None
    try:
        return list(evaluate_node(node, given, weights))
    except (TensorParityError, ShapeError):
        return None  # a configuration the reference does not cover is no reference


def _vote(answers: Sequence[Sequence[Array]]) -> list[Evaluation] | None:
    """The median of three or more, with the output's own scale as what rounding may explain."""
    if len(answers) < 3 or len({tuple(a.shape for a in outputs) for outputs in answers}) != 1:
        return None
    found: list[Evaluation] = []
    for position in range(len(answers[0])):
        stack = np.stack([outputs[position].astype(np.float64) for outputs in answers])
        middle = np.median(stack, axis=0)
        # without a formula the accumulation is unknown: be generous, by the scale of the whole output
        scale = 64.0 * np.abs(middle[np.isfinite(middle)]).max(initial=0.0)
        found.append(Evaluation(middle, np.full(middle.shape, scale)))
    return found


def _error(outputs: Sequence[Array], reference: Sequence[Evaluation]) -> float:
    if len(outputs) != len(reference):
        return float("inf")
    return max(_units(output, truth) for output, truth in zip(outputs, reference, strict=True))


def _units(output: Array, truth: Evaluation) -> float:
    if output.shape != truth.value.shape:
        return float("inf")
    if not is_floating(dtype_name(output)):
        return 0.0 if np.array_equal(output, truth.value) else float("inf")
    return float(error_units(output, truth, dtype_name(output)).max(initial=0.0))


def _absolute(outputs: Sequence[Array], reference: Sequence[Evaluation]) -> float:
    worst = 0.0
    for output, truth in zip(outputs, reference, strict=False):
        if output.shape != truth.value.shape:
            return float("inf")
        with np.errstate(all="ignore"):
            difference = np.abs(output.astype(np.float64) - truth.value)
        finite = difference[np.isfinite(difference)]
        worst = max(worst, float(finite.max(initial=0.0)))
    return worst


def _mutual(answers: Sequence[Sequence[Array]], reference: Sequence[Evaluation]) -> float:
    """How far the targets are from each other, in the reference's units."""
    worst = 0.0
    first = answers[0] if answers else []
    for other in answers[1:]:
        for a, b, truth in zip(first, other, reference, strict=False):
            kappa = truth.kappa if b.shape == truth.value.shape else np.zeros(b.shape)
            worst = max(worst, _units(a, Evaluation(b.astype(np.float64), kappa)))
    return worst
