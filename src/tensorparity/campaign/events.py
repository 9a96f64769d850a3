"""What happens while it happens. The loop emits events; the store, reports and progress are handlers of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.engine import KeptCase, Result
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.oracle import Judged, JudgingTime
from ..core.outcome import Outcome, Status
from ..core.progress import Progress
from ..core.suspicion import Suspicion


@dataclass(frozen=True, slots=True)
class CaseDone:
    """A case was judged, or its result was known from an earlier part of the campaign.

    Args:
        outcomes: what each target did; empty where it was known.
        oracle: who decided; empty where it was known.
        counted: it is one of the cases that ``--cases`` counts.
        part: of its engine's experiment (``Ask.part``).
        again: by what it is known by, what was not looked at once more, because it had been seen often enough.
        judged: what the oracle said that decided, then what those said that only measure; none where it was known.
        times: what judging took, likewise.
    """

    engine: str
    result: Result
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    counted: bool = True
    resumed: bool = False
    oracle: str = ""
    again: tuple[str, ...] = ()
    judged: tuple[Judged, ...] = ()
    times: tuple[JudgingTime, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """A worker crashed, hung or used too much memory, and was replaced."""

    target: str
    status: Status
    digest: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Suspicions have been looked at again in fresh processes; they are what that made of them, in their order."""

    suspicions: tuple[Suspicion, ...]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FindingFiled:
    """A finding that is new to the campaign, with the text of its script where it has one."""

    engine: str
    finding: Finding
    script: str | None = None


@dataclass(frozen=True, slots=True)
class EngineEnded:
    """An engine's part of the campaign is over.

    Args:
        failure: what it ended with, where that was an exception of its own.
        seconds: all of it; ``running`` without confirming and reducing.
        kept: cases that its tables are about.
    """

    engine: str
    reason: str
    seconds: float
    running: float
    tables: Mapping[str, Json] = field(default_factory=dict)
    kept: tuple[KeptCase, ...] = ()
    failure: str = ""


__all__ = [
    "CaseDone",
    "Confirmed",
    "EngineEnded",
    "Event",
    "FindingFiled",
    "Listener",
    "Progress",
    "WorkerDied",
    "silent",
    "to_all",
]

Event = Progress | CaseDone | WorkerDied | Confirmed | FindingFiled | EngineEnded

Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Nobody listens."""


def to_all(listeners: Sequence[Listener]) -> Listener:
    """One listener that tells several, in their order."""

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell
