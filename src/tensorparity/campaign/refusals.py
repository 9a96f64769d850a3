"""What must be refused: a case that documentation rules out, and what it means that somebody completes it."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.case import ApiCall, Case
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from ..core.outcome import Outcome, Status
from ..core.procedure import Procedure
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Stage
from ..operators.api import refused_dtypes
from ..operators.catalogue import has_layer, layer
from ..operators.declared_calls import DECLARED
from ..operators.losses import LOSSES
from ..operators.optimizers import OPTIMIZERS
from ..triage.diagnose import public_name
from .selection import families_of

#: The stage of what has a public name and is no layer; everything else is a call.
_STAGES = {"keras.losses": Stage.LOSS, "keras.optimizers": Stage.UPDATE}


def ruled_out(case: Case) -> tuple[Node, dict[str, Json]] | None:
    """The first layer with parameters that its documentation rules out; a call with dtypes that it must refuse."""
    if isinstance(case.subject, ApiCall):
        declared = DECLARED.get(case.subject.api)
        if declared is not None:
            wrong = declared.invalid(case.subject.kwargs)
            return (Node("call", declared.api, ()), wrong) if wrong else None
        refused = refused_dtypes(case.subject, case.inputs)
        return (Node("call", case.subject.api, ()), {"dtype": refused[0]}) if refused else None
    if isinstance(case.subject, LayerGraph):
        for node in case.subject.nodes:
            invalid = layer(node.op).invalid(node.params) if has_layer(node.op) else {}
            if invalid:
                return node, invalid
    return _refused_recipe(case.procedure)


def _refused_recipe(procedure: Procedure) -> tuple[Node, dict[str, Json]] | None:
    """A loss or an optimizer with parameters that its documentation rules out."""
    loss, optimizer = procedure.loss, procedure.optimizer
    found: list[tuple[str, dict[str, Json]]] = []
    if loss is not None and loss.name in LOSSES:
        found.append((LOSSES[loss.name].api, LOSSES[loss.name].invalid(loss.params)))
    if optimizer is not None and optimizer.name in OPTIMIZERS:
        found.append((OPTIMIZERS[optimizer.name].api, OPTIMIZERS[optimizer.name].invalid(optimizer.params)))
    return next(((Node("step", api, ()), invalid) for api, invalid in found if invalid), None)


def accepted(
    case: Case, outcomes: Mapping[str, Outcome], completed: Mapping[str, Outcome], node: Node, invalid: dict[str, Json]
) -> Suspicion:
    """Whoever answers is wrong, whatever the answer; where nobody refuses, the code they share is."""
    refused = [target for target, outcome in outcomes.items() if outcome.status is Status.RAISED]
    shared = {families_of([target])[target] for target in completed}
    suspects = (shared.pop(),) if not refused and len(completed) > 1 and len(shared) == 1 else tuple(completed)
    given = ", ".join(f"{name}={value!r}" for name, value in invalid.items())
    evidence = [f"{target} accepts {given}, which the documentation rules out" for target in completed]
    evidence += [f"{target} refuses it" for target in refused]
    named = "." in node.op  # a function, a loss or an optimizer: no node of a graph
    diagnosis = Diagnosis(
        Class.DEFECT,
        suspects,
        node=None if named else node.key,
        api=node.op if named else public_name(node.op),
        parameters=invalid,
        evidence=tuple(evidence),
    )
    stage = _STAGES.get(node.op.rpartition(".")[0], Stage.CALL) if named else Stage.BUILD
    return Suspicion(Kind.ACCEPTS_INVALID, diagnosis, case, tuple(outcomes), stage=stage)
