"""A case that trains, judged in the order it runs: the loss, the loss' own gradient, all gradients, the update.

The loss and the update are measured against their formulas on each target's own numbers, gradients against the
reference's one-sided derivatives: there two targets are enough. For the rest three or more decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.outcome import Outcome
from ..core.policies import policy_named
from ..core.procedure import Goal
from ..core.signature import policy_parameter
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from ..operators.beside import layer_of
from ..operators.catalogue import has_layer, layer
from ..operators.losses import LOSSES
from ..operators.optimizers import OPTIMIZERS
from ..targets.catalogue import traits_of
from ..triage.backward import accuse_gradients, judge_gradients, loss_function
from ..triage.diagnose import accuse, public_name
from ..triage.node_errors import NodeErrors
from ..triage.penalties import has_penalties
from ..triage.states import judge_states
from ..triage.steps import (
    is_loss_alone,
    judge_constraints,
    judge_loss,
    judge_loss_gradient,
    judge_update,
    stepped_weights,
)
from ..triage.votes import judge_by_vote
from .selection import families_of

TRAINING = (Goal.GRADIENTS, Goal.UPDATE, Goal.FIT)

Completed = Mapping[str, Outcome]
#: A suspicion of a stage, or that it is disputed, or neither.
Said = Suspicion | str | None


def by_training(case: Case, targets: Sequence[str], completed: Completed) -> tuple[Suspicion | None, str]:
    """The first defect in the order of the stages, else what else there is to say, or why nothing can be said."""
    found, disputed = _by_stages(case, targets, completed)
    return (found[0], "") if found else (None, disputed)


def also_suspected(first: Suspicion, outcomes: Mapping[str, Outcome]) -> list[Suspicion]:
    """What other stages of the same training are suspected of; nothing where it did not come to its end."""
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    if first.case.procedure.goal not in TRAINING or len(completed) < max(2, len(outcomes)):
        return []
    found, _ = _by_stages(first.case, list(outcomes), completed)
    return [suspicion for suspicion in found if suspicion.key != first.key]


def _by_stages(case: Case, targets: Sequence[str], completed: Completed) -> tuple[list[Suspicion], str]:
    stages = (_fit,) if case.procedure.goal is Goal.FIT else (_loss, _gradient_of_loss, _gradients, _update)
    said = [stage(case, targets, completed) for stage in stages]
    found = [answer for answer in said if isinstance(answer, Suspicion)]
    found.sort(key=lambda suspicion: suspicion.diagnosis.klass is not Class.DEFECT)
    return found, next((answer for answer in said if isinstance(answer, str)), "")


def _doubtful(errors: NodeErrors, what: str) -> str | None:
    """Why nobody is accused, where not all is well."""
    if errors.disputed:
        return f"undecided: the targets differ in {what}, and no majority says who is right"
    if errors.judged_by == "reference" and any(error > errors.limit for error in errors.errors.values()):
        return f"undecided: in {what} the targets do not agree with the float64 reference: they are wrong, or it is"
    return None


def _loss(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    node = Node("training", "training", ())
    if case.procedure.loss is None:
        return None
    errors = judge_loss(node, case, completed, traits_of(completed))
    if errors is None:
        dtype = policy_named(case.procedure.dtype).loss
        losses = {target: _losses(outcome, dtype) for target, outcome in completed.items()}
        errors = judge_by_vote(node, losses, traits_of(completed))
    errors = replace(errors, node=Node("loss", case.procedure.loss.name, ()))
    for accusation in accuse([errors], families_of(list(completed)), "own-loss"):
        # a loss alone has no penalties: they are what the layers add
        at = _at_layer if has_penalties(case) else at_loss
        diagnosis = at(accusation.diagnosis, case)
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.LOSS)
    return _doubtful(errors, "the loss")


def _fit(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    """Several steps, one after another: the loss, then the weights after it, by the vote."""
    disputed: str | None = None
    for step in range(case.procedure.steps or 1):
        losses = {t: _named(_losses(outcome), f"{step}") for t, outcome in completed.items()}
        weights = {t: _starting(outcome.trace.weights, f"{step}:") for t, outcome in completed.items()}
        for stage, answers in ((Stage.LOSS, losses), (Stage.UPDATE, weights)):
            errors = judge_by_vote(_node(case), answers, traits_of(completed), complete=True)
            how = "fit-loss" if stage is Stage.LOSS else "fit-weights"
            for accusation in accuse([errors], families_of(list(completed)), how):
                diagnosis = _at_layer(accusation.diagnosis, case)
                return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=stage)
            what = "the loss" if stage is Stage.LOSS else "the weights"
            disputed = disputed or _doubtful(errors, f"{what} of step {step + 1}")
    return disputed


def _named(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    return {name: arrays[name]} if name in arrays else {}


def _starting(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name: array for name, array in arrays.items() if name.startswith(prefix)}


def _losses(outcome: Outcome, dtype: str = "float32") -> dict[str, Array]:
    trace = outcome.trace
    values = trace.losses or ((trace.loss,) if trace.loss is not None else ())
    return {str(step): np.asarray(value, dtype) for step, value in enumerate(values)}


def at_loss(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """The diagnosis, of the loss and no layer."""
    recipe = case.procedure.loss
    assert recipe is not None
    api = LOSSES[recipe.name].api if recipe.name in LOSSES else f"keras.losses.{recipe.name}"
    parameters = {**recipe.params, **policy_parameter(case.procedure.dtype)}
    return replace(diagnosis, api=api, parameters=parameters, node=None)


def at_optimizer(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """The diagnosis, of the optimizer and no layer."""
    recipe = case.procedure.optimizer
    assert recipe is not None
    api = OPTIMIZERS[recipe.name].api if recipe.name in OPTIMIZERS else f"keras.optimizers.{recipe.name}"
    parameters = {**recipe.params, **policy_parameter(case.procedure.dtype)}
    return replace(diagnosis, api=api, parameters=parameters, node=None)


def _gradient_of_loss(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    found = judge_loss_gradient(case, completed, traits_of(completed))
    if found is None:
        return None
    accusation = accuse_gradients(found, families_of(list(completed)), "loss-gradient")
    if accusation is None:
        return _doubtful(found.errors, "the gradient of the loss")
    diagnosis = at_loss(accusation.diagnosis, case)
    return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.BACKWARD)


def _gradients(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    """All of them, through every layer; of a loss alone, there are none but its own."""
    if is_loss_alone(case):
        return None
    answers = {target: dict(outcome.trace.gradients) for target, outcome in completed.items()}
    found = judge_gradients(
        _node(case), answers, loss_function(case), traits_of(completed), disputes_only=True, of=case
    )
    accusation = accuse_gradients(found, families_of(list(completed)), "all-gradients")
    if accusation is None:
        return _doubtful(found.errors, "the gradients")
    diagnosis = _at_layer(accusation.diagnosis, case)
    return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.BACKWARD)


def _update(case: Case, targets: Sequence[str], completed: Completed) -> Said:
    """The optimizer by its formula; what it does not speak of (moving statistics) layer by layer, or by the vote."""
    own = by_optimizer(case, targets, completed, families_of(list(completed)))
    if own is not None:
        return own
    states = [*judge_constraints(case, completed), *judge_states(case, completed, traits_of(completed))]
    states = states or [_voted_weights(case, completed)]
    for accusation in accuse(states, families_of(list(completed)), "state"):
        diagnosis = replace(_at_layer(accusation.diagnosis, case), **_where(accusation.first.node))
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.UPDATE)
    errors = judge_update(case, completed)
    doubts = [_doubtful(errors, "the optimizer's step") if errors else None]
    doubts += [_doubtful(state, "the updated weights") for state in states]
    return next((doubt for doubt in doubts if doubt), None)


def _voted_weights(case: Case, completed: Completed) -> NodeErrors:
    """Where nothing is known of the layers: all that the optimizer's formula does not speak of."""
    stepped = set.intersection(*(set(stepped_weights(case, outcome)) for outcome in completed.values()))
    weights = {
        target: {name: array for name, array in outcome.trace.weights.items() if name not in stepped}
        for target, outcome in completed.items()
    }
    return judge_by_vote(_node(case), weights, traits_of(completed), complete=True)


