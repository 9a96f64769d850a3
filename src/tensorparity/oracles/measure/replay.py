"""The isolated replay: each node alone, on identical inputs on every target.

No error arrives from upstream, so the guilty node shows directly. Which activations serve as the
identical inputs does not matter, as long as they are real ones and finite; they come from one
target's trace. Nodes go out in batches of bounded size, so that memory stays bounded too.

A mask travels beside the values. A layer that receives one is run behind Masking layers that make just this mask, and
held against what the reference makes of it: without its mask it would agree with everybody, whatever it does with one.
Where nobody knows the mask, the layer runs without, and that it agrees clears nobody (``NodeErrors.unmasked``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.channels import is_finite
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, Node
from ...core.model import Model, node_inputs
from ...core.oracle import Check
from ...core.outcome import Outcome, Trace
from ...core.procedure import Goal, Procedure
from ...core.traits import Traits
from ...operators.catalogue import has_layer, layer
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.evaluate import evaluate_node
from ...operators.spec import Evaluation, ShapeError, no_masks
from ..base import Asking
from ..masked_inputs import alone, any_mask, as_trace
from .isolated_nodes import measure_node
from .node_errors import NodeErrors
from .output_masks import makes_masks

_BATCH_BYTES = 48 << 20
_PLAIN = Procedure()

#: Nodes, each with what flows into it.
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
        deadline: multiplies the deadline of a batch.
        like: how the whole is run; its mode, dtype, data format and training flag are those of every node, and
            with ``reload`` the nodes are those of the model as it comes back when it is saved and loaded.
    """
    assert model.graph is not None
    found: list[NodeErrors] = []
    masks = _masked_nodes(model, nodes, inputs, activations, like)
    plain = [node for node in nodes if node.key not in masks.known]
    for one in masks.known.values():
        found.append((yield from _replayed_behind_masks(model, one, targets, traits, like, deadline)))
    for batch in _batches(model, plain, inputs, activations):
        outcomes = yield from _replayed(model, [batch], targets, like, deadline)
        spoiled = [target for target, outcome in outcomes.items() if not outcome.completed]
        if len(batch) > 1 and spoiled:  # by one of its nodes: the others answer alone
            outcomes |= yield from _replayed(model, [[item] for item in batch], spoiled, like, deadline)
        for node, given in batch:
            training, dtype = like.training, like.dtype
            errors = measure_node(node, given, model.weights, outcomes, traits, training=training, dtype=dtype)
            found.append(replace(errors, unmasked=node.key in masks.unknown))
    order = {node.key: place for place, node in enumerate(nodes)}
    return sorted(found, key=lambda errors: order[errors.node.key])


@dataclass(frozen=True)
class _Masked:
    """A node behind a mask: what flows into it, the case of it alone, and what the reference makes of that."""

    node: Node
    given: list[Array]
    case: Case
    truth: tuple[Evaluation, ...]


@dataclass(frozen=True)
class _Masks:
    """The nodes that receive a mask: those of which it is known, and those of which it is not, which run without."""

    known: Mapping[str, _Masked] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()


def _masked_nodes(
    model: Model, nodes: Sequence[Node], inputs: Arrays, activations: Mapping[str, Array], like: Procedure
) -> _Masks:
    """By key, the nodes that receive a mask, as far as a graph can say it."""
    assert model.graph is not None
    if not makes_masks(model.graph):
        return _Masks()
    wanted = {node.key for node in nodes}
    beside = MasksAndStates()
    known: dict[str, _Masked] = {}
    unknown: set[str] = set()
    for node in model.graph.nodes:
        masks, lost = beside.masks_into(node), beside.is_lost(node)
        try:
            given = node_inputs(model.graph, node, inputs, activations)
            if not lost and not beside.concerns(node):
                continue
            if lost or like.reload or not all(_finite(array) for array in given):
                raise ShapeError("Expected masks that are known")
            truth = evaluate_node(node, given, model.weights, training=like.training, dtype=like.dtype, beside=beside)
            if any_mask(masks) and node.key in wanted and layer(node.op).masked is not None:
                single = alone(node, given, model.weights, 0, masks)
                known[node.key] = _Masked(node, given, replace(single, procedure=_forward(like)), truth)
        except (KeyError, ValueError, TensorParityError, ShapeError):
            if (lost or any_mask(masks)) and _reads_masks(node):
                unknown.add(node.key)
            if _hands_masks_on(node):
                beside.lose(node)  # what it hands on is not known, and so no mask behind it is
    return _Masks(known, frozenset(unknown & wanted))


