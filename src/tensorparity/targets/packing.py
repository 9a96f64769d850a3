"""Many small calls for a compiler, a unit at a time.

Compiling one call takes torch or XLA seconds, and sixteen in one unit not much longer. A pack travels as one request
and is answered as one; if any of its calls fails, all do, and the halves are asked instead, down to single calls,
which are run as users run them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.arrays import Array
from ..core.case import Case
from ..core.outcome import Outcome
from ..operators.functions.native import case_operator, computed_in
from .begun import BegunCases, nobody
from .pack_memory import PackMemory, is_compiled_call, is_sampled
from .pool import Pool
from .replies import outcome_of
from .requests import End, Reply, Request

#: Calls compiled as one unit.
PACK = 16
#: A pack's deadline grows with it: so many calls share that of one.
_SHARING = 16

Pack = tuple[Sequence[Case], str]
Prepare = Callable[[Case, str], Request | Outcome]
Single = Callable[[Sequence[tuple[Case, str]]], list[Outcome]]


def run_packs(
    packs: Sequence[Pack], prepare: Prepare, pool: Pool, single: Single, memory: PackMemory | None = None
) -> list[list[Outcome]]:
    """The outcomes of every pack, in the order of its cases.

    Args:
        prepare: the request of one case, or the outcome if there is nothing to ask.
        single: runs cases one by one.
        memory: is told who went together, and who failed alone.
    """
    memory = memory or PackMemory()
    found: dict[tuple[int, int], Outcome] = {}
    waiting: list[list[tuple[tuple[int, int], Case, str]]] = []
    requests: dict[tuple[int, int], Request] = {}
    for number, (cases, target) in enumerate(packs):
        together = []
        for place, case in enumerate(cases):
            prepared = prepare(case, target)
            if isinstance(prepared, Outcome):
                found[number, place] = prepared
            else:
                requests[number, place] = prepared
                together.append(((number, place), case, target))
        if together:
            waiting.append(together)
    while waiting:
        packed = [len(group) > 1 and _able(pool, group[0][2]) for group in waiting]
        groups = [group for group, together in zip(waiting, packed, strict=True) if together]
        alone = [item for group, together in zip(waiting, packed, strict=True) if not together for item in group]
        if alone:
            outcomes = single([(case, target) for _, case, target in alone])
            found.update(zip((key for key, _, _ in alone), outcomes, strict=True))
            _remember(memory, alone, outcomes)
        waiting = []
        for index, reply in pool.ask([_together([requests[key] for key, _, _ in group]) for group in groups]):
            group = groups[index]
            if reply.end is End.ANSWERED and reply.header["status"] == "completed":
                parts = _replies_of_pack(reply, len(group))
                for (key, _, target), part in zip(group, parts, strict=True):
                    found[key] = outcome_of(target, part)
                memory.went_together([case for _, case, _ in group], group[0][2])
            else:
                half = (len(group) + 1) // 2
                waiting += [group[:half], group[half:]]
    return [[found[number, place] for place in range(len(cases))] for number, (cases, _) in enumerate(packs)]


def _remember(memory: PackMemory, alone: Sequence[tuple[object, Case, str]], outcomes: Sequence[Outcome]) -> None:
    """Who is not answered alone either would spoil every pack."""
    for (_, case, target), outcome in zip(alone, outcomes, strict=True):
        if not outcome.completed and is_compiled_call(case):
            memory.has_failed(case, target)


def _able(pool: Pool, target: str) -> bool:
    """Whether the target takes packs; one that has not been started may."""
    return "pack" in pool.abilities.get(target, ("pack",))


def _together(requests: Sequence[Request]) -> Request:
    arrays: dict[str, Array] = {
        f"{place}/{name}": array for place, request in enumerate(requests) for name, array in request.arrays.items()
    }
    cases = [request.header["case"] for request in requests]
    seconds = (requests[0].cpu_seconds or 0.0) * max(1.0, len(requests) / _SHARING)
    parts: dict[str, tuple[str, ...]] = {part: () for request in requests for part in request.parts}
    return Request(requests[0].target, {"do": "pack", "cases": cases}, arrays, seconds or None, parts)


def _replies_of_pack(reply: Reply, count: int) -> list[Reply]:
    """The reply to each case; time is shared equally, for nobody can tell."""
    arrays: list[dict[str, Array]] = [{} for _ in range(count)]
    for name, array in reply.arrays.items():
        place, _, rest = name.partition("/")
        arrays[int(place)][rest] = array
    header: dict[str, Any] = {
        **reply.header,
        "seconds": reply.header["seconds"] / count,
        "cpu_seconds": reply.header["cpu_seconds"] / count,
    }
    told = header.pop("replies", None) or [None] * count
    headers = [header if said is None else {**header, "reply": said} for said in told]
    seconds, cpu = reply.seconds / count, reply.cpu_seconds / count
    parts = zip(headers, arrays, strict=True)
    return [Reply(reply.end, own, named, seconds=seconds, cpu_seconds=cpu) for own, named in parts]


def packs_of(
    pairs: Sequence[tuple[Case, str]], compiles: Callable[[str], bool], memory: PackMemory | None = None
) -> list[list[int]]:
    """Which of these go to a compiler together, by their positions.

    Calls of operators, of one dtype, on one target that compiles; and calls that are compiled in one way, pulled back
    as often, on as many inputs. Each has its inputs for itself.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, (case, target) in enumerate(pairs):
        if is_compiled_call(case):
            if memory is None or not memory.fails_alone(case, target):
                procedure = case.procedure
                key = (target, procedure.variant, procedure.derivative, procedure.rows, procedure.dtype)
                alike.setdefault(key, []).append(place)
        elif case_operator(case) is not None and compiles(target):
            alike.setdefault((target, computed_in(case)), []).append(place)
    groups = [places[start : start + PACK] for places in alike.values() for start in range(0, len(places), PACK)]
    return [group for group in groups if len(group) > 1]


