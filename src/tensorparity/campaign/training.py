"""``compare --steps N``: the same optimizer steps on the same batches, everywhere; where do they part?

Rounding parts two trainings sooner or later, at kinks sooner. So a parting alone is no verdict: the
backward pass of every layer is then replayed alone, on identical inputs and cotangents.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case, ModelFile
from ..core.comparison import Comparison
from ..core.errors import DataError
from ..core.finding import Class, Diagnosis
from ..core.graph import Node
from ..core.messages import gist
from ..core.model import Model, node_inputs
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal, Procedure, Recipe
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.training import Parting, Training
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..oracles.drift import LOSSES_PARTED, PARTED, compare_trainings, losses_part, shares_of_movement
from ..oracles.pair import compare_outcomes, judge_parity
from ..oracles.trained_layer import by_optimizer
from ..oracles.whole.cases import one_layer_case
from ..targets.catalogue import traits_of
from ..triage.backward import GradientErrors, accuse_gradients, judge_pulled_back
from ..triage.confirm import confirm_ending, flaky
from ..triage.diagnose import Accusation
from ..triage.gradients import replay_gradients
from ..triage.node_errors import NodeErrors
from .events import Listener, Progress, silent

_LOSS_APART = "loss-apart"


@dataclass(frozen=True)
class Schedule:
    """How to train.

    Args:
        loss: by default cross-entropy for class labels, squared error otherwise.
    """

    steps: int
    batch_size: int = 32
    optimizer: Recipe = field(default_factory=lambda: Recipe("SGD", {"learning_rate": 0.01}))
    loss: Recipe | None = None
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    """What came of it: one comparison per pair, the trainings side by side, and what the layers say."""

    comparisons: tuple[Comparison, ...]
    training: Training
    suspicions: tuple[Suspicion, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)


def train_everywhere(
    runner: Runner,
    model: Model,
    inputs: Arrays,
    labels: Arrays,
    targets: Sequence[str],
    schedule: Schedule,
    families: Mapping[str, str],
    listener: Listener = silent,
) -> Trained:
    """Train on every target that can, compare step by step, and look at the layers where they part.

    Raises:
        DataError: without labels for every output, or with too few instances.
    """
    batches, truth = _batches(inputs, labels, schedule)
    loss = schedule.loss or _default_loss(truth)
    procedure = Procedure(goal=Goal.FIT, training=True, steps=schedule.steps, loss=loss, optimizer=schedule.optimizer)
    listener(Progress("training", 0, None))
    pairs = [(model.case(t, procedure, batches, labels=truth, seed=schedule.seed), t) for t in targets]
    outcomes = dict(zip(targets, runner.run_pairs(pairs), strict=True))
    done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    comparisons = [_compare(a, b, model.weights, schedule) for a, b in itertools.combinations(outcomes.values(), 2)]
    suspicions = _endings(runner, dict(zip(targets, pairs, strict=True)), outcomes)
    if any(c.instances and c.verdict.judgement is Judgement.UNDECIDED for c in comparisons):
        first = {name: array[: schedule.batch_size] for name, array in batches.items()}
        listener(Progress("replaying gradients", 0, None))
        measured, guilty = _look_at_gradients(runner, model, first, list(done), families, schedule)
        suspicions += guilty
        if not any(suspicion.diagnosis.klass is Class.DEFECT for suspicion in guilty):
            one = {name: array[: schedule.batch_size] for name, array in truth.items()}
            guilty += _look_at_update(runner, model, first, one, list(done), procedure, schedule.seed)
            suspicions += [item for item in guilty if item.stage is Stage.UPDATE]
        comparisons = [_decide(comparison, measured, guilty, model) for comparison in comparisons]
    training = compare_trainings(list(done.values()), model.weights, schedule.steps)
    return Trained(tuple(comparisons), training, tuple(suspicions), outcomes)


def _endings(runner: Runner, asked: Mapping[str, tuple[Case, str]], outcomes: Mapping[str, Outcome]) -> list[Suspicion]:
    """Targets that raised, crashed or hung while training, where another one did train."""
    kinds = {Status.RAISED: Kind.ERROR, Status.CRASHED: Kind.CRASH, Status.TIMED_OUT: Kind.HANG}
    if not any(outcome.completed for outcome in outcomes.values()):
        return []
    found: list[Suspicion] = []
    for target, outcome in outcomes.items():
        if outcome.status not in kinds or outcome.failure is None:
            continue
        same, _ = confirm_ending(runner, asked[target][0], outcome)
        said = (
            f"{target} {outcome.status.value} while training: {outcome.failure.type}: {gist(outcome.failure.message)}"
        )
        diagnosis = Diagnosis(Class.DEFECT, (target,), node=outcome.failure.node, evidence=(said,))
        found.append(
            Suspicion(
                kinds[outcome.status],
                diagnosis if same else flaky(diagnosis),
                asked[target][0],
                tuple(outcomes),
                outcome.failure.type,
                Stage.UPDATE,
            )
        )
    return found


def _batches(inputs: Arrays, labels: Arrays, schedule: Schedule) -> tuple[dict[str, Array], dict[str, Array]]:
    if not labels:
        raise DataError("training needs labels; give them as y in --data")
    count = min(len(array) for array in inputs.values())
    wanted = schedule.steps * schedule.batch_size
    if count < schedule.batch_size:
        raise DataError(f"a batch is {schedule.batch_size} instances, the data has {count}")
    index = np.arange(wanted) % (count // schedule.batch_size * schedule.batch_size)
    return {n: a[index] for n, a in inputs.items()}, {n: a[index] for n, a in labels.items()}


def _default_loss(labels: Arrays) -> Recipe:
    whole = all(array.dtype.kind in "iu" for array in labels.values())
    return Recipe("SparseCategoricalCrossentropy") if whole else Recipe("MeanSquaredError")


def _compare(a: Outcome, b: Outcome, start: Arrays, schedule: Schedule) -> Comparison:
    """The first step and weight where a pair parts, by the share of what the weights have moved."""
    pair = (a.target, b.target)
    if not (a.completed and b.completed):
        ended = compare_outcomes(a, b, {}, judge_parity)[0]
        return replace(ended, output="training", verdict=replace(ended.verdict, stage=Stage.UPDATE))
    if set(a.trace.weights) != set(b.trace.weights):
        odd = sorted(set(a.trace.weights) ^ set(b.trace.weights))[0].partition(":")[2]
        reason = f"{odd} is a weight of one of them only"
        return Comparison(*pair, "training", _verdict(Judgement.FAIL, pair, reason, float("inf")), schedule.steps)
    parting, largest = _weights_part(a, b, start, schedule.steps)
    loss = losses_part(a.trace.losses, b.trace.losses)
    if loss is not None and (parting is None or loss.step <= parting.step):
        reason = f"their losses differ at step {loss.step} ({loss.a:.4g} and {loss.b:.4g}) on weights that are together"
        measure = Measure(_LOSS_APART, loss.apart)
        verdict = Verdict(Judgement.UNDECIDED, pair, reason, measure, LOSSES_PARTED, Kind.INCONSISTENCY, Stage.UPDATE)
        return Comparison(*pair, "training", verdict, schedule.steps, max_rel=loss.apart)
    if parting is not None:
        reason = f"they part at step {parting.step} in {parting.weight} ({parting.apart:.2g} of its movement)"
        verdict = _verdict(Judgement.UNDECIDED, pair, reason, parting.apart)
        return Comparison(*pair, "training", verdict, schedule.steps, max_rel=parting.apart)
    verdict = _verdict(Judgement.PASS, pair, "the trainings stay together", largest)
    return Comparison(*pair, "training", verdict, schedule.steps, max_rel=largest)


def _weights_part(a: Outcome, b: Outcome, start: Arrays, steps: int) -> tuple[Parting | None, float]:
    """Where the weights part, and the largest share of movement up to there."""
    largest = 0.0
    for step, name, apart in shares_of_movement(a, b, start, steps):
        largest = max(largest, apart)
        if apart > PARTED:
            return Parting(a.target, b.target, step, name, apart), largest
    return None, largest


def _verdict(judgement: Judgement, pair: tuple[str, str], reason: str, apart: float) -> Verdict:
    kind = None if judgement is Judgement.PASS else Kind.INCONSISTENCY
    return Verdict(judgement, pair, reason, Measure("weights-apart", apart), PARTED, kind, Stage.UPDATE)


def _look_at_gradients(
    runner: Runner,
    model: Model,
    batch: Arrays,
    targets: Sequence[str],
    families: Mapping[str, str],
    schedule: Schedule,
) -> tuple[list[NodeErrors], list[Suspicion]]:
    trace = Procedure(trace=True)
    pairs = [(model.case(target, trace, batch, seed=schedule.seed), target) for target in targets]
    traces = [outcome for outcome in runner.run_pairs(pairs) if outcome.completed]
    if not traces or model.graph is None:
        return [], []
    nodes = traces[0].trace.nodes
    replayed = replay_gradients(runner, model, batch, nodes, targets, schedule.seed, traits_of(targets), training=True)
    measured = list(replayed)
    found: list[Suspicion] = []
    for accusation in _first_of_each(measured, families):
        node = accusation.first.node
        case = gradient_case(model, node, batch, nodes, schedule.seed)
        again = look_again(case, targets, runner)
        if again.free:  # the vote was on a kink, where everybody is right
            accusation = accuse_gradients(again, families) or accusation
        diagnosis = accusation.diagnosis
        confirmed = accuse_gradients(again, families)
        said = (confirmed.diagnosis.klass, confirmed.diagnosis.suspects) if confirmed else None
        if said != (diagnosis.klass, diagnosis.suspects):
            diagnosis = flaky(diagnosis)
        found.append(Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.BACKWARD))
    return [item.errors for item in measured], found


def _first_of_each(measured: Sequence[GradientErrors], families: Mapping[str, str]) -> list[Accusation]:
    """One accusation per layer type, class and suspects, in the order of the graph."""
    groups: dict[tuple[object, ...], Accusation] = {}
    for item in measured:
        accusation = accuse_gradients(item, families)
        if accusation is not None:
            diagnosis = accusation.diagnosis
            groups.setdefault((item.errors.node.op, diagnosis.klass, diagnosis.suspects), accusation)
    return list(groups.values())


def _look_at_update(
    runner: Runner,
    model: Model,
    batch: Arrays,
    labels: Arrays,
    targets: Sequence[str],
    procedure: Procedure,
    seed: int,
) -> list[Suspicion]:
    """The first step alone, in fresh workers: is it the optimizer's formula, on the gradients that each target has?"""
    if model.graph is None:
        return []
    one = replace(procedure, goal=Goal.UPDATE, steps=None)
    case = Case(model.graph, one, batch, labels, model.weights, seed=seed)
    outcomes = runner.run_pairs([(case, target) for target in targets], fresh=True)
    done = {outcome.target: outcome for outcome in outcomes if outcome.completed}
    suspicion = by_optimizer(case, targets, done, traits_of(targets)) if len(done) > 1 else None
    return [suspicion] if suspicion else []


