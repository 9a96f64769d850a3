"""How a case may end badly: the one table from an outcome's status to the kind of a finding."""

from __future__ import annotations

from collections.abc import Mapping

from .outcome import Outcome, Status
from .verdict import Kind

#: A memory limit is ours, not the library's: running out of it decides nothing.
KIND_OF_ENDING: Mapping[Status, Kind] = {
    Status.RAISED: Kind.ERROR,
    Status.CRASHED: Kind.CRASH,
    Status.TIMED_OUT: Kind.HANG,
}
#: The statuses of the table, the worst first.
WORST_FIRST = (Status.CRASHED, Status.TIMED_OUT, Status.RAISED)
#: The kinds of the table.
ENDING_KINDS = frozenset(KIND_OF_ENDING.values())
#: What ends the process, or has to be ended: a check of it costs the start of a worker.
DEADLY = frozenset([Kind.CRASH, Kind.HANG])


def ended_badly(outcome: Outcome) -> bool:
    """It raised, crashed or hung: something that a library can be blamed for."""
    return outcome.status in KIND_OF_ENDING


#: Limits of ours that a loaded machine runs into: how such a case ended teaches nothing.
_LIMITS = (Status.TIMED_OUT, Status.OUT_OF_MEMORY)


def without_limits(endings: Mapping[str, Status | None]) -> dict[str, Status | None]:
    """How each target ended, blank where a limit of time or memory ended it."""
    return {target: None if status in _LIMITS else status for target, status in endings.items()}
