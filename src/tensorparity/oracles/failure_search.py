"""A network that a target could not run: which layer of it, and does the layer end so alone?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, dtype_name, dtype_named
from ..core.case import Case
from ..core.errors import TensorParityError
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json, canonical
from ..core.messages import gist, normalised_message
from ..core.outcome import Failure, Outcome, Status
from ..core.policies import policy_named
from ..core.procedure import Goal, Procedure
from ..core.signature import policy_parameter, value_classes
from ..core.verdict import Stage
from ..operators.catalogue import layer
from ..operators.losses.alone import loss_alone
from ..operators.losses.catalogue import LOSSES
from ..operators.optimizers.catalogue import OPTIMIZERS
from ..operators.reference.evaluate import evaluate_node
from ..operators.spec import ShapeError
from .isolated_checks import stepping_alone
from .masked_inputs import alone
from .measure.cuts import up_to
from .measure.diagnose import public_name
from .screening import first_given

#: Layers that are tried alone where nobody knows which one it was; those that only fit shapes to each other last.
_MOST_ALONE = 48
_FITTING = ("Reshape", "Cropping1D", "ZeroPadding1D")
#: By how far the target says that it came.
_STAGES = {"build": Stage.BUILD, "loss": Stage.LOSS, "backward": Stage.BACKWARD, "update": Stage.UPDATE}


def ending_of(outcome: Outcome, api: str = "", parameters: Mapping[str, Json] | None = None) -> Evidence:
    """How a target ended, in which call.

    Args:
        api: the public name of what was at work, where it is known.
    """
    failure = outcome.failure
    assert failure is not None
    return observed(
        "ended",
        target=outcome.target,
        status=outcome.status.value,
        type=failure.type,
        message=gist(failure.message),
        api=api,
        parameters=dict(parameters or {}),
    )


@dataclass(frozen=True)
class FailureCheck:
    """A case on which a target is expected to end as it did, and how that was.

    Args:
        ending: status, exception type and normalised message.
        place_in_case: of a case of several layers, the node and the stage at which it ended: another target that ends
            elsewhere ends for another reason.
        one_of_many: nobody knows that this layer was at work, so that it has to end with the same exception.
    """

    case: Case
    stage: Stage
    target: str
    ending: tuple[str, str, str]
    node: Node | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    place_in_case: tuple[str | None, str] | None = None
    one_of_many: bool = False

    @property
    def api(self) -> str:
        if self.node is None:
            return ""
        if self.stage is Stage.LOSS:
            return LOSSES[self.node.op].api
        if self.stage is Stage.UPDATE and self.node.op in OPTIMIZERS:
            return OPTIMIZERS[self.node.op].api
        return public_name(self.node.op)

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
        if failure is None or outcome.status.value != self.ending[0]:
            return False
        here = self.place_in_case in (None, (failure.node, failure.stage))
        other = self.one_of_many and outcome.target == self.target and failure.type != self.ending[1]
        return here and not other and self._alike(failure.type)

    def _alike(self, kind: str) -> bool:
        return alike_in_type(Status(self.ending[0]), self.stage, kind, self.ending[1])

    def diagnosis(self, suspects: tuple[str, ...], outcomes: Mapping[str, Outcome]) -> Diagnosis:
        alike = {target: outcome for target, outcome in outcomes.items() if self.ends_so(outcome)}
        return Diagnosis(
            Class.DEFECT,
            suspects,
            node=self.node.key if self.node and self.node.inputs else None,
            api=self.api or None,
            parameters=self.parameters,
            evidence=failure_evidence(alike, outcomes, self.api, self.parameters),
        )


def alike_in_type(status: Status, stage: Stage, kind: str, other: str) -> bool:
    """Another target raises the same in its own words, so types need not be equal; a signal must be.

    A loss may have an error of its own, which has nothing to do with how the network ended.
    """
    return (status is Status.RAISED and stage is not Stage.LOSS) or kind == other


def failure_evidence(
    alike: Mapping[str, Outcome],
    outcomes: Mapping[str, Outcome],
    api: str = "",
    parameters: Mapping[str, Json] | None = None,
) -> tuple[Evidence, ...]:
    """How those who end alike do, and who is well.

    Args:
        outcomes: of everybody.
        api: the public name of what was at work, where it is known.
    """
    said = [ending_of(outcome, api, parameters) for outcome in alike.values() if outcome.failure]
    others = [target for target, outcome in outcomes.items() if outcome.completed]
    return (*said, observed("completed", targets=others) if others else observed("accepted"))


@dataclass(frozen=True)
class FailureSearch:
    """Where to look for the reason: groups of trials, the smallest cases first; those of a group at once.

    Args:
        known_by: what the ending is known by, whichever trial shows it: one message is one crash, under whatever loss.
    """

    groups: tuple[tuple[FailureCheck, ...], ...]
    known_by: FailureCheck

    @property
    def whole(self) -> FailureCheck:
        return self.groups[-1][0]


def stage_of_failure(failure: Failure | None, otherwise: Stage) -> Stage:
    """How far a training step came: the target says so, or the node that was running does."""
    if failure is None or not (failure.stage or failure.node):
        return otherwise
    return _STAGES.get(failure.stage, Stage.FORWARD)


def failure_search(case: Case, outcome: Outcome, done: Sequence[Outcome]) -> FailureSearch:
    """From the smallest case to the whole one: the layer alone forward, its backward pass, the loss alone, the network
    so far, all. Where no layer is known to have been at work, each of them is tried.

    Args:
        done: by those who completed it.
    """
    failure = outcome.failure
    assert failure is not None
    assert isinstance(case.subject, LayerGraph)
    ending = (outcome.status.value, failure.type, normalised_message(failure.message))
    stage = stage_of_failure(failure, Stage.FORWARD)
    named = _node_in_message(failure.message, case.subject.nodes) if stage is Stage.BUILD else None
    node = named or next((node for node in case.subject.nodes if node.key == failure.node), None)
    # Alone the layer may be well, and the network not: then the layer that happened to run last is not named.
    whole = FailureCheck(case, stage, outcome.target, ending, place_in_case=(failure.node, failure.stage))
    if stage is Stage.UPDATE:
        whole = _of_optimizer(whole)
        return _search([_steps_alone(whole, done)], whole)
    predicted = node is None or node is case.subject.nodes[-1]  # else the forward pass did not come to its end
    rest = [_loss_checks(whole, done) if predicted else [], _so_far(whole, node) if node else []]
    if node is None:
        every = _every_layer(whole, done)
        forward = [trial for trial in every if trial.stage is not Stage.BACKWARD]
        backward = [trial for trial in every if trial.stage is Stage.BACKWARD]
        # who dies or hangs cannot say where; and a compiler comes to what was forward after the way back was traced
        unknown = outcome.status is not Status.RAISED or stage is Stage.BACKWARD
        return _search([*((forward, backward) if unknown else ()), *rest], whole)
    forward, backward = _layer_checks(whole, node, done)
    if node is case.subject.nodes[-1] and not failure.stage:  # it may be any layer's backward pass
        backward += [trial for trial in _every_layer(whole, done, but=node) if trial.stage is Stage.BACKWARD]
    return _search([forward, backward, *rest], whole, forward)


def _node_in_message(message: str, nodes: Sequence[Node]) -> Node | None:
    """The one layer that a message names: a model is built of all of them, whichever was added last."""
    found = {node.layer: node for node in reversed(nodes) if f"'{node.layer}'" in message}
    return next(iter(found.values())) if len(found) == 1 else None


def _search(
    groups: Sequence[Sequence[FailureCheck]], whole: FailureCheck, known_by: Sequence[FailureCheck] = ()
) -> FailureSearch:
    kept = tuple(tuple(group) for group in groups if group)
    return FailureSearch((*kept, (whole,)), known_by[0] if known_by else whole)


def _of_optimizer(whole: FailureCheck) -> FailureCheck:
    """The step as it is, and the optimizer's: the layers have done their part."""
    procedure = whole.case.procedure
    recipe = procedure.optimizer
    if recipe is None or recipe.name not in OPTIMIZERS:
        return whole
    node = Node(recipe.name, recipe.name, ())
    return replace(whole, node=node, parameters={**recipe.params, **policy_parameter(procedure.dtype)})


