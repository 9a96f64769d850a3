"""A shorter way of training: fewer steps, a plainer loss and optimizer, no further than needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name, is_floating
from ...core.case import Case
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, output_name
from ...core.procedure import Goal, Procedure, Recipe
from ...operators.optimizers.catalogue import OPTIMIZERS
from ...operators.reference.evaluate import infer_shapes
from ...operators.spec import ShapeError
from ...oracles.measure.labels import known_sizes
from .order import PLAINEST_LOSS, PLAINEST_OPTIMIZER
from .reducer import Attempts


def shrink_training(attempts: Attempts) -> None:
    procedure = attempts.case.procedure
    if procedure.loss is None and procedure.optimizer is None and procedure.steps is None:
        return
    attempts.first([_one_step(attempts.case)])
    attempts.first([_forward(attempts.case), _gradients(attempts.case)])
    procedure = attempts.case.procedure
    if procedure.loss:
        recipes = (Recipe(PLAINEST_LOSS), Recipe(procedure.loss.name))
        attempts.first(_with(attempts.case, replace(procedure, loss=recipe)) for recipe in recipes)
    procedure = attempts.case.procedure
    if procedure.optimizer:
        recipes = (Recipe(PLAINEST_OPTIMIZER), _bare(procedure.optimizer))
        attempts.first(_with(attempts.case, replace(procedure, optimizer=recipe)) for recipe in recipes)
    attempts.first([_with(attempts.case, replace(attempts.case.procedure, training=False))])


def _bare(optimizer: Recipe) -> Recipe:
    """With nothing but what it cannot do without."""
    spec = OPTIMIZERS.get(optimizer.name)
    required = {parameter.name for parameter in spec.parameters if parameter.required} if spec else set()
    return Recipe(optimizer.name, {name: value for name, value in optimizer.params.items() if name in required})


def _with(case: Case, procedure: Procedure) -> Case | None:
    """The labels must suit the loss; None where nobody knows what would."""
    loss = procedure.loss
    if loss is None or loss.name != PLAINEST_LOSS or case.procedure.loss == loss:
        return replace(case, procedure=procedure)
    labels = _numbers(case)
    return replace(case, procedure=procedure, labels=labels) if labels is not None else None


def _numbers(case: Case) -> Arrays | None:
    """Labels that the plainest loss takes: as many numbers as are predicted. Classes become zeros of that shape."""
    graph = case.subject
    if not isinstance(graph, LayerGraph):
        return {name: array.astype(np.float32) for name, array in case.labels.items()}
    try:
        shapes = infer_shapes(graph, min(len(array) for array in case.inputs.values()))
    except (TensorParityError, ShapeError, ValueError):
        return None
    found: dict[str, Array] = {}
    for ref in graph.outputs:
        name = output_name(ref)
        if name in case.labels:
            shape = known_sizes(shapes[ref.node][ref.index])
            array = case.labels[name]
            kept = array if is_floating(dtype_name(array)) else array.astype(np.float32)
            found[name] = kept if array.shape == shape else np.zeros(shape, np.float32)
    return found


def _one_step(case: Case) -> Case | None:
    steps = case.procedure.steps
    if not steps or steps < 2:
        return None
    inputs = {name: array[: len(array) // steps] for name, array in case.inputs.items()}
    labels = {name: array[: len(array) // steps] for name, array in case.labels.items()}
    return replace(case, procedure=replace(case.procedure, steps=1), inputs=inputs, labels=labels)


def _gradients(case: Case) -> Case | None:
    if case.procedure.goal not in (Goal.UPDATE, Goal.FIT) or (case.procedure.steps or 1) > 1:
        return None
    return replace(case, procedure=replace(case.procedure, goal=Goal.GRADIENTS, optimizer=None, steps=None))


def _forward(case: Case) -> Case | None:
    if case.procedure.goal is Goal.REPLAY or (case.procedure.steps or 1) > 1:
        return None
    plain = Procedure(mode=case.procedure.mode, training=case.procedure.training, dtype=case.procedure.dtype)
    return replace(case, procedure=plain, labels={})
