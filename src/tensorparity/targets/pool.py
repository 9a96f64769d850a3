"""The pool: persistent, disposable workers, driven by one loop in the caller's thread.

A request that kills, hangs or bloats its worker costs that worker only; a fresh one takes over and
the request itself is answered with how it ended. No request is retried behind the caller's back; only a
start that was too slow or too large, which may be the machine's fault, is tried a second time.
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any

from ..core.arrays import Arrays
from ..core.errors import WorkerStartError
from ..worker import protocol
from .limits import Limits
from .process import Ending, Launch, WorkerProcess

_ASK_DOCTOR = "'tensorparity doctor' shows the whole message"
_LOOK_EVERY = 0.1  # seconds between looks at memory and CPU time
_LONGEST_LOOK = 1.0  # what one look may add to the time of doing nothing: the caller may have been away
_IDLE_SHARE = 0.005  # of a core; background threads use less, a worker starved by 100 others gets more


class End(Enum):
    """How a request ended."""

    ANSWERED = "answered"
    DIED = "the worker died"
    DEADLINE = "past its deadline"
    MEMORY = "past its memory limit"
    GARBAGE = "the answer was not a frame"
    NOT_STARTED = "the worker could not be started"
    NOT_SENT = "the request does not travel"


@dataclass(frozen=True, slots=True)
class Plan:
    """How to bring up a worker for a target: the process, and the first request it gets."""

    target: str
    launch: Launch
    start: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask of one target."""

    target: str
    header: Mapping[str, Any]
    arrays: Arrays = field(default_factory=dict)
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer, or what happened instead of one."""

    end: End
    header: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    ending: Ending | None = None
    detail: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    error: WorkerStartError | None = None
    peak_memory: int = 0


class _State(Enum):
    STARTING = 1
    IDLE = 2
    BUSY = 3


class _Slot:
    """A worker and what it is doing."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.process = WorkerProcess(plan.launch)
        self.state = _State.IDLE
        self.job: tuple[int, Request] | None = None
        self.deadline_cpu = 0.0
        self.deadline_wall = 0.0
        self.idle_limit = 0.0
        self.idle = 0.0
        self.idle_cpu = 0.0
        self.began = 0.0
        self.cpu_before = 0.0
        self.cpu_now = 0.0
        self.looked = 0.0
        self.peak = 0
        self.request_id = 0
        self.record: Mapping[str, Any] = {}

    def ask(self, header: Mapping[str, Any], arrays: Arrays, cpu_seconds: float, limits: Limits) -> None:
        """Send a request and set its limits.

        Raises:
            protocol.ProtocolError: if it does not travel; nothing of it has been sent then.
        """
        self.request_id += 1
        self.began = self.looked = time.monotonic()
        self.cpu_before = self.process.cost()[0]
        self.cpu_now = self.cpu_before
        self.deadline_cpu = self.cpu_before + cpu_seconds
        self.deadline_wall = self.began + limits.wall(cpu_seconds)
        self.idle_limit = limits.idle(cpu_seconds)
        self.idle, self.idle_cpu = 0.0, self.cpu_before
        self.process.forget_stderr()
        self.process.send(self.request_id, header, arrays)

    def look(self, now: float) -> int:
        """Take stock of CPU time, of time without any, and of memory; return the memory."""
        passed, self.looked = min(now - self.looked, _LONGEST_LOOK), now
        self.cpu_now, memory = self.process.cost()
        self.peak = max(self.peak, memory)
        self.idle += passed
        if abs(self.cpu_now - self.idle_cpu) > self.idle_limit * _IDLE_SHARE:
            self.idle, self.idle_cpu = 0.0, self.cpu_now
        return memory