def _steps_alone(whole: FailureCheck, done: Sequence[Outcome]) -> list[FailureCheck]:
    """The same optimizer's step of every layer alone that has weights."""
    graph = whole.case.subject
    assert isinstance(graph, LayerGraph)
    owners = {name.partition("/")[0] for name in whole.case.weights}
    found = []
    for node in graph.nodes:
        given = first_given(whole.case, node, done) if node.layer in owners and node.call == 0 else None
        if given is None or len(graph.nodes) < 2:
            continue
        try:
            output = evaluate_node(node, given, whole.case.weights)[0].value
            single = stepping_alone(whole.case, node, given, output)
        except (TensorParityError, ShapeError, ValueError, KeyError):
            continue
        found.append(replace(whole, case=single, place_in_case=(None, "update")))
    return found[:_MOST_ALONE]


def _layer_checks(
    whole: FailureCheck, node: Node, done: Sequence[Outcome]
) -> tuple[list[FailureCheck], list[FailureCheck]]:
    """The layer alone, forward and pulled back; nothing where it cannot be run alone."""
    case = whole.case
    try:
        given = first_given(case, node, done)
        if given is None:
            return [], []
        single = alone(node, given, case.weights, case.seed)
        backward = _backward_case(single, given, case.procedure)
    except (TensorParityError, ShapeError, ValueError, KeyError):
        return [], []
    stage = whole.stage if whole.stage is Stage.BUILD else Stage.FORWARD
    forward = replace(
        whole,
        case=replace(single, procedure=_forward(case.procedure)),
        stage=stage,
        node=_only(single),
        parameters=_parameters(node, case.procedure),
        place_in_case=None,
    )
    return [forward], [replace(forward, case=backward, stage=Stage.BACKWARD)]


