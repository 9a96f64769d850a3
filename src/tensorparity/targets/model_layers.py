"""The layers of a model file, read by a target that takes such files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.case import Case
from ..core.errors import ModelRefusedError
from ..core.model import Model
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..operators.read_layers import read_layers


def read_model(runner: Runner, model: Model, targets: Sequence[str]) -> Model:
    """The model with its graph and weights, read by the first target that can.

    Raises:
        ModelRefusedError: if no target that reads such files succeeds.
    """
    file = model.file
    assert file is not None
    problem = f"none of the targets reads .{file.format} files"
    for target in (target for target in targets if model.file_for(target) == file):
        (outcome,) = runner.run_pairs([(Case(file, Procedure(goal=Goal.LAYERS)), target)])
        if outcome.completed:
            graph, weights = read_layers(outcome)
            return replace(model, graph=graph, weights=weights)
        failure = outcome.failure
        problem = f"{target}: {failure.type}: {failure.message}" if failure else outcome.status.value
    raise ModelRefusedError(f"{model.name} could not be read: {problem}")
