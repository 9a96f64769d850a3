"""Rounds of networks that are under way while one is judged, so that workers do not wait for the judge."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from ..core.outcome import Outcome
from ..generators.networks.networks import Network
from ..targets.begun import Begun
from ..targets.runner import LocalRunner
from .stages import StepExaminer

#: Enough that a trial that takes long, and goes first, does not leave the others without work.
AHEAD = 4


def rounds_ahead(
    runner: LocalRunner, examiner: StepExaminer, propose: Callable[[int], list[Network]]
) -> Iterator[tuple[list[Network], list[Outcome]]]:
    """Each round with its outcomes, in the order they were proposed in.

    Args:
        propose: told how many rounds are under way; gives the next one, or nothing when there shall be no more.
    """
    flight: deque[tuple[list[Network], Begun]] = deque()
    try:
        while True:
            while len(flight) <= AHEAD and (networks := propose(len(flight))):
                pairs = examiner.pairs([network.case for network in networks])
                flight.append((networks, runner.begin_pairs(pairs)))
            if not flight:
                return
            networks, begun = flight.popleft()
            yield networks, begun.outcomes()
    finally:
        for _, begun in flight:
            begun.cancel()
