"""Rounds of networks that are under way while one is judged, so that workers do not wait for the judge."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..core.outcome import Outcome
from ..core.runner import Pending
from ..generators.networks.networks import Network
from ..targets.runner import LocalRunner
from .beside import Beside, Singles
from .stages import StepExaminer

#: Enough that a trial that takes long, and goes first, does not leave the others without work.
AHEAD = 4


@dataclass(frozen=True)
class Round:
    """Networks that were run, and single cases beside them.

    Args:
        outcomes: as the examiner wants them.
        beside: what came of the single cases.
    """

    networks: list[Network]
    outcomes: list[Outcome]
    singles: Singles
    beside: list[Outcome]


def rounds_ahead(
    runner: LocalRunner, examiner: StepExaminer, propose: Callable[[int], list[Network]], beside: Beside
) -> Iterator[Round]:
    """Each round with its outcomes, in the order they were proposed in.

    Args:
        propose: told how many rounds are under way; gives the next one, or nothing when there shall be no more.
        beside: single cases go out with every round.
    """
    flight: deque[tuple[list[Network], Singles, Pending]] = deque()
    try:
        while True:
            while len(flight) <= AHEAD and (networks := propose(len(flight))):
                singles = beside.propose()
                pairs = [*examiner.pairs([network.case for network in networks]), *singles.pairs()]
                flight.append((networks, singles, runner.begin_pairs(pairs)))
            if not flight:
                return
            networks, singles, begun = flight.popleft()
            outcomes = begun.outcomes()
            alone = len(outcomes) - len(singles.pairs())
            yield Round(networks, outcomes[:alone], singles, outcomes[alone:])
    finally:
        for _, _, begun in flight:
            begun.cancel()
