"""The isolated replay: each node alone, on identical inputs on every target.

No error arrives from upstream, so the guilty node shows directly. Which activations serve as the
identical inputs does not matter, as long as they are real ones and finite; they come from one
target's trace. Nodes go out in batches of bounded size, so that memory stays bounded too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ..core.arrays import Array, Arrays, dtype_name, is_floating, unit_roundoff
from ..core.channels import channels, distance, from_channels, is_exact, is_finite, magnitude
from ..core.errors import TensorParityError
from ..core.graph import Node
from ..core.messages import gist
from ..core.model import Model, node_inputs
from ..core.outcome import Outcome, Trace
from ..core.policies import Policy, coarser, policy_named, worth
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.verdict import Kind
from ..operators.beside import Beside
from ..operators.catalogue import has_layer
from ..operators.evaluate import evaluate_node
from ..operators.rounding import K, error_units
from ..operators.spec import Evaluation, ShapeError
from .ballots import ballot_of
from .forms import Forms
from .freedoms import Freed, Freedom, freedom_of_node

#: A vote has no rounding bound of its own, so it must be won by more.
VOTE_MARGIN = 8.0

#: Roundings of the output's scale that a kernel without a formula may make, in units that the vote multiplies.
_ACCUMULATED = 64.0
#: ... but never more than this share of the scale: the narrow formats would be allowed anything.
_MOST_ACCUMULATED = 2.0**-5

_BATCH_BYTES = 48 << 20
#: Numbers that are kept of an answer which is wrong, to be held against the next.
_MOST_KEPT = 1 << 16
_PLAIN = Procedure()
#: Operators that round to an integer: a legitimate last bit may turn into one step.
_STEPPING = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinear")
#: Added to what rounding explains there, so that one step passes the vote and two do not.
_ONE_STEP = 2.0**53 / 100.0


@dataclass(frozen=True, slots=True)
class NodeErrors:
    """What each target made of one node on the same inputs.

    Args:
        errors: decision 5's e per target, against the reference or, without one, against the vote.
        absolute: largest absolute error per target; infinite where the shape is another.
        mutual: largest e of any target against any other, in the reference's units or, without one, in units of the
            outputs' own scale.
        judged_by: ``reference``, ``vote`` or ``nothing``.
        endings: targets that gave no answer for this node, and why.
        camps: the targets that answered, in groups that agree among themselves.
        unsettled: of several arrays, the targets differ on one that too few of them gave to vote on.
        answers: what each target gave, thinned out where it is large; only where an error is beyond the limit.
        freedom: what the documentation leaves open, where that explains every error beyond the limit.
        dtypes: targets that answered in another dtype than their policy's, and which.
        rough: it was computed in half precision, where all targets may be far from the reference alike.
        form: ``shape`` or ``dtype``, where that is not what was announced, or not what most gave.
        said: of each target whose form is wrong, how.
    """

    node: Node
    errors: Mapping[str, float]
    absolute: Mapping[str, float] = field(default_factory=dict)
    mutual: float = 0.0
    judged_by: str = "reference"
    endings: Mapping[str, str] = field(default_factory=dict)
    camps: tuple[frozenset[str], ...] = ()
    unsettled: bool = False
    freedom: Freedom | None = None
    answers: Mapping[str, Sequence[Array]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    rough: bool = False
    form: Kind | None = None
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def limit(self) -> float:
        """Up to here an error is explained."""
        return K * (1.0 if self.judged_by == "reference" else VOTE_MARGIN)

    @property
    def disputed(self) -> bool:
        """The targets differ, and neither a reference nor a majority says who is right."""
        if self.judged_by == "nothing":
            return self.mutual > self.limit
        if self.unsettled:
            return True
        return self.judged_by == "vote" and not self.majority

    @property
    def majority(self) -> bool:
        """More implementations within the limit than beyond it; targets that share code are one on either side."""
        good = {ballot_of(target) for target, error in self.errors.items() if error <= self.limit}
        bad = {ballot_of(target) for target, error in self.errors.items() if not error <= self.limit}
        return len(good) > len(bad)


def replay_nodes(
    runner: Runner,
    model: Model,
    nodes: Sequence[Node],
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
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
            yield measure_node(node, given, model.weights, outcomes, training=like.training, dtype=like.dtype)


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


def measure_node(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    outcomes: Mapping[str, Outcome],
    *,
    training: bool = False,
    dtype: str | None = None,
    truth: Sequence[Evaluation] | None = None,
) -> NodeErrors:
    """What the outcomes of a replay say of one node, run under a dtype policy.

    Args:
        truth: its true outputs, where they depend on more than its inputs.
    """
    seen = {target: node_outputs(node, outcome) for target, outcome in outcomes.items()}
    answered = {target: outputs for target, outputs in seen.items() if outputs}
    found = _measure_node(node, given, weights, outcomes, answered, training, dtype, truth)
    found = with_dtypes(found, answered, dtype)
    wrong = any(not error <= found.limit for error in found.errors.values())
    form = None if wrong and found.judged_by != "nothing" else measure_form(node, outcomes)
    return found if form is None else replace(form, endings=found.endings)


def measure_form(node: Node, outcomes: Mapping[str, Outcome]) -> NodeErrors | None:
    """Who gives another shape or dtype than it said, or another dtype than most; None where nobody does."""
    forms = Forms(node, outcomes)
    if forms.kind is None:
        return None
    errors = {target: float("inf") if target in forms.wrong else 0.0 for target in forms.targets}
    absolute = dict.fromkeys(forms.targets, 0.0)
    judged_by = "reference" if forms.announced else "nothing" if forms.disputed else "vote"
    mutual = float("inf") if forms.disputed or 0 < len(forms.wrong) < len(errors) else 0.0
    return NodeErrors(node, errors, absolute, mutual, judged_by, form=forms.kind, said=forms.said)


def _measure_node(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    outcomes: Mapping[str, Outcome],
    given_back: Mapping[str, Sequence[Array]],
    training: bool,
    dtype: str | None,
    truth: Sequence[Evaluation] | None,
) -> NodeErrors:
    seen = {target: given_back.get(target, []) for target in outcomes}
    answered = as_worth(given_back, dtype)
    endings = {target: _ending(outcomes[target]) for target, outputs in seen.items() if not outputs}
    freed = freedom_of_node(node, given) if truth is None else None
    reference = list(truth) if truth is not None else None
    reference = reference or reference_of(
        node, freed.inputs if freed else given, weights, training=training, dtype=dtype
    )
    camps = _camps(node, answered)
    judged_by = "reference"
    if reference is None:
        reference = _vote(node, answered, camps)
        judged_by = "vote" if reference is not None else "nothing"
    if reference is None:
        unknown = dict.fromkeys(answered, float("nan"))
        mutual = _apart(node, list(answered.values()))
        return NodeErrors(node, unknown, mutual=mutual, judged_by=judged_by, endings=endings, camps=camps)
    found = replace(measure_outputs(node, answered, reference, freed), judged_by=judged_by)
    guilty = any(not error <= found.limit for error in found.errors.values())
    answers = {target: [_thinned(output) for output in outputs] for target, outputs in answered.items() if guilty}
    return replace(found, endings=endings, camps=camps, answers=answers)


def _thinned(output: Array) -> Array:
    """Evenly chosen numbers of a large array: enough to tell one answer from another."""
    step = -(-output.size // _MOST_KEPT)
    return output if step <= 1 else output.reshape(-1)[::step].copy()


def measure_outputs(
    node: Node, answered: Mapping[str, Sequence[Array]], truth: Sequence[Evaluation], freed: Freed | None = None
) -> NodeErrors:
    """Every target's outputs against the true ones.

    Free elements count as right. Where they are all that is wrong, the errors are those of the whole, and the freedom
    that explains them is named.
    """
    whole = _measured(node, answered, truth)
    if freed is None or max(whole.errors.values(), default=0.0) <= whole.limit:
        return whole
    rest = _measured(node, {target: freed.settled(outputs, truth) for target, outputs in answered.items()}, truth)
    explained = max(rest.errors.values(), default=0.0) <= rest.limit
    return replace(whole, freedom=freed.freedom) if explained else rest


def _measured(node: Node, answered: Mapping[str, Sequence[Array]], truth: Sequence[Evaluation]) -> NodeErrors:
    return NodeErrors(
        node,
        errors={target: reference_error(outputs, truth) for target, outputs in answered.items()},
        absolute={target: _absolute(outputs, truth) for target, outputs in answered.items()},
        mutual=_mutual(list(answered.values()), truth),
    )


def node_outputs(node: Node, outcome: Outcome) -> list[Array]:
    """What a trace holds of a node: its outputs in order; nothing where it has none."""
    outputs = [outcome.trace.nodes[node.key]] if node.key in outcome.trace.nodes else []
    while outputs and f"{node.key}.{len(outputs)}" in outcome.trace.nodes:
        outputs.append(outcome.trace.nodes[f"{node.key}.{len(outputs)}"])
    return outputs


def _ending(outcome: Outcome) -> str:
    if outcome.failure is None:
        return "gave no output for this node"
    return f"{outcome.status.value}: {outcome.failure.type}: {gist(outcome.failure.message)}"


def as_worth(answered: Mapping[str, Sequence[Array]], dtype: str | None) -> dict[str, list[Array]]:
    """Answers in the dtype that they were computed in, where they come in a finer one."""
    policy = policy_named(dtype)
    return {target: [coarser(output, policy, target) for output in outputs] for target, outputs in answered.items()}


def with_dtypes(errors: NodeErrors, answered: Mapping[str, Sequence[Array]], dtype: str | None) -> NodeErrors:
    """The errors, infinite for whoever answers in floats of another dtype than the policy's, if there is one."""
    if dtype is None:
        return errors
    policy = policy_named(dtype)
    other = {target: odd for target, outputs in answered.items() if (odd := odd_dtype(outputs, policy, target))}
    wrong = {target: float("inf") for target in other if target in errors.errors}
    return replace(errors, errors={**errors.errors, **wrong}, dtypes=other, rough=policy.half)