class Packed:
    """Cases under way of which some travel in packs; those are sent when they are asked for."""

    def __init__(
        self,
        pairs: Sequence[tuple[Case, str]],
        groups: Sequence[Sequence[int]],
        begin: Callable[[Sequence[tuple[Case, str]]], BegunCases],
        run: Callable[[Sequence[Pack]], list[list[Outcome]]],
        single: Single | None = None,
        memory: PackMemory | None = None,
    ) -> None:
        together = {place for group in groups for place in group}
        self._pairs, self._groups, self._run = pairs, groups, run
        self._alone, self._memory = single, memory
        self._single = [place for place in range(len(pairs)) if place not in together]
        self._begun = begin([pairs[place] for place in self._single])

    def outcomes(self, tell: Callable[[Outcome], None] = nobody) -> list[Outcome]:
        """Wait for all of them, in the order of the cases."""
        packs = [([self._pairs[place][0] for place in group], self._pairs[group[0]][1]) for group in self._groups]
        try:
            found = self._run(packs)
        except BaseException:
            self.cancel()
            raise
        places = [place for group in self._groups for place in group]
        answers = dict(zip(places, (outcome for own in found for outcome in own), strict=True))
        self._compare(answers)
        for outcome in answers.values():
            tell(outcome)
        answers.update(zip(self._single, self._begun.outcomes(tell), strict=True))
        return [answers[place] for place in range(len(self._pairs))]

    def _compare(self, answers: dict[int, Outcome]) -> None:
        """Some of what went in packs is run by itself as well."""
        sampled = [place for place in answers if is_sampled(self._pairs[place][0])]
        if self._alone is None or self._memory is None or not sampled:
            return
        alone = self._alone([self._pairs[place] for place in sampled])
        for place, outcome in zip(sampled, alone, strict=True):
            self._memory.compare(self._pairs[place][0], answers[place], outcome)

    def cancel(self) -> None:
        """Nobody will ask for the outcomes."""
        self._begun.cancel()
