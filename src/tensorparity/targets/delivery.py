"""What each target is given of a model: the user's file, one that was exported for it, or the layers."""

from __future__ import annotations

from dataclasses import replace

from ..core.case import Case
from ..core.model import Model
from ..core.procedure import Goal


class Delivery:
    """Turns a case about a user's model file into the case that a target runs; the examiner's ``deliver``.

    A target that reads the file, or has one exported from it, is given that; any other the graph with its weights,
    where the graph is known. Every other case is delivered as it is. Labels are for whoever judges a forward run, not
    for whoever runs it.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def __call__(self, case: Case, target: str) -> Case:
        if case.labels and case.procedure.goal is Goal.FORWARD:
            case = replace(case, labels={})
        if case.subject != self._model.file or case.procedure.goal is Goal.LAYERS:
            return case
        file = self._model.file_for(target)
        if file is not None:
            return replace(case, subject=file)
        if self._model.graph is not None:
            return replace(case, subject=self._model.graph, weights=self._model.weights)
        return case  # the target says itself that it cannot read it
