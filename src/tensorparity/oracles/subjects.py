"""What a case is about, in a user's words: the public name, the parameters that matter, the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.call import parts_of, without_tuples
from ..core.case import ApiCall, Case, ModelFile
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from ..core.oracle import Seen
from ..core.procedure import Goal
from ..core.signature import policy_parameter
from ..core.traits import Traits
from ..core.verdict import Stage
from ..operators.catalogue import has_layer, layer
from ..operators.functions.catalogue import operator_of
from ..operators.functions.declared_calls import significant
from ..operators.functions.native import native_name
from ..operators.losses.alone import is_loss_alone
from ..operators.masks_and_states import layer_of
from .measure.diagnose import public_name

#: Goals of training: what is done before the weights are as they should be.
TRAINING = (Goal.GRADIENTS, Goal.UPDATE, Goal.FIT)


def only_layer(case: Case) -> Node | None:
    """The one layer of a case; None of a call, a file or several layers."""
    graph = case.subject
    return layer_of(graph) if isinstance(graph, LayerGraph) and graph.nodes else None


def node_key(case: Case) -> str | None:
    """Of a case of one layer, its key."""
    node = only_layer(case)
    return node.key if node else None


def api_of(case: Case, traits: Traits, suspects: Sequence[str] = ()) -> str | None:
    """The public name: of an operator, what it is called in the library of the first suspect."""
    if not isinstance(case.subject, ApiCall):
        node = only_layer(case)
        return public_name(node.op) if node else None
    operator = operator_of(case.subject.api)
    library = traits[suspects[0]].calls if suspects else ""  # code that several share calls nothing
    return native_name(operator, library, case) if operator and library else api_call(case.subject).api


def parameters_of(case: Case) -> dict[str, Json]:
    """What its call, or its one layer, is given that is not the default."""
    if isinstance(case.subject, ApiCall):
        operator = operator_of(case.subject.api)
        return operator.significant(dict(case.subject.kwargs)) if operator else significant(case.subject)
    node = only_layer(case)
    own = layer(node.op).significant(node.params) if node and has_layer(node.op) else {}
    return {**own, **policy_parameter(case.procedure.dtype)}


def call_parameters(case: Case) -> dict[str, Json]:
    """The arguments of a call by name that are plain values, in the form that reports have."""
    if not isinstance(case.subject, ApiCall):
        return parameters_of(case)
    called = api_call(case.subject)
    plain = (str, int, float, bool, type(None))
    kept = {
        name: without_tuples(value)
        for name, value in called.kwargs.items()
        if all(isinstance(part, plain) for part in parts_of(value))
    }
    return {**parameters_of(case), **kept}


def api_call(call: ApiCall) -> ApiCall:
    """Of a program, the call that it is about: the first that is a public function, seen from outside."""
    return next((inner for inner in call.calls() if inner.api[:1].isalpha()), call)


def stage_of(case: Case) -> Stage:
    """Where a case goes wrong, as long as nothing more is known."""
    if isinstance(case.subject, ApiCall):
        return Stage.CALL
    if is_loss_alone(case):
        return Stage.LOSS
    if case.procedure.goal in TRAINING:
        return Stage.UPDATE
    if case.procedure.reload:
        return Stage.SAVE_LOAD
    return Stage.BACKWARD if case.cotangents else Stage.FORWARD


def exporters_of(seen: Seen) -> dict[str, str]:
    """By target, who wrote the file that it ran instead of the case's own."""
    return exporters_among(seen.case, seen.ran[0] if seen.ran else {})


def exporters_among(asked: Case, ran: Mapping[str, Case]) -> dict[str, str]:
    """The same of any case, and of what each target was given of it."""
    files = {target: case.subject for target, case in ran.items() if isinstance(case.subject, ModelFile)}
    return {target: file.exporter for target, file in files.items() if file.exporter and file != asked.subject}
