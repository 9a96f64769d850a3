"""Limits a worker runs under, enforced from outside."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import psutil

GIB = 1 << 30
#: The least and the most that a deadline changes the patience with a sleeping worker.
_PATIENCE = (0.25, 3.0)


@functools.cache
def _half_of_memory() -> int:
    return int(psutil.virtual_memory().total // 2)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What one request may cost.

    The deadline counts CPU seconds of the worker, so that a loaded machine makes no findings;
    for what sleeps or waits there is a limit on doing nothing, and a wall limit as the last resort.
    Memory is resident memory of the worker and its children, looked at several times a second:
    address-space limits break the libraries.

    Args:
        idle_seconds: sleeping for so long is a hang. What waits for a disk or for its turn on a
            loaded machine does not sleep, and what sleeps without being stuck (a lock of another
            process) is done sooner; a hang is asked again with more patience before it is believed.
        start_idle_seconds: the same while a library is imported.
    """

    cpu_seconds: float = 120.0
    wall_factor: float = 10.0
    idle_seconds: float = 20.0
    start_idle_seconds: float = 60.0
    start_cpu_seconds: float = 120.0
    memory_bytes: int = 0
    file_bytes: int = 4 * GIB
    frame_bytes: int = 8 * GIB

    @property
    def memory(self) -> int:
        return self.memory_bytes or _half_of_memory()

    def wall(self, cpu_seconds: float) -> float:
        return cpu_seconds * self.wall_factor

    def idle(self, cpu_seconds: float) -> float:
        """Grows with a longer deadline, three times at most: ten times as long a sleep says nothing more."""
        shortest, longest = _PATIENCE
        return self.idle_seconds * min(longest, max(shortest, cpu_seconds / self.cpu_seconds))
