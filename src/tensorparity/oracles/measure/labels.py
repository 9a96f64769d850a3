"""Labels that do not fit their loss: of such a training step nothing can be said but how its forward pass went."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.case import Case
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, output_name
from ...core.outcome import Outcome
from ...core.suspicion import Suspicion
from ...core.verdict import Kind, Stage
from ...operators.losses.catalogue import LOSSES
from ...operators.reference.evaluate import infer_shapes
from ...operators.spec import Shape, ShapeError

_AFTER_PREDICTING = (Stage.LOSS, Stage.BACKWARD, Stage.UPDATE)
#: What a target says of how far it came, where that was not as far as the loss.
_STAGES = {"build": Stage.BUILD, "forward": Stage.FORWARD}


def known_sizes(shape: Shape) -> tuple[int, ...]:
    """A shape as it is for one row: a size that may vary is 1, one of 0 stays."""
    return tuple(1 if size is None else size for size in shape)


def unfit(case: Case) -> str:
    """Why nobody can be right about the loss of a case; nothing where its labels fit, or shapes are not known."""
    graph, recipe = case.subject, case.procedure.loss
    if not isinstance(graph, LayerGraph) or recipe is None or recipe.name not in LOSSES or not case.inputs:
        return ""
    try:
        shapes = infer_shapes(graph, len(next(iter(case.inputs.values()))))
        for ref in graph.outputs:
            labels, predicted = case.labels.get(output_name(ref)), known_sizes(shapes[ref.node][ref.index])
            if labels is not None and not LOSSES[recipe.name].fits(recipe.params, labels.shape, predicted):
                return f"labels of shape {labels.shape} do not fit {recipe.name} of predictions of shape {predicted}"
    except (TensorParityError, ShapeError, IndexError):
        return ""
    return ""


def is_of_labels(suspicion: Suspicion, outcomes: Mapping[str, Outcome]) -> bool:
    """Whether labels that do not fit explain it: not a death, and nothing that happened before there was a loss."""
    failures = [outcomes[target].failure for target in suspicion.diagnosis.suspects if target in outcomes]
    stages = [_STAGES.get(failure.stage, suspicion.stage) for failure in failures if failure] or [suspicion.stage]
    return suspicion.kind not in (Kind.CRASH, Kind.HANG) and all(stage in _AFTER_PREDICTING for stage in stages)