def _reads_masks(node: Node) -> bool:
    """Whether a mask changes what it computes; a layer that nobody declared may."""
    return not has_layer(node.op) or layer(node.op).masked is not None or layer(node.op).carried is not None


def _hands_masks_on(node: Node) -> bool:
    return not has_layer(node.op) or layer(node.op).masks is not no_masks


def _forward(like: Procedure) -> Procedure:
    return Procedure(mode=like.mode, training=like.training, dtype=like.dtype, data_format=like.data_format)


def _replayed_behind_masks(
    model: Model, masked: _Masked, targets: Sequence[str], traits: Traits, like: Procedure, deadline: float
) -> Asking[NodeErrors]:
    (answer,) = yield [Check(masked.case, tuple(targets), deadline=deadline)]
    assert isinstance(masked.case.subject, LayerGraph)
    own = masked.case.subject.nodes[-1]
    outcomes = {target: as_trace(own, outcome) for target, outcome in answer.outcomes.items()}
    renamed = {target: _under_key(outcome, own.key, masked.node.key) for target, outcome in outcomes.items()}
    training, dtype = like.training, like.dtype
    return measure_node(
        masked.node, masked.given, model.weights, renamed, traits, training=training, dtype=dtype, truth=masked.truth
    )


def _under_key(outcome: Outcome, own: str, key: str) -> Outcome:
    """An outcome of the layer alone, named as in its model, where it may be a later call."""
    nodes = {key + name[len(own) :]: array for name, array in outcome.trace.nodes.items()}
    return replace(outcome, trace=replace(outcome.trace, nodes=nodes))


def masked_case(model: Model, node: Node, inputs: Arrays, activations: Mapping[str, Array]) -> Case | None:
    """The case of a node that receives a mask, alone behind that mask; None where it receives none."""
    known = _masked_nodes(model, [node], inputs, activations, _PLAIN).known
    return known[node.key].case if node.key in known else None


def _replayed(
    model: Model, batches: Sequence[_Batch], targets: Sequence[str], like: Procedure, deadline: float
) -> Asking[dict[str, Outcome]]:
    """By target, what became of these batches, each run apart."""
    checks = [check for batch in batches for check in _checks(model, batch, targets, like, deadline)]
    answers = yield checks
    found: dict[str, list[Outcome]] = {target: [] for target in targets}
    for answer in answers:
        for target, outcome in answer.outcomes.items():
            found[target].append(outcome)
    return {target: _joined(outcomes) for target, outcomes in found.items()}


def _checks(model: Model, batch: _Batch, targets: Sequence[str], like: Procedure, deadline: float) -> list[Check]:
    """One per case: targets that are given other files of the model are asked apart."""
    arrays = {f"{node.key}/{i}": array for node, given in batch for i, array in enumerate(given)}
    procedure = _alone(like, *(node for node, _ in batch))
    cases: dict[str, tuple[Case, list[str]]] = {}
    for target in targets:
        case = model.case(target, procedure, arrays)
        cases.setdefault(case.digest, (case, []))[1].append(target)
    return [Check(case, tuple(sharing), deadline=deadline) for case, sharing in cases.values()]


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Several replays of one target as one: all nodes that it answered, and how the first that failed ended."""
    if len(outcomes) == 1:
        return outcomes[0]
    nodes: dict[str, Array] = {}
    for outcome in outcomes:
        nodes.update(outcome.trace.nodes)
    failed = next((outcome for outcome in outcomes if not outcome.completed), outcomes[0])
    return replace(failed, trace=Trace(nodes=nodes))


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
