"""Trials: one layer, loss or optimizer alone, on identical numbers everywhere, and how its outcomes are judged.

A screening of a whole training step only raises doubts. A trial is what decides: it is run, judged, and run again in
fresh processes, always by the same judge, and its case is what a finding keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays, dtype_name, is_floating, unit_roundoff
from ..core.case import Case
from ..core.graph import InputSpec, LayerGraph, Node, Ref
from ..core.jsontext import Json, canonical
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..core.verdict import Stage
from ..operators.catalogue import layer
from ..operators.evaluate import evaluate_node
from ..operators.losses import LOSSES, evaluate_loss
from ..operators.optimizers import OPTIMIZERS, evaluate_step
from ..operators.rounding import error_units
from ..operators.spec import Evaluation
from .adjoint import gradient_error, slopes
from .diagnose import public_name
from .kinks import examine_gradients
from .replay import NodeErrors, judge_by_vote, measure_node
from .sign import value_classes

#: Judged by nothing, because there every gradient between two is as good as another.
KINK = "kink"

Judge = Callable[[Mapping[str, Outcome]], NodeErrors]


@dataclass(frozen=True)
class Trial:
    """A case that runs one thing alone, and its judge.

    Args:
        suspects: whom the screening doubts.
    """

    stage: Stage
    case: Case
    node: Node
    judge: Judge
    api: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    suspects: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """What two trials of one defect have in common."""
        return (self.stage.value, self.api, ",".join(self.suspects), canonical(value_classes(self.parameters)))

    @property
    def place(self) -> tuple[str, ...]:
        return (self.stage.value, self.api, ",".join(self.suspects))


# Layers


def forward_trial(
    node: Node, given: Sequence[Array], weights: Arrays, training: bool, suspects: Sequence[str], seed: int
) -> Trial:
    """The layer alone in the mode that users get, all of its outputs."""
    case = replace(alone(node, given, weights, seed), procedure=Procedure(training=training))
    own = _single_node(case)

    def judge(outcomes: Mapping[str, Outcome]) -> NodeErrors:
        traced = {target: _as_trace(own, outcome) for target, outcome in outcomes.items()}
        return measure_node(own, given, case.weights, traced, training=training)

    return Trial(Stage.FORWARD, case, own, judge, public_name(node.op), _significant(node), tuple(suspects))


def backward_trial(
    node: Node,
    given: Sequence[Array],
    output: Array,
    weights: Arrays,
    training: bool,
    suspects: Sequence[str],
    seed: int,
) -> Trial:
    """One cotangent pulled back through the layer alone."""
    plain = alone(node, given, weights, seed)
    own = _single_node(plain)
    rng = np.random.default_rng([seed, 0xBAC])
    cotangent = np.asarray(rng.standard_normal(output.shape)).astype(output.dtype)
    case = replace(
        plain,
        procedure=Procedure(goal=Goal.REPLAY, nodes=(own.key,), training=training),
        inputs={f"{own.key}/{index}": array for index, array in enumerate(given)},
        cotangents={own.key: cotangent},
    )

    def judge(outcomes: Mapping[str, Outcome]) -> NodeErrors:
        answers = {target: outcome.trace.gradients for target, outcome in outcomes.items() if outcome.completed}
        return judge_gradients(own, given, case.weights, cotangent, training, answers)

    return Trial(Stage.BACKWARD, case, own, judge, public_name(node.op), _significant(node), tuple(suspects))


def judge_gradients(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    cotangent: Array,
    training: bool,
    answers: Mapping[str, Mapping[str, Array]],
) -> NodeErrors:
    """By the dot-product test where the layer is smooth, by the vote otherwise.

    At a kink only a gradient outside of the one-sided derivatives is wrong, and only a dispute is looked into.
    """
    vote = judge_by_vote(node, answers)
    moved = [index for index, array in enumerate(given) if is_floating(array.dtype.name)]
    trained = [name for name in weights if any(f"weight:{name}" in gradients for gradients in answers.values())]
    names = [*(f"input:{node.key}/{index}" for index in moved), *(f"weight:{name}" for name in trained)]
    at = [given[index].astype(np.float64) for index in moved] + [weights[name].astype(np.float64) for name in trained]

    def function(arrays: Sequence[Array]) -> Evaluation:
        inputs = [array.astype(np.float64) if is_floating(array.dtype.name) else array for array in given]
        for index, array in zip(moved, arrays[: len(moved)], strict=True):
            inputs[index] = array
        own = {**weights, **dict(zip(trained, arrays[len(moved) :], strict=True))}
        return evaluate_node(node, inputs, own, training=training)[0]

    try:
        found = slopes(function, at, cotangent.astype(np.float64), np.random.default_rng(0xD07))
    except (ValueError, KeyError):
        return vote
    roundoff = unit_roundoff(dtype_name(cotangent))
    if found is None:
        given_by = {target: [gradients.get(name) for name in names] for target, gradients in answers.items()}
        outside = vote.mutual > vote.limit and examine_gradients(
            lambda arrays: cotangent.astype(np.float64) * function(arrays).value,
            at,
            given_by,
            roundoff,
            np.random.default_rng(0xD07),
        )
        if outside and outside.outside:
            return NodeErrors(node, outside.errors, vote.absolute, vote.mutual, "reference")
        return NodeErrors(node, dict.fromkeys(answers, float("nan")), mutual=vote.mutual, judged_by=KINK)
    errors = {
        target: 16.0 * gradient_error(found, [gradients.get(name) for name in names], roundoff)
        for target, gradients in answers.items()
    }
    return NodeErrors(node, errors, vote.absolute or dict.fromkeys(errors, 0.0), vote.mutual, "reference")


def alone(node: Node, given: Sequence[Array], weights: Arrays, seed: int) -> Case:
    """A graph of this one layer with all of its outputs, on these inputs."""
    names = [f"x{index}" for index in range(len(given))]
    specs = tuple(InputSpec(name, array.shape[1:], array.dtype.name) for name, array in zip(names, given, strict=True))
    own = Node(node.layer, node.op, tuple(map(Ref, names)), node.params, call_params=node.call_params)
    params = layer(node.op).complete({**node.params, **node.call_params})
    count = len(layer(node.op).shape(params, [array.shape for array in given]))
    outputs = tuple(Ref(own.name, index) for index in range(count))
    kept = {name: array for name, array in weights.items() if name.startswith(f"{node.layer}/")}
    graph = LayerGraph(specs, (own,), outputs, name=f"{node.layer}-alone")
    return Case(graph, inputs=dict(zip(names, given, strict=True)), weights=kept, seed=seed)


def _single_node(case: Case) -> Node:
    assert isinstance(case.subject, LayerGraph)
    return case.subject.nodes[0]


def _as_trace(node: Node, outcome: Outcome) -> Outcome:
    """Outputs of a single layer under the keys of a trace."""
    nodes = {node.key + name[len(node.name) :]: array for name, array in outcome.outputs.items()}
    return replace(outcome, trace=replace(outcome.trace, nodes=nodes))


def _significant(node: Node) -> dict[str, Json]:
    return layer(node.op).significant({**node.params, **node.call_params})


# Loss


def loss_trial(case: Case, outputs: Arrays, suspects: Sequence[str]) -> Trial:
    """The loss alone: predictions in, its value and its gradient out."""
    recipe = case.procedure.loss
    assert recipe is not None
    names = sorted(case.labels)
    specs = tuple(InputSpec(f"p{index}", outputs[name].shape[1:]) for index, name in enumerate(names))
    nodes = tuple(
        Node(f"y{index}", "Activation", (Ref(spec.name),), {"activation": "linear"}) for index, spec in enumerate(specs)
    )
    graph = LayerGraph(specs, nodes, tuple(Ref(node.name) for node in nodes), name=f"{recipe.name}-alone")
    inputs = {f"p{index}": np.asarray(outputs[name]) for index, name in enumerate(names)}
    labels = {f"y{index}": case.labels[name] for index, name in enumerate(names)}
    single = Case(graph, Procedure(goal=Goal.GRADIENTS, loss=recipe), inputs, labels, seed=case.seed)
    node = Node(recipe.name, recipe.name, ())

    def judge(outcomes: Mapping[str, Outcome]) -> NodeErrors:
        done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
        return judge_loss(
            node, single, {t: o.trace.loss for t, o in done.items()}, {t: o.trace for t, o in done.items()}
        )

    return Trial(Stage.LOSS, single, node, judge, LOSSES[recipe.name].api, dict(recipe.params), tuple(suspects))


def loss_error(case: Case, outputs: Arrays, value: float) -> float:
    """Decision 5's e of a loss against its reference on these very outputs."""
    truth = loss_of(case, outputs)
    return float(error_units(np.asarray(value, np.float32), truth, "float32").max(initial=0.0))


