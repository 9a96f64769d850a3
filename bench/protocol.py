"""How fast arrays travel to a worker and back, beside a bare pipe that carries the same bytes.

The worker is a real one (guardian, selector loop, checksums) whose adapter gives its inputs back. The bare side is a
child process that reads the bytes from a pipe (as wide as a worker's) into memory and writes them to another. Both
are measured in turn in one run. A round trip carries every byte twice, so throughput counts twice the array.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import psutil
from measuring import Spent, cpu_of, median, spending, table

from tensorparity.core.arrays import Array
from tensorparity.targets.requests import End, Request
from tensorparity.targets.runner import LocalRunner
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

_MB = 1_000_000
_CHUNK = 1 << 20

_BARE = """
import os, sys
while True:
    size = int.from_bytes(os.read(0, 8), "little")
    if not size:
        sys.exit()
    buffer = memoryview(bytearray(size))
    filled = 0
    while filled < size:
        filled += os.readv(0, [buffer[filled : filled + (1 << 20)]])
    sent = 0
    while sent < size:
        sent += os.write(1, buffer[sent : sent + (1 << 20)])
"""


class BarePipe:
    """A child behind two pipes that echoes bytes and does nothing else."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._process = psutil.Process(self._child.pid)
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK)  # as wide as a worker's

    def echo(self, array: Array) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        out, back = self._child.stdin.fileno(), self._child.stdout.fileno()
        data = memoryview(array.reshape(-1).view(np.uint8))
        os.write(out, len(data).to_bytes(8, "little"))
        sent = 0
        while sent < len(data):
            sent += os.write(out, data[sent : sent + _CHUNK])
        buffer = memoryview(bytearray(len(data)))
        filled = 0
        while filled < len(data):
            filled += os.readv(back, [buffer[filled : filled + _CHUNK]])

    def cpu(self) -> float:
        return cpu_of(self._process)

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()


class Worker:
    """The echo adapter in a worker, asked through the pool."""

    def __init__(self) -> None:
        self._runner: LocalRunner = external_runner(MISBEHAVING, ["misbehaving"])
        self.echo(np.zeros(1, np.float32))
        guardian = next(p for p in psutil.Process().children() if "guardian.py" in " ".join(p.cmdline()))
        self._processes = [guardian, *guardian.children()]

    def echo(self, array: Array) -> None:
        case = misbehave("echo", x=array)
        request = Request("misbehaving", {"do": "run", "case": case.header()}, case.arrays())
        ((_, reply),) = self._runner.pool.ask([request])
        assert reply.end is End.ANSWERED, reply.detail
        assert reply.arrays["outputs:x"].shape == array.shape

    def cpu(self) -> float:
        return sum(cpu_of(process) for process in self._processes)

    def close(self) -> None:
        self._runner.close()


@dataclass
class Sample:
    """Seconds per round trip, one entry per repetition."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, spent: Spent, times: int) -> None:
        self.wall.append(spent.wall / times)
        self.cpu.append(spent.cpu / times)


@contextmanager
def both() -> Iterator[dict[str, Worker | BarePipe]]:
    sides: dict[str, Worker | BarePipe] = {"bare": BarePipe(), "worker": Worker()}
    try:
        yield sides
    finally:
        for side in sides.values():
            side.close()


def measure(sides: dict[str, Worker | BarePipe], array: Array, seconds: float, repetitions: int) -> dict[str, Sample]:
    """Round trips of the array, the sides in turn, each for about ``seconds`` per repetition."""
    counts = {name: _how_often(lambda side=side: side.echo(array), seconds) for name, side in sides.items()}
    samples = {name: Sample() for name in sides}
    for _ in range(repetitions):
        for name, side in sides.items():
            with spending(side.cpu) as spent:
                for _ in range(counts[name]):
                    side.echo(array)
            samples[name].add(spent, counts[name])
    return samples


def _how_often(action: Callable[[], None], seconds: float) -> int:
    action()
    began = time.perf_counter()
    action()
    return max(1, int(seconds / (time.perf_counter() - began)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 16 MB, few repetitions")
    parser.add_argument("--repetitions", type=int, help="measurements per size; the median is shown")
    options = parser.parse_args()
    repetitions = options.repetitions or (3 if options.quick else 7)
    seconds = 0.2 if options.quick else 1.0
    sizes = (1, 16) if options.quick else (1, 4, 16, 64, 256)
    rows: list[list[str]] = []
    with both() as sides:
        samples = measure(sides, np.zeros(1, np.float32), seconds, repetitions)
        print(table(["round trips per second", "bare pipe", "worker"], [_tiny(samples)]), "\n")
        for size in sizes:
            array = np.random.default_rng(size).random(size * _MB // 4, np.float32)
            rows.append(_large(size, measure(sides, array, seconds, repetitions)))
    head = ["array", "bare MB/s", "worker MB/s", "wall ratio", "bare CPU s/GB", "worker CPU s/GB", "CPU ratio"]
    print(table(head, rows))


def _tiny(samples: dict[str, Sample]) -> list[str]:
    return ["4 bytes", *(f"{1 / median(samples[name].wall):,.0f}" for name in ("bare", "worker"))]


def _large(size: int, samples: dict[str, Sample]) -> list[str]:
    carried = 2 * size
    bare, worker = samples["bare"], samples["worker"]
    wall, cpu = (median(bare.wall), median(worker.wall)), (median(bare.cpu), median(worker.cpu))
    return [
        f"{size} MB",
        *(f"{carried / seconds:,.0f}" for seconds in wall),
        f"{wall[1] / wall[0]:.2f}",
        *(f"{seconds / carried * 1000:.2f}" for seconds in cpu),
        f"{cpu[1] / cpu[0]:.2f}",
    ]


if __name__ == "__main__":
    main()
