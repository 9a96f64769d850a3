"""A case that trains, judged in the order it runs: the loss, the loss' own gradient, all gradients, the update.

The first stage that differs is it. The loss is measured against its formula on each target's own outputs, gradients
where the targets differ against the reference's one-sided derivatives, the step against the optimizer's formula on
each target's own gradients: there two targets are enough. For the rest three or more decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.finding import Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.verdict import Stage
from ..operators.catalogue import has_layer, layer
from ..operators.loss_spec import LossSpec
from ..operators.losses import LOSSES, evaluate_loss
from ..operators.optimizers import OPTIMIZERS
from ..operators.rounding import error_units
from ..operators.spec import Evaluation
from ..triage.backward import Differentiated, accuse_gradients, judge_gradients, loss_function
from ..triage.diagnose import accuse, public_name
from ..triage.replay import NodeErrors, absolute_error, judge_by_vote
from ..triage.suspicion import Suspicion
from ..triage.trials import update_error
from .selection import families_of

Completed = Mapping[str, Outcome]
#: A suspicion of a stage, or that it is disputed, or neither.
Said = Suspicion | str | None


def by_training(case: Case, targets: Sequence[str], completed: Completed) -> tuple[Suspicion | None, str]:
    """A suspicion of the first stage that differs, or why there is none to be had."""
    stages = (_fit,) if case.procedure.goal is Goal.FIT else (_loss, _gradient_of_loss, _gradients, _update)
    disputed = ""
    for stage in stages:
        said = stage(case, targets, completed)
        if isinstance(said, Suspicion):
            return said, ""
        disputed = disputed or said or ""
    return None, disputed


def _disputed(errors: NodeErrors, what: str) -> str | None:
    return f"undecided: the targets differ in {what}, and no majority says who is right" if errors.disputed else None


def _loss(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    node = Node("training", "training", ())
    if case.procedure.loss is None:
        return None
    errors = _against_formula(case, node, completed)
    if errors is None:
        errors = judge_by_vote(node, {target: _losses(outcome) for target, outcome in completed.items()})
    for accusation in accuse([errors], families_of(list(completed))):
        diagnosis = _at_loss(accusation.diagnosis, case)
        diagnosis = replace(diagnosis, evidence=_of_loss(diagnosis, case))
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.LOSS)
    return _disputed(errors, "the loss")


@dataclass(frozen=True)
class _FromFormula:
    """How far a loss is from its formula, in units of rounding: below it or above."""

    observed: float
    units: float

    def apart(self, other: _FromFormula) -> float:
        if np.isfinite(self.units) and np.isfinite(other.units):
            return abs(self.units - other.units)
        return 0.0 if np.array_equal(self.observed, other.observed, equal_nan=True) else float("inf")


def _against_formula(case: Case, node: Node, completed: Completed) -> NodeErrors | None:
    """Each target's loss against the formula on its own outputs; None where there is no formula or no output."""
    recipe = case.procedure.loss
    if recipe is None or recipe.name not in LOSSES or not case.labels:
        return None
    errors: dict[str, float] = {}
    absolute: dict[str, float] = {}
    distances: list[_FromFormula] = []
    for target, outcome in completed.items():
        if outcome.trace.loss is None or not set(case.labels) <= set(outcome.outputs):
            return None
        parts = [evaluate_loss(recipe, case.labels[name], outcome.outputs[name]) for name in case.labels]
        truth = Evaluation(np.asarray(sum(part.value for part in parts)), np.asarray(sum(part.kappa for part in parts)))
        observed = np.asarray(outcome.trace.loss, np.float32)
        errors[target] = float(error_units(observed, truth, "float32").max(initial=0.0))
        absolute[target] = absolute_error(observed, truth)
        below = bool(observed < truth.value)
        distances.append(_FromFormula(float(observed), -errors[target] if below else errors[target]))
    mutual = max((one.apart(other) for one, other in combinations(distances, 2)), default=0.0)
    return NodeErrors(node, errors, absolute, mutual)


def _fit(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    """Several steps, one after another: the loss, then the weights after it, by the vote."""
    disputed: str | None = None
    for step in range(case.procedure.steps or 1):
        losses = {t: _named(_losses(outcome), f"{step}") for t, outcome in completed.items()}
        weights = {t: _starting(outcome.trace.weights, f"{step}:") for t, outcome in completed.items()}
        for stage, answers in ((Stage.LOSS, losses), (Stage.UPDATE, weights)):
            errors = judge_by_vote(_node(case), answers, complete=True)
            for accusation in accuse([errors], families_of(list(completed))):
                diagnosis = _at_layer(accusation.diagnosis, case)
                return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=stage)
            what = "the loss" if stage is Stage.LOSS else "the weights"
            disputed = disputed or _disputed(errors, f"{what} of step {step + 1}")
    return disputed


