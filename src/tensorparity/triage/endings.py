"""A network that a target could not run: which layer of it, and does the layer end so alone?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, dtype_named
from ..core.case import Case
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json, canonical
from ..core.messages import gist, normalised
from ..core.outcome import Outcome
from ..core.policies import policy_named
from ..core.procedure import Goal, Procedure
from ..core.verdict import Stage
from ..operators.catalogue import layer
from ..operators.evaluate import evaluate_node
from ..operators.losses import LOSSES
from ..operators.losses_alone import loss_alone
from ..operators.spec import ShapeError
from .cuts import up_to
from .diagnose import public_name
from .screening import first_given
from .sign import policy_parameter, value_classes
from .trials import alone

_MOST_BACKWARD = 12


@dataclass(frozen=True)
class EndingTrial:
    """A case on which a target is expected to end as it did, and how that was.

    Args:
        ending: status, exception type and normalised message.
    """

    case: Case
    stage: Stage
    target: str
    ending: tuple[str, str, str]
    node: Node | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)

    @property
    def api(self) -> str:
        if self.stage is Stage.LOSS and self.node:
            return LOSSES[self.node.op].api
        return public_name(self.node.op) if self.node else ""

    @property
    def suspects(self) -> tuple[str, ...]:
        return (self.target,)

    @property
    def place(self) -> tuple[str, ...]:
        """Crashes with one message are one crash, as in the paper, in one layer, where that is known."""
        return ("ending", self.api, self.target, *self.ending[1:])

    @property
    def key(self) -> tuple[str, ...]:
        """The place, and parameters of the same classes."""
        return (*self.place, canonical(value_classes(self.parameters)))

    def ends_so(self, outcome: Outcome) -> bool:
        failure = outcome.failure
        return outcome.status.value == self.ending[0] and failure is not None and self._alike(failure.type)

    def _alike(self, kind: str) -> bool:
        """Another target raises the same in its own words, so types need not be equal; a signal must be.

        A loss may have an error of its own, which has nothing to do with how the network ended.
        """
        return (self.ending[0] == "raised" and self.stage is not Stage.LOSS) or kind == self.ending[1]

    def diagnosis(self, suspects: tuple[str, ...], outcomes: Mapping[str, Outcome]) -> Diagnosis:
        evidence = [
            f"{target} {outcome.status.value}: {outcome.failure.type}: {gist(outcome.failure.message)}"
            for target, outcome in outcomes.items()
            if self.ends_so(outcome) and outcome.failure
        ]
        others = [target for target, outcome in outcomes.items() if outcome.completed]
        if others:
            evidence.append(f"{', '.join(others)} completed the same on the same inputs")
        else:
            evidence.append("the documented shape rule and formula accept it")
        return Diagnosis(
            Class.DEFECT,
            suspects,
            node=self.node.key if self.node and self.node.inputs else None,
            api=self.api or None,
            parameters=self.parameters,
            evidence=tuple(evidence),
        )


def ending_trials(case: Case, outcome: Outcome, done: Sequence[Outcome]) -> list[EndingTrial]:
    """From the smallest case to the whole one: the layer alone forward, its backward pass, the loss alone, the network
    so far, all.
    """
    failure = outcome.failure
    assert failure is not None
    assert isinstance(case.subject, LayerGraph)
    ending = (outcome.status.value, failure.type, normalised(failure.message))
    stage = {"build": Stage.BUILD, "update": Stage.UPDATE}.get(failure.stage, Stage.FORWARD)
    node = next((node for node in case.subject.nodes if node.key == failure.node), None)
    # Alone the layer may be well, and the network not: then the layer that happened to run last is not named.
    whole = EndingTrial(case, stage, outcome.target, ending)
    upto = _so_far(whole, node) if node and stage is not Stage.UPDATE else []
    predicted = node is None or node is case.subject.nodes[-1]  # else the forward pass did not come to its end
    rest = [*(_loss_trials(whole, done) if predicted else ()), *upto, whole]
    given = first_given(case, node, done) if node else None
    if node is None or given is None:
        return rest
    try:
        single = alone(node, given, case.weights, case.seed)
        backward = _pulled(single, given, case.procedure)
    except (ShapeError, ValueError, KeyError):
        return rest
    forward = replace(single, procedure=_forward(case.procedure))
    parameters = _parameters(node, case.procedure)
    first = replace(whole, case=forward, node=_only(single), parameters=parameters)
    found = [first, replace(first, case=backward, stage=Stage.BACKWARD)]
    if node is case.subject.nodes[-1]:  # the forward pass came to its end, so it may be any layer's backward pass
        found += _backward_trials(whole, case.subject.nodes[:-1], done)
    return [*found, *rest]


def _loss_trials(whole: EndingTrial, done: Sequence[Outcome]) -> list[EndingTrial]:
    """The loss alone on what somebody predicted, where it has come to that."""
    case, recipe = whole.case, whole.case.procedure.loss
    outputs = next((outcome.outputs for outcome in done if set(case.labels) <= set(outcome.outputs)), None)
    if outputs is None or recipe is None or recipe.name not in LOSSES or whole.stage is not Stage.FORWARD:
        return []
    dtype = case.procedure.dtype
    single = loss_alone(recipe, outputs, case.labels, dtype=dtype, seed=case.seed)
    parameters = {**recipe.params, **policy_parameter(dtype)}
    node = Node(recipe.name, recipe.name, ())
    return [replace(whole, case=single, stage=Stage.LOSS, node=node, parameters=parameters)]


def _so_far(whole: EndingTrial, node: Node) -> list[EndingTrial]:
    """What leads to the layer, and itself."""
    case = whole.case
    assert isinstance(case.subject, LayerGraph)
    if node is case.subject.nodes[-1] or not node.inputs:
        return []
    cut = up_to(case, node, _forward(case.procedure))
    return [replace(whole, case=cut, node=node, parameters=_parameters(node, case.procedure))]


def _backward_trials(whole: EndingTrial, nodes: Sequence[Node], done: Sequence[Outcome]) -> list[EndingTrial]:
    """The backward pass of every layer alone, the last first; of those with weights only, where there are many."""
    case = whole.case
    owners = {name.partition("/")[0] for name in case.weights}
    found: list[EndingTrial] = []
    for node in sorted(nodes, key=lambda node: node.layer not in owners)[:_MOST_BACKWARD]:
        given = first_given(case, node, done)
        if given is None:
            continue
        try:
            single = alone(node, given, case.weights, case.seed)
            pulled = _pulled(single, given, case.procedure)
        except (ShapeError, ValueError, KeyError):
            continue
        parameters = _parameters(node, case.procedure)
        found.append(replace(whole, case=pulled, stage=Stage.BACKWARD, node=_only(single), parameters=parameters))
    return found


def _forward(like: Procedure) -> Procedure:
    return Procedure(training=like.training, dtype=like.dtype)


def _pulled(single: Case, given: Sequence[Array], like: Procedure) -> Case:
    """The backward pass of one layer, with ones for a cotangent."""
    node = _only(single)
    output = evaluate_node(node, given, single.weights)[0].value
    return replace(
        single,
        procedure=Procedure(goal=Goal.REPLAY, nodes=(node.key,), training=like.training, dtype=like.dtype),
        inputs={f"{node.key}/{index}": array for index, array in enumerate(given)},
        cotangents={node.key: np.ones(output.shape, dtype_named(policy_named(like.dtype).compute))},
    )


def _only(single: Case) -> Node:
    assert isinstance(single.subject, LayerGraph)
    return single.subject.nodes[0]


def _parameters(node: Node, procedure: Procedure) -> dict[str, Json]:
    own = layer(node.op).significant({**node.params, **node.call_params})
    return {**own, **policy_parameter(procedure.dtype)}
