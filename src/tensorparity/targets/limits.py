"""Limits a worker runs under, enforced from outside."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import psutil

GIB = 1 << 30


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
        idle_seconds: doing nothing for so long is a hang. A minute, because what waits without
            being stuck (a cold disk, a swapped page, a lock of another process) is done sooner.
    """

    cpu_seconds: float = 120.0
    wall_factor: float = 10.0
    idle_seconds: float = 60.0
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
        """Grows with a long deadline: a hang that is asked again at ten times it gets more patience here too."""
        return max(self.idle_seconds, cpu_seconds / 2)