def odd_dtype(outputs: Sequence[Array], policy: Policy, target: str) -> str:
    """The first floating dtype among the outputs that is not the policy's; empty where there is none."""
    names = [dtype_name(output) for output in outputs if output.dtype.kind != "c"]
    wanted = (policy.compute, worth(target, policy))
    return next((name for name in names if is_floating(name) and name not in wanted), "")


def reference_of(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    *,
    training: bool = False,
    dtype: str | None = None,
    beside: Beside | None = None,
) -> list[Evaluation] | None:
    """The true outputs of a node under a dtype policy; None where the catalogue does not say."""
    if not has_layer(node.op):
        return None
    try:
        return list(evaluate_node(node, given, weights, training=training, dtype=dtype, beside=beside))
    except (TensorParityError, ShapeError):
        return None  # a configuration the reference does not cover is no reference


def _vote(
    node: Node, answered: Mapping[str, Sequence[Array]], camps: Sequence[frozenset[str]]
) -> list[Evaluation] | None:
    """The middle of three or more ballots, among those of the shape that most of them have.

    Targets that share code and agree have one ballot. Where they disagree, whatever they share is not what
    differs, so each of their answers has one.
    """
    ballots: dict[tuple[int, str], Sequence[Array]] = {}
    for target, outputs in answered.items():
        camp = next(index for index, members in enumerate(camps) if target in members)
        ballots.setdefault((camp, ballot_of(target)), outputs)
    shapes = Counter(_shapes(outputs) for outputs in ballots.values()).most_common(1)
    if len(ballots) < 3 or 2 * shapes[0][1] <= len(ballots):
        return None
    voters = {ballot: outputs for ballot, outputs in ballots.items() if _shapes(outputs) == shapes[0][0]}
    strongest = Counter(camp for camp, _ in voters).most_common(1)[0][0]
    chosen = next(outputs for (camp, _), outputs in voters.items() if camp == strongest)
    return [
        _by_scale(node, _middle([outputs[index] for outputs in voters.values()], own, _steps(node, own)), own)
        for index, own in enumerate(chosen)
    ]


