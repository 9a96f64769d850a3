"""What a target gave for each of the inputs that one call was run on: a side of an equivalence, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..core.arrays import Array
from ..core.case import Case
from ..core.outcome import Failure, Outcome, Status

#: What an engine is told: of how many inputs one side alone gave an answer.
ONE_SIDED = "one_sided"
#: Why nothing can be said of a row, where that is not the library's doing.
_LIMITS = (Status.TIMED_OUT, Status.OUT_OF_MEMORY, Status.CRASHED, Status.UNSUPPORTED)


@dataclass(frozen=True)
class Row:
    """One input's answer: arrays by name, gradients by ``gradient:NAME``, or a failure."""

    answers: Mapping[str, Array] = field(default_factory=dict)
    failure: Failure | None = None


def rows_of(side: Case, outcome: Outcome) -> list[Row]:
    """The rows of a side; of a call on one input, one. Where the whole request failed, every row did."""
    count = side.procedure.rows
    if not outcome.completed:
        return [Row(failure=outcome.failure)] * (count or 1)
    named = {**outcome.outputs, **{f"gradient:{name}": array for name, array in outcome.trace.gradients.items()}}
    if count is None:
        return [Row(named)]
    return [_row(named, _failures(outcome), row) for row in range(count)]


def _row(named: Mapping[str, Array], failures: Mapping[str, Failure], row: int) -> Row:
    if str(row) in failures:
        return Row(failure=failures[str(row)])
    plain = {name.partition("/")[2]: array for name, array in named.items() if name.startswith(f"{row}/")}
    start = f"gradient:{row}/"
    pulled = {f"gradient:{name.removeprefix(start)}": array for name, array in named.items() if name.startswith(start)}
    return Row({**plain, **pulled})


def _failures(outcome: Outcome) -> dict[str, Failure]:
    told = outcome.reply.get("rows", {}) if isinstance(outcome.reply, dict) else {}
    return {str(row): Failure(str(said["type"]), str(said["message"])) for row, said in told.items()}


def accepted_rows(side: Case, outcome: Outcome) -> int:
    """How many of the inputs were answered."""
    return sum(row.failure is None for row in rows_of(side, outcome)) if outcome.completed else 0


def one_sided(rows: Sequence[tuple[Row, Row]]) -> int:
    """Of how many inputs one side alone gave an answer."""
    return sum((a.failure is None) != (b.failure is None) for a, b in rows)


def is_limit(outcome: Outcome) -> bool:
    """It ended by a limit of ours, or the target cannot be asked that."""
    return outcome.status in _LIMITS
