"""A target against itself with the batch the other way round: rows do not know of each other, so nothing may change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.outcome import Outcome
from ..core.runner import Runner

_SUFFIX = "{batch=reversed}"


def reversed_name(target: str) -> str:
    """The name under which ``ReversedBatch`` runs a target on reversed batches."""
    return target + _SUFFIX


class ReversedBatch:
    """A runner around a runner: targets named by ``reversed_name`` get each batch in reverse, and are read in reverse.

    For cases whose arrays, weights and their gradients aside, all have the batch as their first axis. Where that goes
    in batch by batch, each batch is reversed in its place: a stateful layer carries its state from one to the next.
    """

    def __init__(self, runner: Runner, targets: Sequence[str]) -> None:
        self._runner = runner
        self._targets = tuple(targets)

    @property
    def targets(self) -> Sequence[str]:
        return (*self._runner.targets, *map(reversed_name, self._targets))

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        turned = [(_turned(case), _plain(target)) if _is_turned(target) else (case, target) for case, target in pairs]
        outcomes = self._runner.run_pairs(turned, fresh=fresh, deadline_factor=deadline_factor, on_outcome=on_outcome)
        return [
            _turned_back(outcome, target, case.procedure.batch_size) if _is_turned(target) else outcome
            for (case, target), outcome in zip(pairs, outcomes, strict=True)
        ]


def _is_turned(target: str) -> bool:
    return target.endswith(_SUFFIX)


def _plain(target: str) -> str:
    return target[: -len(_SUFFIX)]


def _turned(case: Case) -> Case:
    size = case.procedure.batch_size
    return replace(
        case,
        inputs=_rows(case.inputs, size),
        labels=_rows(case.labels, size),
        cotangents=_rows(case.cotangents, size),
    )


def _turned_back(outcome: Outcome, target: str, size: int | None) -> Outcome:
    gradients = outcome.trace.gradients
    of_weights = {name: array for name, array in gradients.items() if name.startswith("weight:")}
    others = {name: array for name, array in gradients.items() if name not in of_weights}
    nodes = _rows(outcome.trace.nodes, size)
    trace = replace(outcome.trace, nodes=nodes, gradients={**_rows(others, size), **of_weights})
    return replace(outcome, target=target, outputs=_rows(outcome.outputs, size), trace=trace)


def _rows(arrays: Arrays, size: int | None) -> Arrays:
    """Each batch of ``size`` rows in reverse; without a size, all rows are one batch."""
    return {
        name: _reversed(array, size or max(len(array), 1)) if array.ndim else array for name, array in arrays.items()
    }


def _reversed(array: Array, size: int) -> Array:
    starts = range(0, len(array), size)
    return np.concatenate([array[start : start + size][::-1] for start in starts]) if len(array) else array.copy()
