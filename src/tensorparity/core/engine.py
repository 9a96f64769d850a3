"""The form of an engine: it asks for cases and is told what came of them; it never runs anything itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

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
        part: of the engine's experiment (a data set, a run of a search): whoever has a clock adds times up by it.
    """

    case: Case
    targets: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    counted: bool = True
    part: str = ""

    def __post_init__(self) -> None:
        """A plug-in may give lists."""
        object.__setattr__(self, "targets", tuple(self.targets))
        object.__setattr__(self, "oracles", tuple(self.oracles))


@dataclass(frozen=True)
class Result:
    """What came of one case: stored as it is, and told again when a campaign is resumed.

    Args:
        index: of the case in its engine's stream.
        endings: by target, how it ended; time-outs and memory kills are blanked, because they never teach.
        measures: by name, target (or ``a|b``) and input row.
        replies: by target, what its worker said besides (lists of APIs, coverage).
        facts: what else its oracle found out that the engine's tables need.
        convicted: what its suspicions are known by (``Check.key``): counted again when a campaign is resumed.
    """

    index: int
    digest: str
    verdicts: tuple[Verdict, ...] = ()
    endings: Mapping[str, Status | None] = field(default_factory=dict)
    measures: Measures = field(default_factory=dict)
    replies: Mapping[str, Json] = field(default_factory=dict)
    facts: Mapping[str, Json] = field(default_factory=dict)
    convicted: tuple[tuple[str, ...], ...] = ()


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


@dataclass(frozen=True)
class Standing:
    """How far an engine is, for whoever watches.

    Args:
        phase: what it is at, in a user's words; its name where that is empty.
        done: of ``total``, where it counts otherwise than in cases.
    """

    phase: str = ""
    done: int | None = None
    total: int | None = None
    detail: str = ""


@runtime_checkable
class Watchable(Protocol):
    """An engine that says how far it is; others are shown by their cases."""

    def standing(self) -> Standing: ...


@runtime_checkable
class Phased(Protocol):
    """An engine whose search has phases; the loop keeps the clock and ends a phase that used up its time.

    Args:
        phase: the one that it is at; empty when all are over.
        shares: by phase, its share of the time; none of an engine that has only one.
        settled: all that it asked for of what it is at was told: what was convicted may be filed. A phase whose
            results are filed together (``filed``) has at least one such piece, however little time there is. Where
            ``filed`` is empty, all phases are for searching, and divide the time of that.
    """

    phase: str
    shares: Mapping[str, float]
    filed: str
    settled: bool

    def end_phase(self) -> bool:
        """Go on with the next phase, or begin nothing more; what is under way is still told.

        Returns:
            whether anything was left out; if not, nothing has changed.
        """
        ...


@dataclass(frozen=True)
class KeptCase:
    """A case that a row of an engine's tables is about, worth keeping whole.

    Args:
        table: by name, ``row`` its place in it.
        names: what tells it from the others, for the name of its file.
        note: what a reader of the file should know.
    """

    table: str
    row: int
    target: str
    case: Case
    names: tuple[str, ...]
    note: str


@runtime_checkable
class KeepsCases(Protocol):
    """An engine that has cases to keep; asked for them once it has ended."""

    def kept_cases(self) -> Sequence[KeptCase]: ...


class EngineFactory(Protocol):
    """What is registered under an engine's name; in most cases its class.

    ``settings``, where it has that attribute, are the names of its settings; others are refused with a usage error.
    ``calls_functions`` is True where its subject is the libraries' own functions: a campaign then gives it, besides its
    targets, those that run nothing but single calls. One that does not say is not given them.
    """

    def __call__(self, setup: Setup) -> Engine: ...


def calls_functions(factory: EngineFactory) -> bool:
    """``calls_functions`` of an engine's factory; False where it says nothing."""
    return bool(getattr(factory, "calls_functions", False))
