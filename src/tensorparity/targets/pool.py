"""The pool: persistent, disposable workers, driven by one loop in a thread of its own.

The loop begins the next request while its callers judge what the last ones gave. A request that kills, hangs or bloats
its worker costs that worker only; a fresh one takes over and the request itself is answered with how it ended. No
request is retried behind the caller's back; only a start that was too slow or too large, which may be the machine's
fault, is tried a second time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType

import psutil

from ..core.errors import OutOfTimeError, WorkerStartError
from ..core.time_limit import TimeLimit
from ..worker import protocol
from .batches import Inbox, Queues, RequestBatch, WorkerJob
from .hanging import HangMemory
from .limits import WorkerLimits
from .requests import End, Reply, Request, WorkerPlan
from .slots import Slot, State, death_at_start, not_an_answer, start_failure

_LOOK_EVERY = 0.1  # seconds between looks at memory and CPU time
_MOST_FAILED_STARTS = 3  # in a row, of a target that has started before
_PATIENCE = 30.0  # seconds until a cancelled batch is left to itself


class Pool:
    """Workers for a set of targets; any thread may ask.

    A target begins with its share of the workers. When its requests have waited, with a core to spare, for as long as
    starting a worker took, it gets another one: whatever comes, that is at most twice the best that could be done.

    Args:
        plans: by target name.
        workers: how many may be at work at once, over all targets.
        grow: whether a target may have more than one worker, and more than its share.
        sparing: a target begins with one worker, for there may be little to do.
        hanging: what is known to hang; None asks for everything.
        time_limit: when whatever is under way is ended.
    """

    def __init__(
        self,
        plans: Mapping[str, WorkerPlan],
        limits: WorkerLimits,
        workers: int | None = None,
        *,
        grow: bool = True,
        sparing: bool = False,
        hanging: HangMemory | None = None,
        time_limit: TimeLimit | None = None,
    ) -> None:
        self._grow = grow
        self._sparing = sparing
        self._plans = dict(plans)
        self._limits = limits
        self._cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._workers = workers or max(2, self._cores)
        self._slots: list[Slot] = []
        self._broken: dict[str, WorkerStartError] = {}
        self._started_again: set[str] = set()
        self._start_seconds: dict[str, float] = {}
        self._waited: dict[str, float] = {}
        self._failed_starts: Counter[str] = Counter()
        self._held = 0
        self._queues = Queues()
        self._numbers = itertools.count()
        self._hanging = hanging or HangMemory()
        self._remembers = hanging is not None
        self._time_limit = time_limit or TimeLimit()
        self._inbox = Inbox()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
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
        self._inbox.close()
        if self._thread:
            self._thread.join()
        self._inbox.free()
        for slot in self._slots:
            slot.process.kill()  # all at once, then wait for each
        for slot in self._slots:
            slot.process.close()
        self._slots.clear()

    # For callers

    def ask(self, requests: Iterable[Request]) -> Iterator[tuple[int, Reply]]:
        """Run the requests; yield (position, reply) as they end.

        Requests of one target start in order; those of several targets overlap.
        """
        batch = self.post(requests)
        try:
            yield from batch
        except BaseException:  # the caller has gone away (Ctrl-C, a closed generator)
            self.cancel(batch)
            raise

    def post(self, requests: Iterable[Request], *, background: bool = False) -> RequestBatch:
        """Hand requests in and return at once.

        Args:
            background: for what nobody waits for yet; other requests go first.
        """
        wanted = list(requests)
        batch = RequestBatch(len(wanted), background=background)
        jobs = [
            WorkerJob(background, next(self._numbers), position, request, batch)
            for position, request in enumerate(wanted)
        ]
        self._inbox.hand_in(batch, jobs)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="tensorparity-pool", daemon=True)
                self._thread.start()
        return batch

    @contextlib.contextmanager
    def holding_back(self) -> Iterator[None]:
        """Begin nothing in the background for the time being: somebody wants the machine for himself."""
        with self._lock:
            self._held += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1
            self._inbox.ring()

    def cancel(self, batch: RequestBatch) -> None:
        """Nobody waits for it any more: workers that are busy with it end."""
        if self._thread and self._thread.is_alive():
            self._inbox.cancel(batch)
            batch.gone.wait(_PATIENCE)

    # The loop

    def _serve(self) -> None:
        try:
            while self._take_in():
                if self._time_limit.is_over:
                    self._end_all()
                self._assign()
                self._turn()
            self._inbox.fail(RuntimeError("the pool was closed"))
        except BaseException as error:
            self._inbox.fail(error)

    def _take_in(self) -> bool:
        """What callers have handed in or cancelled since the last time; False when the pool is being closed."""
        jobs, cancelled = self._inbox.take()
        for job in jobs:
            self._queues.add(job)
        for batch in cancelled:
            self._queues.forget(batch)
            for slot in [slot for slot in self._slots if slot.job and slot.job.batch is batch]:
                self._drop(slot)  # it would answer nobody
            batch.gone.set()
        return not self._inbox.closed

    def _end_all(self) -> None:
        """The time is used up: whoever waits is told so, and busy workers end."""
        for slot in self._active:
            self._drop(slot)
        self._queues.clear()
        self._inbox.end_batches(OutOfTimeError())

    @property
    def _active(self) -> list[Slot]:
        return [slot for slot in self._slots if slot.state is not State.IDLE]

    def _assign(self) -> None:
        while any(self._place(job) for job in self._next_jobs()):
            pass

    def _next_jobs(self) -> list[WorkerJob]:
        """The next job of each target."""
        return [job for job in self._queues.firsts() if not (job.background and self._held)]

    def _place(self, job: WorkerJob) -> bool:
        """Give the job to a worker, or answer it at once; False where there is no room."""
        target = job.request.target
        if target in self._broken:
            self._queues.take(job)
            job.batch.answer(job.position, Reply(End.NOT_STARTED, error=self._broken[target]))
            return True
        known = self._known_hang(job.request)
        if known is not None:
            self._queues.take(job)
            job.batch.answer(job.position, known)
            return True
        if len(self._active) >= self._workers:
            return False
        mine = [slot for slot in self._slots if slot.plan.target == target]
        slot = next((slot for slot in mine if slot.state is State.IDLE and self._healthy(slot)), None)
        if slot is not None:
            self._queues.take(job)
            self._begin(slot, job)
            return True
        if not self._may_launch(target):
            return False
        self._queues.take(job)
        self._launch(target).job = job
        return True

    def _known_hang(self, request: Request) -> Reply | None:
        """The answer to what would only hang once more."""
        known = self._hanging.known(request.target, request.parts) if self._remembers else None
        if known is None:
            return None
        part, detail = known
        return Reply(End.DEADLINE, detail=detail, node=next(iter(request.parts[part]), None))

    def _may_launch(self, target: str) -> bool:
        mine = sum(slot.plan.target == target for slot in self._slots)
        share = -(-self._workers // max(1, len(self._plans))) if self._grow and not self._sparing else 1
        if mine < max(1, share):
            return True
        if not self._grow or mine >= self._cores:
            return False
        if self._waited.get(target, 0.0) < self._start_seconds.get(target, float("inf")):
            return False
        return psutil.virtual_memory().available > 4 * self.peak_memory.get(target, 0)

    def _healthy(self, slot: Slot) -> bool:
        slot.process.pump_status()
        if slot.process.alive and slot.process.silent():
            return True
        self._drop(slot)  # died or spoke while idle: nobody's request is lost, and the next is not blamed
        return False

    def _launch(self, target: str) -> Slot:
        plan = self._plans[target]
        slot = Slot(plan)
        slot.state = State.STARTING
        limits = self._limits
        slot.ask(plan.start, {}, limits.start_cpu_seconds, limits, limits.start_idle_seconds)
        self._slots.append(slot)
        self._waited[target] = 0.0
        return slot

    def _begin(self, slot: Slot, job: WorkerJob) -> None:
        slot.state = State.BUSY
        slot.job = job
        slot.peak = 0
        request = job.request
        cpu = request.cpu_seconds or self._limits.cpu_seconds
        idle = self._limits.idle(cpu) * self._hanging.patience(request.target, request.parts)
        try:
            slot.ask(request.header, request.arrays, cpu, self._limits, idle)
        except protocol.ProtocolError as error:
            slot.job, slot.state = None, State.IDLE
            job.batch.answer(job.position, Reply(End.NOT_SENT, header={"record": slot.record}, detail=str(error)))

    def _turn(self) -> None:
        """Wait for something to happen, then look at every worker that has work."""
        active = self._active
        idle = len(active) < min(self._cores, self._workers)
        starved = {job.request.target for job in self._next_jobs()} if idle else set()
        began = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._inbox.bell, selectors.EVENT_READ)
            for slot in active:
                for fd in slot.process.descriptors():
                    selector.register(fd, selectors.EVENT_READ)
                if slot.process.wants_to_write:
                    selector.register(slot.process.request_fd, selectors.EVENT_WRITE)
            selector.select(_LOOK_EVERY if active else None)
        passed = time.monotonic() - began
        for target in starved:
            self._waited[target] = self._waited.get(target, 0.0) + passed
        for slot in active:
            self._look(slot)

    def _look(self, slot: Slot) -> None:
        process = slot.process
        process.pump_stderr()
        process.pump_out()
        process.pump_status()  # before the answers: what a dead worker has said is all there will be
        try:
            frames = process.pump_in()
        except protocol.ProtocolError as error:
            self._on_loss(slot, End.GARBAGE, str(error))
            return
        if frames:
            wrong = not_an_answer(frames, slot.request_id)
            if wrong:
                self._on_loss(slot, End.GARBAGE, wrong)
            else:
                self._on_answer(slot, frames[0])
        elif not process.alive:
            self._on_loss(slot, End.DIED, "")
        else:
            self._limit(slot)

    def _limit(self, slot: Slot) -> None:
        now = time.monotonic()
        if now - slot.looked < _LOOK_EVERY / 2:
            return  # woken by the pipes, which a large frame does thousands of times
        memory = slot.look(now)
        if memory > self._limits.memory:
            limit = self._limits.memory / 2**30
            detail = f"resident memory {memory / 2**30:.1f} GiB passed the limit of {limit:.1f} GiB"
            self._on_loss(slot, End.MEMORY, detail)
        elif slot.cpu_now > slot.deadline_cpu:
            spent = slot.deadline_cpu - slot.cpu_before
            self._on_loss(slot, End.DEADLINE, f"no answer within {spent:g} s of CPU time")
        elif slot.idle > slot.idle_limit:
            self._on_loss(slot, End.DEADLINE, f"no answer, and no CPU time used for {slot.idle_limit:g} s")
        elif now > slot.deadline_wall:
            spent = slot.deadline_wall - slot.began
            self._on_loss(slot, End.DEADLINE, f"no answer within {spent:g} s (wall limit)")

    def _on_answer(self, slot: Slot, frame: protocol.Frame) -> None:
        cpu, memory = slot.process.cost()
        target = slot.plan.target
        self.peak_memory[target] = max(self.peak_memory.get(target, 0), memory, slot.peak)
        job = slot.job
        assert job is not None
        if slot.state is State.STARTING:
            self._on_start(slot, frame, job)
            return
        slot.job, slot.state = None, State.IDLE
        if frame.header["status"] == "completed":
            self._hanging.has_answered(target, job.request.parts)
        self.cpu_seconds[target] = self.cpu_seconds.get(target, 0.0) + cpu - slot.cpu_before
        reply = Reply(
            End.ANSWERED,
            header=frame.header,
            arrays=frame.arrays,
            seconds=time.monotonic() - slot.began,
            cpu_seconds=frame.header.get("cpu_seconds", 0.0),
            peak_memory=max(slot.peak, memory),
        )
        job.batch.answer(job.position, reply)
        if memory > self._limits.memory // 2:
            self._drop(slot)  # compilers' caches grow; a fresh worker is cheaper than the limit

    def _on_start(self, slot: Slot, frame: protocol.Frame, job: WorkerJob) -> None:
        if frame.header["status"] != "completed":
            self._failed_to_start(slot, start_failure(slot, frame))
            return
        target = slot.plan.target
        slot.record = frame.header["record"]
        self.abilities[target] = frozenset(frame.header.get("abilities", ()))
        self._start_seconds[target] = time.monotonic() - slot.began
        self._started_again.discard(target)
        del self._failed_starts[target]
        self._begin(slot, job)

    def _on_loss(self, slot: Slot, end: End, detail: str) -> None:
        seconds = time.monotonic() - slot.began
        node = slot.process.running_node if end is End.DEADLINE else None
        self._drop(slot)
        reply = Reply(
            end,
            node=node,
            header={"record": slot.record},
            ending=slot.process.ending,
            detail="\n".join(filter(None, (detail, slot.process.stderr_tail))),
            seconds=seconds,
            cpu_seconds=max(0.0, slot.cpu_now - slot.cpu_before),
            peak_memory=slot.peak,
        )
        if slot.state is State.STARTING:
            if end in (End.DEADLINE, End.MEMORY) and slot.plan.target not in self._started_again:
                self._started_again.add(slot.plan.target)
                self._launch(slot.plan.target).job = slot.job
                return
            self._failed_to_start(slot, death_at_start(slot, reply))
        elif slot.job is not None:
            if end is End.DEADLINE:
                self._hanging.has_hung(slot.plan.target, slot.job.request.parts, detail, node)
            slot.job.batch.answer(slot.job.position, reply)

    def _failed_to_start(self, slot: Slot, error: WorkerStartError) -> None:
        """A target that never started does not start; one that did may have had bad luck, a few times."""
        self._drop(slot)
        target = slot.plan.target
        self._failed_starts[target] += 1
        if target not in self._start_seconds or self._failed_starts[target] >= _MOST_FAILED_STARTS:
            self._broken[target] = error
        if slot.job is not None:
            slot.job.batch.answer(slot.job.position, Reply(End.NOT_STARTED, error=error))

    def _drop(self, slot: Slot) -> None:
        slot.process.close()
        if slot in self._slots:
            self._slots.remove(slot)