def _named(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    return {name: arrays[name]} if name in arrays else {}


def _starting(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name: array for name, array in arrays.items() if name.startswith(prefix)}


def _losses(outcome: Outcome) -> dict[str, Array]:
    trace = outcome.trace
    values = trace.losses or ((trace.loss,) if trace.loss is not None else ())
    return {str(step): np.asarray(value, np.float32) for step, value in enumerate(values)}


def _at_loss(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    recipe = case.procedure.loss
    assert recipe is not None
    api = LOSSES[recipe.name].api if recipe.name in LOSSES else f"keras.losses.{recipe.name}"
    return replace(diagnosis, api=api, parameters=dict(recipe.params), node=None)


def _of_loss(diagnosis: Diagnosis, case: Case) -> tuple[str, ...]:
    assert case.procedure.loss is not None
    name = case.procedure.loss.name
    said, meant = "training (training) run alone on identical inputs", f"the loss {name} of its own outputs"
    return tuple(line.replace(said, meant) for line in diagnosis.evidence)


def _gradient_of_loss(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    """What the loss passes back to the outputs, where all targets have the same outputs."""
    recipe, outputs = case.procedure.loss, _outputs(case)
    if recipe is None or recipe.name not in LOSSES or not outputs or not _equal_outputs(completed, list(outputs)):
        return None
    names = {f"node:{key}": name for name, key in outputs.items()}
    answers = {
        target: {name: outcome.trace.gradients[name] for name in names if name in outcome.trace.gradients}
        for target, outcome in completed.items()
    }
    first = next(iter(completed.values()))
    function = _loss_of_outputs(
        LOSSES[recipe.name], case, {at: first.outputs[name] for at, name in names.items()}, names
    )
    found = judge_gradients(Node("loss", recipe.name, ()), answers, function)
    accusation = accuse_gradients(found, families_of(list(completed)))
    if accusation is None:
        return _disputed(found.errors, "the gradient of the loss")
    diagnosis = _at_loss(accusation.diagnosis, case)
    return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.BACKWARD)


def _outputs(case: Case) -> dict[str, str]:
    """The key of the node behind each output that has labels; nothing where the subject is no graph."""
    graph = case.subject
    if not isinstance(graph, LayerGraph):
        return {}
    nodes = {node.name: node.key for node in graph.nodes}
    return {ref.node: nodes[ref.node] for ref in graph.outputs if ref.node in case.labels and ref.node in nodes}


def _equal_outputs(completed: Completed, names: Sequence[str]) -> bool:
    first, *others = completed.values()
    return all(
        name in first.outputs and name in other.outputs and np.array_equal(first.outputs[name], other.outputs[name])
        for other in others
        for name in names
    )


def _loss_of_outputs(
    spec: LossSpec, case: Case, predictions: Mapping[str, Array], names: Mapping[str, str]
) -> Differentiated:
    recipe = case.procedure.loss
    assert recipe is not None

    def terms(arrays: Sequence[Array]) -> Array:
        parts = []
        for at, array in zip(predictions, arrays, strict=True):
            each = spec.each(recipe.params, case.labels[names[at]], array)
            parts.append(np.ravel(each) / max(1, each.size))
        return np.concatenate(parts)

    return Differentiated(terms, predictions)


def _gradients(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    answers = {target: dict(outcome.trace.gradients) for target, outcome in completed.items()}
    found = judge_gradients(_node(case), answers, loss_function(case))
    accusation = accuse_gradients(found, families_of(list(completed)))
    if accusation is None:
        return _disputed(found.errors, "the gradients")
    diagnosis = _at_layer(accusation.diagnosis, case)
    return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.BACKWARD)


def _update(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    own = by_optimizer(case, targets, completed, families_of(list(completed)))
    if own is not None:
        return own
    weights = {t: dict(outcome.trace.weights) for t, outcome in completed.items()}
    errors = judge_by_vote(_node(case), weights, complete=True)
    for accusation in accuse([errors], families_of(list(completed))):
        diagnosis = _at_layer(accusation.diagnosis, case)
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.UPDATE)
    return _disputed(errors, "the updated weights")


def by_optimizer(
    case: Case, targets: Sequence[str], completed: Completed, families: Mapping[str, str]
) -> Suspicion | None:
    """Each target's step against the optimizer's formula on its own gradients; None where nobody is wrong."""
    recipe = case.procedure.optimizer
    if recipe is None or recipe.name not in OPTIMIZERS:
        return None
    node = Node("optimizer", OPTIMIZERS[recipe.name].api, ())
    found = {target: update_error(case, outcome) for target, outcome in completed.items()}
    errors = NodeErrors(node, found, dict.fromkeys(found, 0.0), mutual=max(found.values()) - min(found.values()))
    for accusation in accuse([errors], families):
        evidence = tuple(
            f"{target}: the weights after one step of {recipe.name} are {error:.3g} times what rounding explains from "
            "the formula, on its own gradients"
            for target, error in found.items()
            if error > errors.limit
        )
        diagnosis = replace(
            accusation.diagnosis, api=node.op, parameters=dict(recipe.params), node=None, evidence=evidence
        )
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.UPDATE)
    return None


def _only(case: Case) -> Node | None:
    graph = case.subject
    return graph.nodes[0] if isinstance(graph, LayerGraph) and len(graph.nodes) == 1 else None


def _node(case: Case) -> Node:
    only = _only(case)
    return Node("training", public_name(only.op) if only else "training", ())


def _at_layer(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """Of a graph of one layer, that layer; of others nothing is known yet."""
    only = _only(case)
    if only is None:
        return replace(diagnosis, api=None, parameters={}, node=None)
    parameters = layer(only.op).significant(only.params) if has_layer(only.op) else {}
    return replace(diagnosis, api=public_name(only.op), parameters=parameters, node=only.key)
