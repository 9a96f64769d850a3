"""The instances that a model ran on: the labels that belong to them, and whether they tell anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.errors import DataError
from ...core.outcome import Outcome
from ..measure.distances import check_labels

#: Outputs that vary over the inputs by no more than this share of their scale cannot show a fault.
_INSENSITIVE = 1e-2


def rows_of(arrays: Arrays, rows: Sequence[int]) -> dict[str, Array]:
    return {name: array[list(rows)] for name, array in arrays.items()}


def hardly_depends_on_inputs(outcomes: Mapping[str, Outcome]) -> bool:
    """Equal outputs say little of a model that answers nearly the same whatever it is given.

    Networks with untrained weights are like that: the signal fades on the way, and faults with it.
    """
    outcome = next((outcome for outcome in outcomes.values() if outcome.completed), None)
    if outcome is None:
        return False
    for output in outcome.outputs.values():
        if not output.size:
            continue
        rows = output.reshape(len(output), -1).astype(np.float64)
        scale = np.abs(rows).max(initial=0.0)
        if len(rows) < 2 or np.ptp(rows, axis=0).max(initial=0.0) <= _INSENSITIVE * scale:
            return True
    return False


def named_labels(labels: Arrays, outcomes: Mapping[str, Outcome]) -> dict[str, Array]:
    """Labels without a name belong to the only output.

    Raises:
        DataError: if they fit no output.
    """
    outputs = next((outcome.outputs for outcome in outcomes.values() if outcome.completed), None)
    if outputs is None or not labels:
        return {}
    named = dict(labels)
    if "" in named:
        if len(outputs) > 1:
            raise DataError(f"the model has outputs {', '.join(outputs)}; one array of labels is not enough")
        named = {next(iter(outputs)): named[""]}
    for name, array in named.items():
        if name not in outputs:
            raise DataError(f"labels for {name!r}, but the outputs are {', '.join(outputs)}")
        check_labels(name, array, outputs[name])
    return named
