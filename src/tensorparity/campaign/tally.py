"""What a campaign counts, engine by engine, from the events of its loop; the facts of its report are made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core.engine import Result
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.outcome import Status
from .events import CaseDone, EngineEnded, Event, FindingFiled, WorkerDied
from .open_questions import open_questions


@dataclass
class EngineTally:
    """Counts of one engine.

    Args:
        resumed: cases whose results an earlier part of the campaign had recorded.
        running: seconds without confirming and reducing.
    """

    cases: int = 0
    resumed: int = 0
    undecided: int = 0
    unsupported: int = 0
    seconds: float = 0.0
    running: float = 0.0
    findings: int = 0
    reason: str = ""
    failure: str = ""
    tables: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {
            "cases": self.cases,
            "resumed": self.resumed,
            "undecided": self.undecided,
            "unsupported": self.unsupported,
            "seconds": self.seconds,
            "findings": self.findings,
        }


@dataclass
class CampaignTally:
    """A handler of events that counts.

    Args:
        undecided: cases that count, by the reason why they were not decided; ``unsupported`` likewise.
        set_aside: the same of single cases, which do not count.
        again: by what it is known by, how often something was met that had been seen often enough.
        deaths: by target and ending, how many workers died.
        judges: by engine, the oracles that decided its cases.
    """

    engines: dict[str, EngineTally] = field(default_factory=dict)
    undecided: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    set_aside: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    deaths: Counter[str] = field(default_factory=Counter)
    judges: dict[str, set[str]] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseDone):
            self._count_case(event)
        elif isinstance(event, FindingFiled):
            self._of(event.engine).findings += 1
            self.findings[event.finding.id] = event.finding
            if event.script:
                self.scripts.setdefault(event.finding.id, event.script)
        elif isinstance(event, WorkerDied):
            self.deaths[f"{event.target} {event.status.value}"] += 1
        elif isinstance(event, EngineEnded):
            own = self._of(event.engine)
            own.seconds, own.running, own.reason, own.tables = event.seconds, event.running, event.reason, event.tables
            own.failure = event.failure

    @property
    def failures(self) -> tuple[str, ...]:
        """What engines ended with that broke."""
        return tuple(own.failure for own in self.engines.values() if own.failure)

    def _of(self, engine: str) -> EngineTally:
        return self.engines.setdefault(engine, EngineTally())

    def _count_case(self, event: CaseDone) -> None:
        self.again.update(event.again)
        left = open_questions(event.result.verdicts, _statuses(event.result))
        if not event.counted:
            if event.oracle != "refusal":  # what everybody refuses is refused, as it should be
                self.set_aside.update(left.undecided)
            return
        if event.oracle:
            self.judges.setdefault(event.engine, set()).add(event.oracle)
        own = self._of(event.engine)
        own.cases += 1
        own.resumed += event.resumed
        own.undecided += bool(left.undecided)
        own.unsupported += bool(left.unsupported)
        self.undecided.update(left.undecided)
        self.unsupported.update(left.unsupported)

    @property
    def tables(self) -> dict[str, Json]:
        """What the engines' papers print, by name."""
        return {name: table for own in self.engines.values() for name, table in own.tables.items()}

    def stats(self, seconds: float) -> dict[str, Json]:
        """What ``stats`` of every document has."""
        return {
            "cases": sum(own.cases for own in self.engines.values()),
            "seconds": seconds,
            "undecided": sum(own.undecided for own in self.engines.values()),
            "per_engine": {name: own.to_json() for name, own in self.engines.items()},
            **({"worker_deaths": dict(self.deaths)} if self.deaths else {}),
        }


def _statuses(result: Result) -> dict[str, Status]:
    return {target: status for target, status in result.endings.items() if status is not None}
