"""Runners of the misbehaving target, and the means to see whether anything of it is left."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import psutil
import pytest

from tensorparity.targets.limits import WorkerLimits
from tensorparity.targets.runner import LocalRunner, RunnerSettings
from tensorparity.testing.external import MISBEHAVING, external_runner

pytest.register_assert_rewrite("tensorparity.testing.adapter_conformance")

MIB = 1 << 20

#: Small enough to be hit within seconds; the wall limit is far behind the CPU limit, for loaded machines.
LIMITS = WorkerLimits(
    cpu_seconds=1.0, wall_factor=10.0, start_cpu_seconds=20.0, memory_bytes=512 * MIB, file_bytes=16 * MIB
)


def _marked(marker: str) -> list[psutil.Process]:
    """Processes with the marker in their environment or, as guardians have it, on their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            text = " ".join([*process.environ().values(), *process.cmdline()])
            if marker in text and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def marker() -> str:
    """Goes into a worker's environment as the variable MARKER, and so into everything it starts."""
    return uuid.uuid4().hex


@pytest.fixture
def alive(marker: str) -> Callable[[], list[psutil.Process]]:
    """Every living process that descends from the marked worker, its guardian included."""
    return lambda: _marked(marker)


@pytest.fixture
def gone(alive: Callable[[], list[psutil.Process]]) -> Callable[[float], list[psutil.Process]]:
    """What is still alive after at most so many seconds of waiting."""

    def wait(seconds: float) -> list[psutil.Process]:
        deadline = time.monotonic() + seconds
        while (left := alive()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    return wait


@pytest.fixture(scope="module")
def pair() -> Iterator[LocalRunner]:
    """Two targets, one worker each: ``misbehaving:victim`` and ``misbehaving:bystander``."""
    names = ["misbehaving:victim", "misbehaving:bystander"]
    with external_runner(MISBEHAVING, names, RunnerSettings(limits=LIMITS, workers=2)) as runner:
        yield runner


@pytest.fixture
def marked_runner(marker: str) -> Iterator[LocalRunner]:
    """One target with the marker, one worker."""
    name = f"misbehaving{{MARKER={marker}}}"
    with external_runner(MISBEHAVING, [name], RunnerSettings(limits=LIMITS, workers=1)) as runner:
        yield runner
