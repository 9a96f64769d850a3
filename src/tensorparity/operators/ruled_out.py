"""What must be refused: cases that documentation rules out."""

from __future__ import annotations

from ..core.case import ApiCall, Case
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from ..core.procedure import Procedure
from .catalogue import has_layer, layer
from .functions.api import refused_dtypes
from .functions.declared_calls import DECLARED
from .losses.catalogue import LOSSES
from .optimizers.catalogue import OPTIMIZERS


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