def _where(node: Node) -> dict[str, Any]:
    """The layer itself, where it is known which one it is."""
    if not node.inputs:
        return {}
    parameters = layer(node.op).significant({**node.params, **node.call_params}) if has_layer(node.op) else {}
    return {"api": public_name(node.op), "parameters": parameters, "node": node.key}


def by_optimizer(
    case: Case, targets: Sequence[str], completed: Completed, families: Mapping[str, str]
) -> Suspicion | None:
    """Each target's step against the optimizer's formula on its own gradients; None where nobody is wrong."""
    recipe, errors = case.procedure.optimizer, judge_update(case, completed)
    if recipe is None or errors is None:
        return None
    for accusation in accuse([errors], families):
        evidence = tuple(
            f"{target}: the weights after one step of {recipe.name} are {error:.3g} times what rounding explains from "
            "the formula, on its own gradients"
            for target, error in errors.errors.items()
            if error > errors.limit
        )
        diagnosis = replace(at_optimizer(accusation.diagnosis, case), evidence=evidence)
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.UPDATE)
    return None


def _only(case: Case) -> Node | None:
    graph = case.subject
    return layer_of(graph) if isinstance(graph, LayerGraph) else None


def _node(case: Case) -> Node:
    only = _only(case)
    return Node("training", public_name(only.op) if only else "training", ())


def _at_layer(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """Of a graph of one layer, that layer; of others nothing is known yet."""
    only = _only(case)
    if only is None:
        return replace(diagnosis, api=None, parameters={}, node=None)
    own = layer(only.op).significant(only.params) if has_layer(only.op) else {}
    parameters = {**own, **policy_parameter(case.procedure.dtype)}
    return replace(diagnosis, api=public_name(only.op), parameters=parameters, node=only.key)
