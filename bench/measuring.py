"""What the benchmarks share: CPU seconds of process trees, and tables."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psutil


@dataclass
class Spent:
    """Seconds a piece of work took: on the wall, and of CPU time in this process and in the others."""

    wall: float = 0.0
    here: float = 0.0
    others: float = 0.0

    @property
    def cpu(self) -> float:
        return self.here + self.others


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds of a process, its threads and the children it has waited for."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


@contextlib.contextmanager
def spending(others: Callable[[], float]) -> Iterator[Spent]:
    """Measure the block; ``others`` gives the CPU seconds so far of the processes that work for it."""
    spent = Spent()
    wall, here, there = time.perf_counter(), time.process_time(), others()
    yield spent
    spent.wall = time.perf_counter() - wall
    spent.here = time.process_time() - here
    spent.others = others() - there


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median with the smallest and the largest."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)
