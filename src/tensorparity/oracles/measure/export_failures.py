"""Models that are run and cannot be exported: which operation an exporter or a runtime stumbles over.

``Model.export`` promises its formats for the backends that it names, and leaves out no layer. That an exporter has no
translation for an operation is no excuse: the model runs, and a file is written that does not, or none. But all layers
that need the operation show one defect.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...core.case import Case
from ...core.finding import Diagnosis
from ...core.messages import failing_onnx_node, normalised_message
from ...core.outcome import Failure
from ...operators.catalogue import has_layer, layer
from ..subjects import only_layer

#: What a failed export is about: the method, not the layer that was in the model.
EXPORT = "keras.Model.export"
_PREFIX = "export "
#: Behind these words stands what an exporter's own exception is about.
_WRAPPED = "Original error:"
#: So many characters of it tell one cause from another.
_SAID = 90

#: How exporters and runtimes name an operation that they do not know.
_NAMED = (
    re.compile(r"ONNX export of operator (\w+)"),
    re.compile(r"operator '?(?:\w+::)?([\w.]+)'? to ONNX opset"),
    re.compile(r"In Node, \(\"[^\"]*\", (\w+)"),
    re.compile(r"conversion rule found for operations: ([\w:.]+)"),
    re.compile(r"No translator found for (?:operation|node): ?'?([\w:.]+)"),
    re.compile(r"kernels/(\w+)\.cc:\d+"),
    re.compile(r"tf\.(\w+)' op"),
)


def export_form(case: Case) -> str:
    """The format that the other side of a case is exported to; empty where it is not."""
    other = case.counterpart.procedure if case.counterpart else None
    asked = other is not None and other.reload and other.variant.startswith(_PREFIX)
    return other.variant[len(_PREFIX) :] if asked and other is not None else ""


def failed_operation(failure: Failure) -> str:
    """The operation that an export, or the file that it gave, fails over; empty where nothing says so."""
    for pattern in _NAMED:
        if found := pattern.search(failure.message):
            return found[1]
    node = failing_onnx_node(failure.message)
    return node[0] if node else ""


def cause_of(failure: Failure) -> str:
    """What two failed exports of one cause have in common: the operation, or else what is said first."""
    inner = failure.message.rpartition(_WRAPPED)[2]
    return failed_operation(failure) or normalised_message(inner.partition("[Caused by")[0])[:_SAID]


def as_failed_export(diagnosis: Diagnosis, case: Case, failure: Failure) -> tuple[Diagnosis, str]:
    """A diagnosis that is the same for all layers that one cause keeps from being exported, and the exception."""
    found = replace(diagnosis, api=EXPORT, parameters={"format": export_form(case)})
    return found, f"{failure.type}: {cause_of(failure)}"


def as_other_answer(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """A diagnosis of a model that answers otherwise once it is exported.

    Layers that draw numbers in training have that in common, and an exported model is one of inference.
    """
    node, form = only_layer(case), {"format": export_form(case)}
    spec = layer(node.op) if node is not None and has_layer(node.op) else None
    if node is not None and spec is not None and spec.random:
        return replace(diagnosis, api=EXPORT, parameters={**form, "layer": "random"})
    return replace(diagnosis, parameters={**diagnosis.parameters, **form})