def gradient_case(model: Model, node: Node, inputs: Arrays, activations: Mapping[str, Array], seed: int) -> Case:
    """The backward pass of one layer alone: its inputs, and the cotangent that is pulled back."""
    assert model.graph is not None
    given = node_inputs(model.graph, node, inputs, activations)
    alone = one_layer_case(model, node, given, seed)
    key = node.key if isinstance(alone.subject, ModelFile) else f"{node.layer}#0"
    rng = np.random.default_rng([seed, 0xBAC])
    output = activations[node.key]
    return replace(
        alone,
        procedure=Procedure(goal=Goal.REPLAY, nodes=(key,), training=True),
        inputs={f"{key}/{index}": array for index, array in enumerate(given)},
        cotangents={key: np.asarray(rng.standard_normal(output.shape)).astype(output.dtype)},
    )


def look_again(case: Case, targets: Sequence[str], runner: Runner) -> GradientErrors:
    """What the targets make of a gradient case in fresh workers, held against the reference where they differ."""
    outcomes = runner.run_pairs([(case, target) for target in targets], fresh=True)
    return judge_pulled_back(case, dict(zip(targets, outcomes, strict=True)), traits_of(targets))


def _decide(
    comparison: Comparison, measured: Sequence[NodeErrors], suspicions: Sequence[Suspicion], model: Model
) -> Comparison:
    verdict = comparison.verdict
    if verdict.judgement is not Judgement.UNDECIDED or not comparison.instances:
        return comparison
    pair = {comparison.a, comparison.b}
    guilty = [s for s in suspicions if s.diagnosis.klass is Class.DEFECT and pair & set(s.diagnosis.suspects)]
    if guilty:
        first = guilty[0].diagnosis
        layer = (first.node or "").partition("#")[0]
        what = f"the gradient of {layer}" if guilty[0].stage is Stage.BACKWARD else f"the step of {first.api}"
        reason = f"{verdict.reason}; {what} is wrong on {', '.join(first.suspects)}"
        return replace(comparison, verdict=replace(verdict, judgement=Judgement.FAIL, reason=reason))
    if verdict.measure is not None and verdict.measure.name == _LOSS_APART:
        reason = f"{verdict.reason}: the loss itself, or the forward pass when training"
        return replace(comparison, verdict=replace(verdict, reason=reason))
    open_layer = _unjudged(pair, measured, model)
    if open_layer or comparison.max_rel is None or not np.isfinite(comparison.max_rel):
        reason = f"{verdict.reason}; {open_layer or 'a weight that is not finite'} could not be judged"
        return replace(comparison, verdict=replace(verdict, reason=reason))
    reason = f"{verdict.reason}; every layer's gradient agrees alone: rounding, at kinks"
    return replace(comparison, verdict=replace(verdict, judgement=Judgement.PASS, reason=reason))


def _unjudged(pair: set[str], measured: Sequence[NodeErrors], model: Model) -> str:
    """The first trainable layer whose gradient was not judged on both sides."""
    if model.graph is None:
        return "the layers, which are not known,"
    settled = [m for m in measured if m.errors and (m.judged_by != "nothing" or m.mutual <= m.limit)]
    judged = {m.node.layer: set(m.errors) for m in settled}
    trained = {name.partition("/")[0] for name in model.weights}
    for node in model.graph.nodes:
        if node.layer in trained and not pair <= judged.get(node.layer, set()):
            return f"the gradient of {node.layer}"
    return ""