def _middle(answers: Sequence[Array], chosen: Array, steps: bool) -> Array:
    """The median, channel by channel, with NaN beyond everything; of what is exact, what most of them chose."""
    if (is_exact(chosen) and not steps) or any(array.dtype.kind in "USO" for array in answers):
        return chosen
    if any(array.dtype.kind == "c" for array in answers):
        answers = [array.astype(np.complex128) for array in answers]
    ordered = np.sort(np.stack([channels(array) for array in answers]), axis=0)
    low, high = ordered[(len(answers) - 1) // 2], ordered[len(answers) // 2]
    with np.errstate(all="ignore"):
        return from_channels(np.where(low == high, low, low + (high - low) / 2))


def _shapes(outputs: Sequence[Array]) -> tuple[tuple[int, ...], ...]:
    return tuple(array.shape for array in outputs)


def _steps(node: Node, array: Array) -> bool:
    return array.dtype.kind in "iu" and node.op.rpartition(".")[2].startswith(_STEPPING)


def _by_scale(node: Node, value: Array, like: Array) -> Evaluation:
    """Without a formula the accumulation is unknown: be generous, by the scale of the whole output."""
    if _steps(node, like):
        return Evaluation(value.astype(np.float64), np.full(value.shape, _ONE_STEP))
    scale = magnitude(value)[is_finite(value)].max(initial=0.0)
    return Evaluation(value, np.full(value.shape, accumulated(dtype_name(like)) * scale))


def accumulated(dtype: str) -> float:
    """Roundings of the output's scale that the vote allows a kernel in a dtype."""
    roundoff = unit_roundoff(dtype)
    return min(_ACCUMULATED, _MOST_ACCUMULATED / (K * VOTE_MARGIN * roundoff)) if roundoff else _ACCUMULATED


def _apart(node: Node, answers: Sequence[Sequence[Array]]) -> float:
    """How far any two of the targets are from each other, where nothing else gives the units."""
    if len({_shapes(outputs) for outputs in answers}) > 1:
        return float("inf")
    pairs = (pair for one in combinations(answers, 2) for pair in (one, one[::-1]))
    return max((reference_error(b, [_by_scale(node, array, array) for array in a]) for a, b in pairs), default=0.0)


def _camps(node: Node, answered: Mapping[str, Sequence[Array]]) -> tuple[frozenset[str], ...]:
    """Who agrees with whom: each target joins the first camp whose first member it is close to."""
    found: list[list[str]] = []
    for target, outputs in answered.items():
        near = (camp for camp in found if _apart(node, [answered[camp[0]], outputs]) <= K * VOTE_MARGIN)
        camp = next(near, None)
        if camp is None:
            found.append([target])
        else:
            camp.append(target)
    return tuple(map(frozenset, found))


def judge_by_vote(node: Node, answers: Mapping[str, Mapping[str, Array]], *, complete: bool = False) -> NodeErrors:
    """Arrays by name from each target, judged by their vote.

    Args:
        complete: a target that lacks what most others have is infinitely wrong. Otherwise it is judged without it,
            as with gradients, where none means zero.
    """
    given = {target: arrays for target, arrays in answers.items() if arrays}
    names = sorted(set().union(*given.values())) if given else []
    errors = dict.fromkeys(given, 0.0)
    absolute = dict.fromkeys(given, 0.0)
    decided = unsettled = False
    mutual = 0.0
    for name in names:
        having = {target: [arrays[name]] for target, arrays in given.items() if name in arrays}
        lacking = [target for target in given if target not in having] if complete else []
        apart = float("inf") if lacking else _apart(node, list(having.values()))
        mutual = max(mutual, apart)
        if lacking and _outvoted(lacking, having):
            decided = True
            errors |= dict.fromkeys(lacking, float("inf"))
            absolute |= dict.fromkeys(lacking, float("inf"))
            apart = _apart(node, list(having.values()))
        truth = _vote(node, having, _camps(node, having))
        if truth is None:
            unsettled |= apart > K * VOTE_MARGIN
            continue
        decided = True
        for target, outputs in having.items():
            errors[target] = max(errors[target], reference_error(outputs, truth))
            absolute[target] = max(absolute[target], _absolute(outputs, truth))
    if not decided:
        errors = dict.fromkeys(given, float("nan"))
    judged_by = "vote" if decided else "nothing"
    return NodeErrors(node, errors, absolute, mutual, judged_by=judged_by, unsettled=unsettled)


def _outvoted(few: Iterable[str], many: Iterable[str]) -> bool:
    ballots, others = set(map(ballot_of, few)), set(map(ballot_of, many))
    return len(others) >= 2 and len(others) > len(ballots)


def reference_error(outputs: Sequence[Array], reference: Sequence[Evaluation]) -> float:
    """Decision 5's e of a node's outputs, the largest; infinite for another shape or number of outputs."""
    if len(outputs) != len(reference):
        return float("inf")
    return max(_units(output, truth) for output, truth in zip(outputs, reference, strict=True))


def _units(output: Array, truth: Evaluation) -> float:
    if output.shape != truth.value.shape:
        return float("inf")
    return float(error_units(output, truth, dtype_name(output)).max(initial=0.0))


def absolute_error(output: Array | None, truth: Evaluation) -> float:
    """The largest finite distance from the truth; infinite for another shape or no output at all."""
    return float("inf") if output is None else _absolute([output], [truth])


def _absolute(outputs: Sequence[Array], reference: Sequence[Evaluation]) -> float:
    worst = 0.0
    if len(outputs) != len(reference):
        return float("inf")
    for output, truth in zip(outputs, reference, strict=True):
        if output.shape != truth.value.shape:
            return float("inf")
        difference = distance(output, truth.value)
        finite = difference[np.isfinite(difference)]
        worst = max(worst, float(finite.max(initial=0.0)))
    return worst


def _mutual(answers: Sequence[Sequence[Array]], reference: Sequence[Evaluation]) -> float:
    """How far any two of the targets are from each other, in the reference's units."""
    worst = 0.0
    for one, other in combinations(answers, 2):
        if len(one) != len(other):
            return float("inf")
        for a, b, truth in zip(one, other, reference, strict=False):
            kappa = truth.kappa if b.shape == truth.value.shape else np.zeros(b.shape)
            worst = max(worst, _units(a, Evaluation(b, kappa)))
    return worst
