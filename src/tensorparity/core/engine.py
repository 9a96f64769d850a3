"""The form of an engine: it asks for cases and is told what came of them; it never runs anything itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .case import Case
from .jsontext import Json
from .oracle import Measures, Setup
from .outcome import Status
from .verdict import Verdict


@dataclass(frozen=True)
class Ask:
    """A case that an engine wants run.

    Args:
        targets: none means all targets of the run.
        oracles: none means the oracle of that kind of case. The first decides, others only measure.
        counted: it is one of the cases that ``--cases`` counts; single cases beside networks are not.
    """

    case: Case
    targets: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    counted: bool = True


@dataclass(frozen=True)
class Result:
    """What came of one case: stored as it is, and told again when a campaign is resumed.

    Args:
        index: of the case in its engine's stream.
        endings: by target, how it ended; time-outs and memory kills are blanked, because they never teach.
        measures: by name, target (or ``a|b``) and input row.
        replies: by target, what its worker said besides (lists of APIs, coverage).
        facts: what else its oracle found out that the engine's tables need.
    """

    index: int
    digest: str
    verdicts: tuple[Verdict, ...] = ()
    endings: Mapping[str, Status | None] = field(default_factory=dict)
    measures: Measures = field(default_factory=dict)
    replies: Mapping[str, Json] = field(default_factory=dict)
    facts: Mapping[str, Json] = field(default_factory=dict)


class Engine(Protocol):
    """Made by a factory ``(setup: Setup) -> Engine``.

    It keeps no clock, starts no process and draws only from generators made of its seed.

    Args:
        ahead: constant; round k is asked for once exactly the rounds below k - ahead have been told.
    """

    name: str
    ahead: int

    def ask(self) -> Sequence[Ask]:
        """The next round; its size depends on the seed and on what was told, on nothing else.

        Empty: finished; or, while rounds are under way, that it has to be told more first.
        """
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """What came of a round, one result per Ask, in order, before anything is confirmed.

        A count (``--cases``) may cut the last round short: then there are fewer, and nothing is asked for any more.
        """
        ...

    def tables(self) -> Mapping[str, Json]:
        """What its paper prints; may be empty."""
        ...


class EngineFactory(Protocol):
    def __call__(self, setup: Setup) -> Engine: ...