def loss_of(case: Case, outputs: Arrays) -> Evaluation:
    """The sum over the outputs, as our adapters take it."""
    recipe = case.procedure.loss
    assert recipe is not None
    parts = [evaluate_loss(recipe, labels, outputs[name]) for name, labels in case.labels.items()]
    value, kappa = sum(part.value for part in parts), sum(part.kappa + np.abs(part.value) for part in parts)
    return Evaluation(np.asarray(value), np.asarray(kappa))


def judge_loss(node: Node, case: Case, values: Mapping[str, float | None], traces: Mapping[str, object]) -> NodeErrors:
    """The value by its reference, the gradient by the dot-product test where the loss is smooth."""
    names = sorted(case.inputs)
    predictions = [case.inputs[name].astype(np.float64) for name in names]
    truth = loss_of(case, dict(zip(sorted(case.labels), predictions, strict=True)))

    def function(arrays: Sequence[Array]) -> Evaluation:
        found = loss_of(case, dict(zip(sorted(case.labels), arrays, strict=True)))
        return Evaluation(np.atleast_1d(found.value), np.atleast_1d(found.kappa))

    found = slopes(function, predictions, np.ones(1), np.random.default_rng(0x105))
    errors: dict[str, float] = {}
    absolute: dict[str, float] = {}
    for target, value in values.items():
        number = np.asarray(float("nan") if value is None else value, np.float32)
        errors[target] = float(error_units(number, truth, "float32").max())
        absolute[target] = abs(float(number) - float(truth.value))
        if found is not None:
            gradients = getattr(traces[target], "gradients", {})
            own = [gradients.get(f"input:{name}") for name in names]
            errors[target] = max(errors[target], 16.0 * gradient_error(found, own, unit_roundoff("float32")))
    spread = [float(value) for value in values.values() if value is not None]
    scale = abs(float(truth.value)) + float(truth.kappa)
    mutual = (max(spread) - min(spread)) / (unit_roundoff("float32") * scale) if spread and scale else 0.0
    return NodeErrors(node, errors, absolute, mutual)


