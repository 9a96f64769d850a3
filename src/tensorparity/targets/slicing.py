"""A Runner around a Runner that cuts many instances of a model into requests, and puts the outcomes together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.model import Model
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.runner import Runner

#: Instances and bytes of one request: enough to keep a library busy, little enough for a progress bar.
_SLICE_COUNT = 1024
_SLICE_BYTES = 32 << 20
_DEFAULT_BATCH = 32  # of ``predict``, where none is asked for

#: In the reply of an outcome that failed: the first and the last but one of the instances it failed on.
FAILED_ROWS = "failed_rows"


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


def cut_inputs(inputs: Arrays, piece: slice) -> dict[str, Array]:
    return {name: array[piece] for name, array in inputs.items()}


@dataclass
class _Sliced:
    """One pair on its way: its pieces, and what came of those that were run."""

    case: Case
    target: str
    pieces: Sequence[slice]
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return all(outcome.completed for outcome in self.outcomes)

    def pairs(self, first: int, last: int | None) -> list[tuple[Case, str]]:
        if len(self.pieces) == 1:
            return [(self.case, self.target)][first:last]
        return [
            (replace(self.case, inputs=cut_inputs(self.case.inputs, piece)), self.target)
            for piece in self.pieces[first:last]
        ]

    def merged(self) -> Outcome:
        place, failed = next(((i, o) for i, o in enumerate(self.outcomes) if not o.completed), (0, None))
        if failed is not None:
            rows = self.pieces[place]
            return replace(failed, reply={FAILED_ROWS: [rows.start, rows.stop]}) if len(self.pieces) > 1 else failed
        first = self.outcomes[0]
        if len(self.outcomes) == 1:
            return first
        return replace(
            first,
            outputs={name: np.concatenate([o.outputs[name] for o in self.outcomes]) for name in first.outputs},
            seconds=sum(outcome.seconds for outcome in self.outcomes),
            cpu_seconds=sum(outcome.cpu_seconds for outcome in self.outcomes),
        )


class SlicingRunner:
    """Cuts the forward runs of one model; a target that fails on the first piece is not asked for the others.

    A failed outcome says in its reply which instances it failed on.
    """

    def __init__(self, inner: Runner, model: Model) -> None:
        self._inner = inner
        self._model = model

    @property
    def targets(self) -> Sequence[str]:
        return self._inner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        sliced = [_Sliced(case, target, self._pieces(case)) for case, target in pairs]
        for first, last in ((0, 1), (1, None)):
            asked = [(item, pair) for item in sliced if item.alive for pair in item.pairs(first, last)]
            answers = self._inner.run_pairs(
                [pair for _, pair in asked], fresh=fresh, deadline_factor=deadline_factor, on_outcome=on_outcome
            )
            for (item, _), outcome in zip(asked, answers, strict=True):
                item.outcomes.append(outcome)
            if all(len(item.pieces) == 1 for item in sliced):
                break
        return [item.merged() for item in sliced]

    def _pieces(self, case: Case) -> Sequence[slice]:
        plain = case.procedure.goal is Goal.FORWARD and not case.procedure.trace and case.counterpart is None
        whole = slice(0, None)
        if not plain or not case.inputs or not self._is_model(case):
            return [whole]
        return slices_of(case.inputs, case.procedure.batch_size, self._model.batch) or [whole]

    def _is_model(self, case: Case) -> bool:
        files = (self._model.file, *self._model.files.values())
        return case.subject in files or case.subject == self._model.graph