class Pool:
    """Workers for a set of targets.

    Args:
        plans: by target name.
        workers: how many may be at work at once, over all targets.
    """

    def __init__(self, plans: Mapping[str, Plan], limits: Limits, workers: int | None = None) -> None:
        self._plans = dict(plans)
        self._limits = limits
        self._workers = workers or max(2, os.cpu_count() or 1)
        self._slots: list[_Slot] = []
        self._broken: dict[str, WorkerStartError] = {}
        self._started_again: set[str] = set()
        self.peak_memory: dict[str, int] = {}
        self.cpu_seconds: dict[str, float] = {}
        #: What each adapter that has been started says it can be asked for.
        self.abilities: dict[str, frozenset[str]] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End every worker; none outlives this call."""
        for slot in self._slots:
            slot.process.kill()  # all at once, then wait for each
        for slot in self._slots:
            slot.process.close()
        self._slots.clear()

    def ask(self, requests: Iterable[Request]) -> Iterator[tuple[int, Reply]]:
        """Run the requests; yield (position, reply) as they end.

        Requests of one target start in order; those of several targets overlap.
        """
        waiting = deque(enumerate(requests))
        try:
            while waiting or any(slot.state is not _State.IDLE for slot in self._slots):
                yield from self._assign(waiting)
                yield from self._turn()
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """The caller has gone away (Ctrl-C, a closed generator): busy workers would answer nobody."""
        for slot in [slot for slot in self._slots if slot.state is not _State.IDLE]:
            self._drop(slot)

    def _assign(self, waiting: deque[tuple[int, Request]]) -> Iterator[tuple[int, Reply]]:
        held: list[tuple[int, Request]] = []
        full: set[str] = set()
        while waiting:
            position, request = waiting.popleft()
            if request.target in self._broken:
                yield position, Reply(End.NOT_STARTED, error=self._broken[request.target])
                continue
            replies = None if request.target in full else self._place(position, request)
            if replies is None:
                full.add(request.target)
                held.append((position, request))
            else:
                yield from replies
        waiting.extend(held)

    def _place(self, position: int, request: Request) -> list[tuple[int, Reply]] | None:
        """Give the request to a worker; None where there is no room, else what is answered at once."""
        if sum(slot.state is not _State.IDLE for slot in self._slots) >= self._workers:
            return None
        mine = [slot for slot in self._slots if slot.plan.target == request.target]
        slot = next((slot for slot in mine if slot.state is _State.IDLE and self._healthy(slot)), None)
        if slot is not None:
            return list(self._begin(slot, position, request))
        mine = [slot for slot in self._slots if slot.plan.target == request.target]
        if len(mine) >= max(1, -(-self._workers // max(1, len(self._plans)))):
            return None
        self._launch(request.target).job = (position, request)
        return []

    def _healthy(self, slot: _Slot) -> bool:
        slot.process.pump_status()
        if slot.process.alive and slot.process.silent():
            return True
        self._drop(slot)  # died or spoke while idle: nobody's request is lost, and the next is not blamed
        return False

    def _launch(self, target: str) -> _Slot:
        plan = self._plans[target]
        slot = _Slot(plan)
        slot.state = _State.STARTING
        slot.ask(plan.start, {}, self._limits.start_cpu_seconds, self._limits)
        self._slots.append(slot)
        return slot

    def _begin(self, slot: _Slot, position: int, request: Request) -> Iterator[tuple[int, Reply]]:
        slot.state = _State.BUSY
        slot.job = (position, request)
        slot.peak = 0
        cpu = request.cpu_seconds or self._limits.cpu_seconds
        try:
            slot.ask(request.header, request.arrays, cpu, self._limits)
        except protocol.ProtocolError as error:
            slot.job, slot.state = None, _State.IDLE
            yield position, Reply(End.NOT_SENT, header={"record": slot.record}, detail=str(error))

    def _turn(self) -> Iterator[tuple[int, Reply]]:
        """Wait for something to happen, then look at every worker that has work."""
        active = [slot for slot in self._slots if slot.state is not _State.IDLE]
        if not active:
            return
        with selectors.DefaultSelector() as selector:
            for slot in active:
                for fd in slot.process.descriptors():
                    selector.register(fd, selectors.EVENT_READ)
                if slot.process.wants_to_write:
                    selector.register(slot.process.request_fd, selectors.EVENT_WRITE)
            selector.select(_LOOK_EVERY)
        for slot in active:
            yield from self._look(slot)

    def _look(self, slot: _Slot) -> Iterator[tuple[int, Reply]]:
        process = slot.process
        process.pump_stderr()
        process.pump_out()
        process.pump_status()  # before the answers: what a dead worker has said is all there will be
        try:
            frames = process.pump_in()
        except protocol.ProtocolError as error:
            yield from self._lost(slot, End.GARBAGE, str(error))
            return
        if frames:
            wrong = _not_an_answer(frames, slot.request_id)
            yield from self._lost(slot, End.GARBAGE, wrong) if wrong else self._answered(slot, frames[0])
            return
        if not process.alive:
            yield from self._lost(slot, End.DIED, "")
            return
        yield from self._limit(slot)

    def _limit(self, slot: _Slot) -> Iterator[tuple[int, Reply]]:
        now = time.monotonic()
        if now - slot.looked < _LOOK_EVERY / 2:
            return  # woken by the pipes, which a large frame does thousands of times
        memory = slot.look(now)
        if memory > self._limits.memory:
            limit = self._limits.memory / 2**30
            detail = f"resident memory {memory / 2**30:.1f} GiB passed the limit of {limit:.1f} GiB"
            yield from self._lost(slot, End.MEMORY, detail)
        elif slot.cpu_now > slot.deadline_cpu:
            spent = slot.deadline_cpu - slot.cpu_before
            yield from self._lost(slot, End.DEADLINE, f"no answer within {spent:g} s of CPU time")
        elif slot.idle > slot.idle_limit:
            yield from self._lost(slot, End.DEADLINE, f"no answer, and no CPU time used for {slot.idle_limit:g} s")
        elif now > slot.deadline_wall:
            spent = slot.deadline_wall - slot.began
            yield from self._lost(slot, End.DEADLINE, f"no answer within {spent:g} s (wall limit)")

    def _answered(self, slot: _Slot, frame: protocol.Frame) -> Iterator[tuple[int, Reply]]:
        cpu, memory = slot.process.cost()
        target = slot.plan.target
        self.peak_memory[target] = max(self.peak_memory.get(target, 0), memory, slot.peak)
        if slot.state is _State.STARTING:
            if frame.header["status"] != "completed":
                yield from self._failed_to_start(slot, _start_failure(slot, frame))
                return
            slot.record = frame.header["record"]
            self.abilities[target] = frozenset(frame.header.get("abilities", ()))
            assert slot.job is not None
            yield from self._begin(slot, *slot.job)
            return
        assert slot.job is not None
        position, _ = slot.job
        slot.job, slot.state = None, _State.IDLE
        self.cpu_seconds[target] = self.cpu_seconds.get(target, 0.0) + cpu - slot.cpu_before
        yield (
            position,
            Reply(
                End.ANSWERED,
                header=frame.header,
                arrays=frame.arrays,
                seconds=time.monotonic() - slot.began,
                cpu_seconds=frame.header.get("cpu_seconds", 0.0),
                peak_memory=max(slot.peak, memory),
            ),
        )
        if memory > self._limits.memory // 2:
            self._drop(slot)  # compilers' caches grow; a fresh worker is cheaper than the limit

    def _lost(self, slot: _Slot, end: End, detail: str) -> Iterator[tuple[int, Reply]]:
        seconds = time.monotonic() - slot.began
        self._drop(slot)
        reply = Reply(
            end,
            header={"record": slot.record},
            ending=slot.process.ending,
            detail="\n".join(filter(None, (detail, slot.process.stderr_tail))),
            seconds=seconds,
            cpu_seconds=max(0.0, slot.cpu_now - slot.cpu_before),
            peak_memory=slot.peak,
        )
        if slot.state is _State.STARTING:
            if end in (End.DEADLINE, End.MEMORY) and slot.plan.target not in self._started_again:
                self._started_again.add(slot.plan.target)
                self._launch(slot.plan.target).job = slot.job
                return
            yield from self._failed_to_start(slot, _death_at_start(slot, reply))
        elif slot.job is not None:
            yield slot.job[0], reply

    def _failed_to_start(self, slot: _Slot, error: WorkerStartError) -> Iterator[tuple[int, Reply]]:
        self._drop(slot)
        self._broken[slot.plan.target] = error
        if slot.job is not None:
            yield slot.job[0], Reply(End.NOT_STARTED, error=error)

    def _drop(self, slot: _Slot) -> None:
        slot.process.close()
        if slot in self._slots:
            self._slots.remove(slot)


def _not_an_answer(frames: Sequence[protocol.Frame], request_id: int) -> str:
    """Why these frames are not the answer to that request; empty if they are."""
    frame = frames[0]
    if (frame.kind, frame.request_id) != (protocol.RESPONSE, request_id):
        return f"frame {frame.request_id} of kind {frame.kind} arrived, an answer to request {request_id} was expected"
    if len(frames) > 1:
        return f"{len(frames)} frames arrived, one answer to request {request_id} was expected"
    header = frame.header
    if not isinstance(header.get("status"), str) or not isinstance(header.get("record"), dict):
        return "the answer lacks its status or its record"
    if header["status"] != "completed" and not isinstance(header.get("failure"), dict):
        return f"the answer {header['status']!r} lacks its failure"
    return ""


def _start_failure(slot: _Slot, frame: protocol.Frame) -> WorkerStartError:
    failure = frame.header["failure"]
    status = frame.header["status"]
    hint = str(slot.plan.start.get("hint", ""))
    if status in ("library missing", "version mismatch"):
        return WorkerStartError(slot.plan.target, failure["message"], hint)
    reason = f"starting it raised {failure['type']}: {_first_line(failure['message'])}"
    return WorkerStartError(slot.plan.target, reason, _ASK_DOCTOR, failure["detail"])


def _death_at_start(slot: _Slot, reply: Reply) -> WorkerStartError:
    python = slot.plan.launch.python
    if reply.ending is not None and reply.ending.failed is not None:
        return WorkerStartError(
            slot.plan.target,
            f"its interpreter {python!r} cannot be run ({reply.ending.failed})",
            "correct the environment's python in tensorparity.toml",
        )
    how = str(reply.ending) if reply.end is End.DIED else reply.end.value
    last = _last_line(reply.detail)
    reason = f"its worker ended while starting ({how})" + (f": {last}" if last else "")
    if "No module named 'numpy'" in last:
        return WorkerStartError(slot.plan.target, reason, f"{python} -m pip install numpy", reply.detail)
    return WorkerStartError(slot.plan.target, reason, _ASK_DOCTOR, reply.detail)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