# Optimizers


def update_trial(case: Case, suspects: Sequence[str]) -> Trial:
    """The whole step again: every target's weights against its own gradients."""
    recipe = case.procedure.optimizer
    assert recipe is not None
    node = Node(recipe.name, recipe.name, ())

    def judge(outcomes: Mapping[str, Outcome]) -> NodeErrors:
        errors = {target: update_error(case, o) for target, o in outcomes.items() if o.completed}
        return NodeErrors(node, errors, dict.fromkeys(errors, 0.0))

    return Trial(Stage.UPDATE, case, node, judge, OPTIMIZERS[recipe.name].api, dict(recipe.params), tuple(suspects))


#: Squares of larger gradients overflow, and optimizers are made of squares.
_LARGEST_GRADIENT = 1e15


def _can_be_squared(gradient: Array) -> bool:
    return bool(np.isfinite(gradient).all()) and float(np.abs(gradient).max(initial=0.0)) < _LARGEST_GRADIENT


def update_error(case: Case, outcome: Outcome) -> float:
    """The largest e of a weight after the step, given the target's own gradient of it."""
    recipe = case.procedure.optimizer
    worst = 0.0
    for name, after in outcome.trace.weights.items():
        gradient = outcome.trace.gradients.get(f"weight:{name}")
        if recipe is None or gradient is None or name not in case.weights or not _can_be_squared(gradient):
            continue
        truth = evaluate_step(recipe, case.weights[name], gradient).weight
        worst = max(worst, float(error_units(after, truth, dtype_name(after)).max(initial=0.0)))
    return worst
