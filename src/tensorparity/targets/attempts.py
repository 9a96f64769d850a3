"""Trying many calls of unknown functions at once: what is accepted, without what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.case import Case
from ..core.outcome import Status
from .requests import End, Request
from .runner import LocalRunner

_GROUPS_PER_REQUEST = 4
#: Seconds of CPU time in which a forked process has its library ready.
_WAKING = 30.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one call; ``untried`` ones stood behind one that ended the process."""

    status: Status
    type: str = ""
    message: str = ""
    untried: bool = False

    @property
    def accepted(self) -> bool:
        return self.status is Status.COMPLETED


def attempt_calls(
    runner: LocalRunner, target: str, groups: Sequence[Sequence[Case]], seconds: float = 4.0
) -> list[list[Attempt]]:
    """The calls of each group, in a process that is forked for it; a call may use so many seconds of CPU time.

    The worker only forks: it must not have run a case before, and must not run one later.
    """
    pieces = [groups[place : place + _GROUPS_PER_REQUEST] for place in range(0, len(groups), _GROUPS_PER_REQUEST)]
    requests = [_request(target, piece, seconds) for piece in pieces]
    found: list[list[list[Attempt]]] = [[] for _ in pieces]
    for position, reply in runner.pool.ask(requests):
        answered = reply.end is End.ANSWERED and reply.header.get("status") == "completed"
        said = (
            reply.header["attempts"]
            if answered
            else [[["crashed", reply.end.value, reply.detail]]] * len(pieces[position])
        )
        found[position] = [_attempts(group, results) for group, results in zip(pieces[position], said, strict=True)]
    return [attempts for piece in found for attempts in piece]


def _request(target: str, groups: Sequence[Sequence[Case]], seconds: float) -> Request:
    cases = [case for group in groups for case in group]
    arrays = {f"{place}/{name}": array for place, case in enumerate(cases) for name, array in case.arrays().items()}
    header = {"do": "attempt", "seconds": seconds, "groups": [[case.header() for case in group] for group in groups]}
    return Request(target, header, arrays, cpu_seconds=seconds * len(cases) + _WAKING * len(groups))


def _attempts(group: Sequence[Case], results: Sequence[Sequence[str]]) -> list[Attempt]:
    found = [Attempt(Status(how), kind, message) for how, kind, message in results]
    left = len(group) - len(found)
    return [*found, *[Attempt(Status.UNSUPPORTED, untried=True)] * left]
