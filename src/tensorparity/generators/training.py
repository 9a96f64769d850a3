"""Several steps of training as one case: the instances of a model, dealt out into batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeVar

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.errors import DataError, UsageError
from ..core.procedure import Goal, Procedure, Recipe
from ..operators.losses.catalogue import LOSSES
from ..operators.optimizers.catalogue import OPTIMIZERS

_Spec = TypeVar("_Spec")


@dataclass(frozen=True)
class Schedule:
    """How to train.

    Args:
        loss: by default cross-entropy for class labels, squared error otherwise.
    """

    steps: int
    batch_size: int = 32
    optimizer: Recipe = field(default_factory=lambda: Recipe("SGD", {"learning_rate": 0.01}))
    loss: Recipe | None = None


def training_case(model: Case, schedule: Schedule) -> Case:
    """The model of a case, trained on its instances, which are gone through again and again.

    Raises:
        DataError: without labels, or with too few instances for one batch.
    """
    if not model.labels:
        raise DataError("training needs labels; give them as y in --data")
    count, batch = min(len(array) for array in model.inputs.values()), schedule.batch_size
    if count < batch:
        raise DataError(f"a batch is {batch} instances, the data has {count}")
    index = np.arange(schedule.steps * batch) % (count // batch * batch)
    procedure = Procedure(
        goal=Goal.FIT,
        training=True,
        steps=schedule.steps,
        loss=schedule.loss or _default_loss(model.labels),
        optimizer=schedule.optimizer,
    )
    return replace(model, procedure=procedure, inputs=_rows(model.inputs, index), labels=_rows(model.labels, index))


def check_recipes(optimizer: Recipe, loss: Recipe | None = None) -> None:
    """Refuse, before anything is started, what no target can be told.

    Raises:
        UsageError: for an optimizer or a loss that the catalogue does not have, or a parameter that it does not take.
    """
    spec = _spec("optimizer", optimizer.name, OPTIMIZERS)
    _check_parameters("optimizer", optimizer, spec.complete({}))
    if loss is not None:
        _check_parameters("loss", loss, [parameter.name for parameter in _spec("loss", loss.name, LOSSES).parameters])


def _spec(what: str, name: str, catalogue: Mapping[str, _Spec]) -> _Spec:
    if name not in catalogue:
        near = get_close_matches(name, catalogue, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(catalogue)}"
        raise UsageError(f"unknown {what} {name!r}; {hint}")
    return catalogue[name]


def _check_parameters(what: str, recipe: Recipe, known: Collection[str]) -> None:
    for name in recipe.params:
        if name not in known:
            raise UsageError(f"the {what} {recipe.name} takes no {name!r}; it takes {', '.join(known)}")


def _rows(arrays: Arrays, index: Array) -> dict[str, Array]:
    return {name: array[index] for name, array in arrays.items()}


def _default_loss(labels: Arrays) -> Recipe:
    whole = all(array.dtype.kind in "iu" for array in labels.values())
    return Recipe("SparseCategoricalCrossentropy") if whole else Recipe("MeanSquaredError")
