"""Many inputs: cut into requests, put together again, and the labels that belong to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.errors import DataError
from ...core.outcome import Outcome, Status
from ...oracles.distances import check_labels

#: Instances and bytes of one request: enough to keep a library busy, little enough for a progress bar.
_SLICE_COUNT = 1024
_SLICE_BYTES = 32 << 20
_DEFAULT_BATCH = 32  # of ``predict``, where none is asked for
#: Outputs that vary over the inputs by no more than this share of their scale cannot show a fault.
_INSENSITIVE = 1e-2


def slices_of(inputs: Arrays, batch_size: int | None, fixed: int | None) -> list[slice]:
    """Pieces of whole batches: a cut within one would have the library compile, and run, another size.

    Args:
        fixed: the only size that the model takes.
    """
    count = min(len(array) for array in inputs.values())
    if fixed:
        return [slice(start, start + fixed) for start in range(0, count, fixed)]
    per_instance = max(1, sum(array.nbytes // max(1, len(array)) for array in inputs.values()))
    step = max(1, min(_SLICE_COUNT, _SLICE_BYTES // per_instance))
    batch = batch_size or _DEFAULT_BATCH
    if batch_size or step >= batch:
        step = max(batch, step // batch * batch)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def cut(inputs: Arrays, piece: slice) -> dict[str, Array]:
    return {name: array[piece] for name, array in inputs.items()}


def merged(target: str, outcomes: Sequence[Outcome]) -> Outcome:
    failed = next((outcome for outcome in outcomes if not outcome.completed), None)
    if failed or not outcomes:
        return failed or Outcome(target, Status.UNSUPPORTED)
    names = outcomes[0].outputs
    outputs = {name: np.concatenate([outcome.outputs[name] for outcome in outcomes]) for name in names}
    return replace(
        outcomes[0],
        outputs=outputs,
        seconds=sum(outcome.seconds for outcome in outcomes),
        cpu_seconds=sum(outcome.cpu_seconds for outcome in outcomes),
    )


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
