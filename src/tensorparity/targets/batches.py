"""Batches: requests handed to the pool's thread, and replies handed back."""

from __future__ import annotations

import contextlib
import heapq
import os
import queue
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .requests import Reply, Request


class RequestBatch:
    """Requests on their way; iterating gives (position, reply) as they end, once.

    Args:
        background: every other batch goes first.
    """

    def __init__(self, count: int, *, background: bool = False) -> None:
        self.background = background
        #: Set when a cancelled batch keeps no worker busy any more.
        self.gone = threading.Event()
        self._left = count
        self._replies: queue.SimpleQueue[tuple[int, Reply] | BaseException] = queue.SimpleQueue()

    def answer(self, position: int, reply: Reply) -> None:
        self._replies.put((position, reply))

    def fail(self, error: BaseException) -> None:
        """The pool itself broke: whoever waits learns why."""
        self._replies.put(error)

    @property
    def ready(self) -> int:
        """Replies that have arrived and were not taken."""
        return self._replies.qsize()

    def __iter__(self) -> Iterator[tuple[int, Reply]]:
        while self._left:
            item = self._replies.get()
            if isinstance(item, BaseException):
                raise item
            self._left -= 1
            yield item


@dataclass(frozen=True, slots=True, order=True)
class WorkerJob:
    """A request of a batch; the order is that in which jobs are begun."""

    background: bool
    number: int
    position: int = field(compare=False)
    request: Request = field(compare=False)
    batch: RequestBatch = field(compare=False)


class Queues:
    """Jobs that wait, by target."""

    def __init__(self) -> None:
        self._heaps: dict[str, list[WorkerJob]] = {}

    def add(self, job: WorkerJob) -> None:
        heapq.heappush(self._heaps.setdefault(job.request.target, []), job)

    def firsts(self) -> list[WorkerJob]:
        """The next job of each target, in the order in which they should begin."""
        return sorted(heap[0] for heap in self._heaps.values() if heap)

    def take(self, job: WorkerJob) -> None:
        """Remove the first job of its target."""
        first = heapq.heappop(self._heaps[job.request.target])
        assert first is job, "only the first of a target is taken"

    def clear(self) -> None:
        self._heaps.clear()

    def forget(self, batch: RequestBatch) -> None:
        for target, heap in self._heaps.items():
            kept = [job for job in heap if job.batch is not batch]
            heapq.heapify(kept)
            self._heaps[target] = kept


class Inbox:
    """Where callers and the pool's loop meet; the bell, a descriptor, is readable when something lies here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[WorkerJob] = []
        self._cancelled: list[RequestBatch] = []
        self._batches: weakref.WeakSet[RequestBatch] = weakref.WeakSet()
        self._error: BaseException | None = None
        self.closed = False
        self.bell, self._ring = os.pipe()
        os.set_blocking(self.bell, False)
        os.set_blocking(self._ring, False)

    def hand_in(self, batch: RequestBatch, jobs: Iterable[WorkerJob]) -> None:
        with self._lock:
            if self._error is not None:
                batch.fail(self._error)
                return
            self._batches.add(batch)
            self._jobs += jobs
            self._wake()

    def cancel(self, batch: RequestBatch) -> None:
        with self._lock:
            self._cancelled.append(batch)
            self._wake()

    def take(self) -> tuple[list[WorkerJob], list[RequestBatch]]:
        """What was handed in and what was cancelled since the last time."""
        with self._lock, contextlib.suppress(BlockingIOError):
            os.read(self.bell, 4096)
        with self._lock:
            jobs, self._jobs = self._jobs, []
            cancelled, self._cancelled = self._cancelled, []
        return jobs, cancelled

    def fail(self, error: BaseException) -> None:
        """The loop is over; whoever waits or comes later learns why."""
        with self._lock:
            self._error = self._error or error
            for batch in self._batches:
                batch.fail(error)
                batch.gone.set()

    def end_batches(self, error: BaseException) -> None:
        """Whoever waits learns why nothing comes; the loop goes on for those who come later."""
        with self._lock:
            self._jobs.clear()
            for batch in list(self._batches):
                batch.fail(error)
                batch.gone.set()
            self._batches.clear()

    def close(self) -> None:
        """Tell the loop to end."""
        with self._lock:
            if not self.closed:
                self.closed = True
                self._wake()

    def free(self) -> None:
        """Once the loop has ended: give the descriptors back."""
        with self._lock:
            for fd in {self.bell, self._ring} - {-1}:
                os.close(fd)
            self.bell = self._ring = -1

    def ring(self) -> None:
        """Wake the loop: something that it looks at has changed."""
        with self._lock:
            self._wake()

    def _wake(self) -> None:
        if self._ring < 0:
            return
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes as well as one more byte
            os.write(self._ring, b"!")
