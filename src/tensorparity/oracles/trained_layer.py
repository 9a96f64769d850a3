"""A step of training, judged in the order it runs: the loss, the loss' own gradient, all gradients, the update.

The loss and the update are measured against their formulas on each target's own numbers, gradients against the
reference's one-sided derivatives: there two targets are enough. For the rest three or more decide. A target that runs
only a part of a step has a say in that part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.graph import Node
from ..core.oracle import Seen
from ..core.outcome import Outcome
from ..core.policies import policy_named
from ..core.procedure import Goal
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Kind, Stage
from ..operators.catalogue import has_layer, layer
from ..operators.losses.alone import is_loss_alone
from .base import Asking
from .blaming import accusations, gradient_accusation
from .both_formulas import by_one_formula
from .by_pairs import by_pairs
from .case_oracle import CaseOracle, Outcomes
from .measure.backward import GradientErrors, judge_gradients, loss_function
from .measure.diagnose import public_name
from .measure.node_errors import NodeErrors
from .measure.penalties import has_penalties
from .measure.states import judge_states
from .measure.steps import judge_constraints, judge_loss, judge_loss_gradient, judge_update, stepped_weights
from .measure.votes import judge_by_vote
from .recipes import at_layer, at_loss, at_optimizer
from .replayed import judged_gradients_by
from .statements import BY_REFERENCE, BY_SUBGRADIENT, BY_VOTE, Statement
from .subjects import only_layer

#: How far a target must have run to have a say.
_AFTER_LOSS, _AFTER_UPDATE = (Goal.GRADIENTS, Goal.UPDATE), (Goal.UPDATE,)


class TrainedLayerOracle(CaseOracle):
    """One layer or a loss alone; also a whole network, of which it names no layer."""

    name = "trained_layer"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
        if len(completed) < 2:
            return by_pairs(outcomes)
        step = JudgedStep.of(seen, outcomes, completed)
        said = [step.loss(), step.gradient_of_loss(), step.gradients(), step.update()]
        found = in_order(said, everybody=len(completed) == len(outcomes))
        return (yield from by_one_formula(seen, step.stepped, found))


def in_order(said: Sequence[Statement], *, everybody: bool) -> Statement:
    """The first defect in the order of the stages, else what else there is to say, or why nothing can be said.

    Args:
        everybody: all targets came to the end of it, so that the other stages tell something, too.
    """
    found = [item for one in said for item in one.convictions]
    found.sort(key=lambda item: item[0].diagnosis.klass is not Class.DEFECT)
    if not found:
        undecided = next((one.undecided for one in said if one.undecided), "")
        return Statement(undecided=undecided, judged_by=_weakest(said))
    first, *others = found
    return Statement((first, *(item for item in others if everybody and item[0].key != first[0].key)))


def _weakest(said: Sequence[Statement]) -> str:
    """What a whole step was measured against: its weakest part."""
    by = {one.judged_by for one in said}
    return next((name for name in ("nothing", BY_VOTE, BY_SUBGRADIENT, BY_REFERENCE) if name in by), "")


def doubtful(errors: NodeErrors, what: str) -> Statement:
    """Why nobody is accused, where not all is well."""
    reason = ""
    if errors.disputed:
        reason = f"undecided: the targets differ in {what}, and no majority says who is right"
    elif errors.judged_by == BY_REFERENCE and any(error > errors.limit for error in errors.errors.values()):
        reason = f"undecided: in {what} the targets do not agree with the float64 reference: they are wrong, or it is"
    return Statement(undecided=reason, judged_by=errors.judged_by)


@dataclass(frozen=True)
class JudgedStep:
    """One training step, by those who came to its loss and by those who came to its update.

    Args:
        targets: all that were asked.
        stepped: who has losses and gradients.
        updated: who has the weights after it.
    """

    case: Case
    traits: Traits
    targets: tuple[str, ...]
    stepped: Mapping[str, Outcome]
    updated: Mapping[str, Outcome]

    @classmethod
    def of(cls, seen: Seen, outcomes: Outcomes, completed: Mapping[str, Outcome]) -> JudgedStep:
        ran = seen.ran[0] if seen.ran else {}
        goals = {target: ran.get(target, seen.case).procedure.goal for target in completed}
        far = _AFTER_UPDATE if seen.case.procedure.goal is Goal.UPDATE else _AFTER_LOSS
        stepped = {target: outcome for target, outcome in completed.items() if goals[target] in _AFTER_LOSS}
        updated = {target: outcome for target, outcome in completed.items() if goals[target] in far}
        return cls(seen.case, seen.traits, tuple(outcomes), stepped, updated)

    def loss(self) -> Statement:
        """The value of the loss."""
        node = Node("training", "training", ())
        if self.case.procedure.loss is None or not self.stepped:
            return Statement()
        errors = judge_loss(node, self.case, self.stepped, self.traits)
        if errors is None:
            dtype = policy_named(self.case.procedure.dtype).loss
            losses = {target: losses_of(o, dtype) for target, o in self.stepped.items()}
            errors = judge_by_vote(node, losses, self.traits)
        errors = replace(errors, node=Node("loss", self.case.procedure.loss.name, ()))
        # a loss alone has no penalties: they are what the layers add
        place = at_layer if has_penalties(self.case) else at_loss
        for accusation in accusations([errors], self.traits, "own-loss"):
            diagnosis = place(accusation.diagnosis, self.case)
            return self._accuse(accusation.kind, diagnosis, Stage.LOSS, errors.judged_by)
        return doubtful(errors, "the loss")

    def gradient_of_loss(self) -> Statement:
        """What the loss passes back to its predictions."""
        found = judge_loss_gradient(self.case, self.stepped, self.traits)
        if found is None:
            return Statement()
        return self._of_gradients(found, "the gradient of the loss", at_loss, "loss-gradient")

    def gradients(self) -> Statement:
        """All of them, through every layer; of a loss alone, there are none but its own."""
        if is_loss_alone(self.case) or not self.stepped:
            return Statement()
        answers = {target: dict(outcome.trace.gradients) for target, outcome in self.stepped.items()}
        node, function = training_node(self.case), loss_function(self.case)
        found = judge_gradients(node, answers, function, self.traits, disputes_only=True, of=self.case)
        return self._of_gradients(found, "the gradients", at_layer, "all-gradients")

    def _of_gradients(
        self, found: GradientErrors, what: str, place: Callable[[Diagnosis, Case], Diagnosis], how: str
    ) -> Statement:
        accusation = gradient_accusation(found, self.traits, how)
        if accusation is None:
            return doubtful(found.errors, what)
        diagnosis = place(accusation.diagnosis, self.case)
        return self._accuse(accusation.kind, diagnosis, Stage.BACKWARD, judged_gradients_by(found))

    def update(self) -> Statement:
        """The optimizer by its formula; what it does not speak of (moving statistics) layer by layer, or by vote."""
        if not self.updated:
            return Statement()
        own = by_optimizer(self.case, self.targets, self.updated, self.traits)
        if own is not None:
            return Statement(((own, BY_REFERENCE),))
        states = [*judge_constraints(self.case, self.updated), *judge_states(self.case, self.updated, self.traits)]
        states = states or [self._voted_weights()]
        for accusation in accusations(states, self.traits, "state"):
            diagnosis = replace(at_layer(accusation.diagnosis, self.case), **_where(accusation.first.node))
            return self._accuse(accusation.kind, diagnosis, Stage.UPDATE, accusation.first.judged_by)
        errors = judge_update(self.case, self.updated)
        doubts = [doubtful(errors, "the optimizer's step")] if errors else []
        doubts += [doubtful(state, "the updated weights") for state in states]
        return next((doubt for doubt in doubts if doubt.undecided), Statement(judged_by=_weakest(doubts)))

    def _voted_weights(self) -> NodeErrors:
        """Where nothing is known of the layers: all that the optimizer's formula does not speak of."""
        stepped = set.intersection(*(set(stepped_weights(self.case, outcome)) for outcome in self.updated.values()))
        weights = {
            target: {name: array for name, array in outcome.trace.weights.items() if name not in stepped}
            for target, outcome in self.updated.items()
        }
        return judge_by_vote(training_node(self.case), weights, self.traits, complete=True)

    def _accuse(self, kind: Kind, diagnosis: Diagnosis, stage: Stage, judged_by: str) -> Statement:
        return Statement(((Suspicion(kind, diagnosis, self.case, self.targets, stage=stage), judged_by),))