def _every_layer(whole: FailureCheck, done: Sequence[Outcome], but: Node | None = None) -> list[FailureCheck]:
    """Every layer alone, the last first, by how likely it is the reason; of those that are alike one."""
    graph = whole.case.subject
    assert isinstance(graph, LayerGraph)
    owners = {name.partition("/")[0] for name in whole.case.weights}
    nodes = [node for node in reversed(graph.nodes) if node is not but]
    nodes.sort(key=lambda node: 0 if node.layer in owners else 2 if node.op in _FITTING else 1)
    found: dict[str, list[FailureCheck]] = {}
    for node in nodes:
        trials = [replace(trial, one_of_many=True) for group in _layer_checks(whole, node, done) for trial in group]
        if trials:
            found.setdefault(_form(trials[0]), trials)
    return [trial for trials in list(found.values())[:_MOST_ALONE] for trial in trials]


def _form(trial: FailureCheck) -> str:
    """What two trials of one layer type have in common that are alike: parameters, shapes and dtypes."""
    assert trial.node is not None
    fed = [[list(array.shape), dtype_name(array)] for array in trial.case.inputs.values()]
    return canonical([trial.node.op, {**trial.node.params}, {**trial.node.call_params}, fed])


def _loss_checks(whole: FailureCheck, done: Sequence[Outcome]) -> list[FailureCheck]:
    """The loss alone on what somebody predicted, where it has come to that."""
    case, recipe = whole.case, whole.case.procedure.loss
    outputs = next((outcome.outputs for outcome in done if set(case.labels) <= set(outcome.outputs)), None)
    if outputs is None or recipe is None or recipe.name not in LOSSES or whole.stage is Stage.BUILD:
        return []
    dtype = case.procedure.dtype
    single = loss_alone(recipe, outputs, case.labels, dtype=dtype, seed=case.seed)
    parameters = {**recipe.params, **policy_parameter(dtype)}
    node = Node(recipe.name, recipe.name, ())
    return [replace(whole, case=single, stage=Stage.LOSS, node=node, parameters=parameters, place_in_case=None)]


def _so_far(whole: FailureCheck, node: Node) -> list[FailureCheck]:
    """What leads to the layer, and itself."""
    case = whole.case
    assert isinstance(case.subject, LayerGraph)
    if node is case.subject.nodes[-1] or not node.inputs:
        return []
    cut = up_to(case, node, _forward(case.procedure))
    # of a forward pass the way users run it, nobody is told which layer it is at
    return [replace(whole, case=cut, node=node, parameters=_parameters(node, case.procedure), place_in_case=None)]


def _forward(like: Procedure) -> Procedure:
    return Procedure(training=like.training, dtype=like.dtype)


def _backward_case(single: Case, given: Sequence[Array], like: Procedure) -> Case:
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