def by_optimizer(
    case: Case, targets: Sequence[str], completed: Mapping[str, Outcome], traits: Traits
) -> Suspicion | None:
    """Each target's step against the optimizer's formula on its own gradients; None where nobody is wrong."""
    recipe, errors = case.procedure.optimizer, judge_update(case, completed)
    if recipe is None or errors is None:
        return None
    for accusation in accusations([errors], traits):
        evidence = tuple(
            observed("optimizer-step", target=target, optimizer=recipe.name, ratio=error / errors.limit)
            for target, error in errors.errors.items()
            if error > errors.limit
        )
        diagnosis = replace(at_optimizer(accusation.diagnosis, case), evidence=evidence)
        return Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.UPDATE)
    return None


def losses_of(outcome: Outcome, dtype: str = "float32") -> dict[str, Array]:
    """The losses of a training, by step."""
    trace = outcome.trace
    values = trace.losses or ((trace.loss,) if trace.loss is not None else ())
    return {str(step): np.asarray(value, dtype) for step, value in enumerate(values)}


def training_node(case: Case) -> Node:
    """What a vote on a training is about: the one layer, where there is one."""
    only = only_layer(case)
    return Node("training", public_name(only.op) if only else "training", ())


def _where(node: Node) -> dict[str, Any]:
    """The layer itself, where it is known which one it is."""
    if not node.inputs:
        return {}
    parameters = layer(node.op).significant({**node.params, **node.call_params}) if has_layer(node.op) else {}
    return {"api": public_name(node.op), "parameters": parameters, "node": node.key}
