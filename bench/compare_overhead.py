"""What ``compare`` costs beside the bare forwards of the same model on the same data.

Bare: one plain script per backend (``bare_predict.py``): load the .keras file, ``model.predict(x, batch_size=32)``,
in the environment variables our worker gets (one thread); CPU seconds of ``predict`` alone, compilation excluded by
a first call.
Ours: the whole of ``compare()`` as the command calls it, without localization: inspecting the file, reading the data,
digests, transport, prediction, cache writes, distances, the store and the HTML page; CPU seconds of this process, the
workers and their guardians. Its workers have been started and have compiled in a first call, which is listed apart.
Each repetition has new inputs, the same on both sides, so that no outcome comes from the cache; the sides take turns.

Whole commands from nothing (imports, loading and compilation included on both sides) and localization are
measured after that, and so is peak memory (VmHWM).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
import psutil
from measuring import Spent, cpu_of, median, spending, spread, table

from tensorparity.cli.writing import write_report
from tensorparity.commands import compare as comparing
from tensorparity.core.arrays import Array
from tensorparity.targets.names import parse_target
from tensorparity.targets.runner import LocalRunner, PreparedTarget, RunnerSettings

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")
#: Models, and how many inputs make the forwards dominate.
MODELS = {"lenet5": 2000, "resnet20": 1000}
FAULT = "keras:torch=batchnorm-epsilon-outside-sqrt"
_BARE = Path(__file__).with_name("bare_predict.py")
_MB = 1 << 20

_SAVE = """
import sys
from tensorparity.worker.adapters.keras3 import program
from tensorparity.zoo.entries import find_entry
from tensorparity.zoo.weights import calibrated_weights as calibrated
graph = find_entry(sys.argv[1]).build()
program.build(graph.to_json(), calibrated(graph, 0)).model.save(sys.argv[2])
"""


class Bare:
    """The plain script for one target, kept running between repetitions."""

    def __init__(self, target: str, model: Path, errors: int = subprocess.DEVNULL) -> None:
        self.peak = 0
        self._process = subprocess.Popen(
            [sys.executable, str(_BARE), str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=worker_variables(target),
            text=True,
        )
        self.imports = self._hear()["imports"]
        self.load = self._hear()["load"]

    def predict(self, data: Path) -> float:
        """CPU seconds of one ``predict``."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{data}\n")
        self._process.stdin.flush()
        heard = self._hear()
        self.peak = int(heard["peak"])
        return heard["predict"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _hear(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the bare script ended early")
        heard: dict[str, float] = json.loads(line)
        return heard


def worker_variables(target: str) -> dict[str, str]:
    """The environment variables a worker of this target is started with."""
    launch = PreparedTarget(parse_target(target), RunnerSettings()).plan().launch
    return {**launch.variables, "HOME": tempfile.gettempdir()}


class KeptRunner(LocalRunner):
    """A runner whose workers outlive ``compare``, so that the second call finds them warm."""

    def close(self) -> None:
        """Not yet."""

    def end(self) -> None:
        super().close()


class Ours:
    """``compare()`` on workers that are kept."""

    def __init__(self, model: Path, folder: Path) -> None:
        self._model = str(model)
        self._folder = folder
        self._settings = RunnerSettings(cache=folder / "cache")
        self._runner = KeptRunner(
            [PreparedTarget(parse_target(name), self._settings) for name in TARGETS], self._settings
        )

    def compare(self, data: Path) -> Spent:
        settings = comparing.CompareSettings(
            TARGETS, data, localize="never", store=self._folder / "out", runner=self._settings
        )
        with (
            spending(self._cpu) as spent,
            mock.patch.object(comparing, "open_runner", return_value=self._runner),
        ):
            compared = comparing.compare(self._model, settings)
            write_report(compared.facts, self._folder / "out")
        assert all(outcome.completed for outcome in compared.examined.outcomes.values())
        return spent

    def peaks(self) -> dict[str, int]:
        """Peak resident bytes by target."""
        return {
            f"keras:{worker.environ()['KERAS_BACKEND']}": _peak(worker.pid)
            for guardian in _guardians()
            for worker in guardian.children()
        }

    def close(self) -> None:
        self._runner.end()

    def _cpu(self) -> float:
        return sum(cpu_of(process) for guardian in _guardians() for process in [guardian, *guardian.children()])


def _guardians() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "guardian.py" in " ".join(child.cmdline())]


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


@dataclass
class Measured:
    """One model: CPU seconds by target and repetition, and what comes once."""

    bare: dict[str, list[float]] = field(default_factory=lambda: {target: [] for target in TARGETS})
    ours: list[Spent] = field(default_factory=list)
    bare_once: dict[str, float] = field(default_factory=dict)
    ours_once: float = 0.0
    bare_peaks: dict[str, int] = field(default_factory=dict)
    our_peaks: dict[str, int] = field(default_factory=dict)

    @property
    def bare_sums(self) -> list[float]:
        return [sum(values) for values in zip(*self.bare.values(), strict=True)]

    @property
    def ratios(self) -> list[float]:
        return [ours.cpu / bare for ours, bare in zip(self.ours, self.bare_sums, strict=True)]


def save_model(name: str, folder: Path) -> Path:
    """The zoo's model as a .keras file, written by a process of its own."""
    path = folder / f"{name}.keras"
    subprocess.run([sys.executable, "-c", _SAVE, name, str(path)], check=True, capture_output=True, env=_host())
    return path


def _host() -> dict[str, str]:
    return {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


@contextmanager
def data_files(name: str, instances: int, seed: int, folder: Path) -> Iterator[tuple[Path, Path]]:
    """The same inputs as .npy for the plain scripts and as .npz for ``compare``."""
    shape = (28, 28, 1) if name == "lenet5" else (32, 32, 3)
    x: Array = np.random.default_rng(seed).random((instances, *shape), np.float32)
    plain, ours = folder / f"{name}-{seed}.npy", folder / f"{name}-{seed}.npz"
    np.save(plain, x)
    np.savez(ours, x=x)
    try:
        yield plain, ours
    finally:
        plain.unlink()
        ours.unlink()


def measure(name: str, model: Path, instances: int, repetitions: int, folder: Path) -> Measured:
    found = Measured()
    with ExitStack() as stack:
        bare: dict[str, Bare] = {}
        for target in TARGETS:
            bare[target] = Bare(target, model)
            stack.callback(bare[target].close)
        ours = Ours(model, folder / name)
        stack.callback(ours.close)
        for repetition in range(repetitions + 1):
            with data_files(name, instances, repetition, folder) as (plain, ours_data):
                bare_seconds = {target: bare[target].predict(plain) for target in TARGETS}
                spent = ours.compare(ours_data)
            if repetition == 0:
                found.bare_once = {t: b.imports + b.load + bare_seconds[t] for t, b in bare.items()}
                found.ours_once = spent.cpu
                continue
            found.ours.append(spent)
            for target, seconds in bare_seconds.items():
                found.bare[target].append(seconds)
        found.bare_peaks = {target: process.peak for target, process in bare.items()}
        found.our_peaks = ours.peaks()
    return found


@dataclass
class Command:
    """A whole command: wall and CPU seconds with all processes below it, and its phases."""

    wall: float
    cpu: float
    phases: dict[str, float]
    findings: list[dict[str, object]]


def run_command(arguments: Sequence[str]) -> Command:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [str(Path(sys.executable).with_name("tensorparity")), *arguments, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    document = json.loads(done.stdout)
    return Command(time.perf_counter() - began, cpu, document["stats"]["phases"], document["findings"])


def whole_commands(name: str, model: Path, instances: int, folder: Path) -> tuple[float, Command]:
    """CPU seconds of the three plain scripts from start to end, and the command from nothing."""
    with data_files(name, instances, 1000, folder) as (plain, ours):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for target in TARGETS:
            script = Bare(target, model)
            script.predict(plain)
            script.close()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        bare = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return bare, run_command(_arguments(model, folder, "never", data=ours))


def _arguments(model: Path, folder: Path, localize: str, data: Path | None = None, fault: str = "") -> list[str]:
    return [
        *("compare", str(model), "--targets", ",".join(TARGETS), "--localize", localize, "--no-cache"),
        *("--out", str(folder / "command")),
        *(["--data", str(data)] if data else []),
        *(["--fault", fault] if fault else []),
    ]


def localization(model: Path, folder: Path) -> list[list[str]]:
    """Rows: localizing from nothing (everything compiled anew), without and with a planted fault."""
    rows = []
    for title, fault in (("no fault, every layer replayed", ""), ("planted fault, found and confirmed", FAULT)):
        without = run_command(_arguments(model, folder, "never", fault=fault))
        command = run_command(_arguments(model, folder, "always", fault=fault))
        first = command.findings[0] if command.findings else {}
        named = f"{first['node']} on {first['suspects']}" if first else "nothing"
        rows.append([title, f"{command.phases['localize']:.1f}", f"{command.cpu - without.cpu:.1f}", named])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="LeNet-5 only, two repetitions, no localization")
    parser.add_argument("--instances", type=int, help="inputs per repetition, by default LeNet-5 2000, ResNet-20 1000")
    parser.add_argument("--repetitions", type=int, help="measurements; the median is shown  [default: 5]")
    options = parser.parse_args()
    repetitions = options.repetitions or (2 if options.quick else 5)
    names = ["lenet5"] if options.quick else list(MODELS)
    instances = {name: options.instances or MODELS[name] for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        models = {name: save_model(name, folder) for name in names}
        measured = {name: measure(name, models[name], instances[name], repetitions, folder) for name in names}
        print_forwards(measured, instances)
        print_memory(measured)
        if options.quick:
            return
        print_whole({name: whole_commands(name, models[name], instances[name], folder) for name in names})
        print("Localization of ResNet-20, CPU seconds beside the same command with --localize never:\n")
        head = ["what", "wall s", "CPU s", "first finding"]
        print(table(head, localization(models["resnet20"], folder)))


def print_forwards(measured: dict[str, Measured], instances: dict[str, int]) -> None:
    print("CPU seconds, warm:\n")
    rows = [
        [
            f"{name}, {instances[name]} inputs",
            *(f"{median(found.bare[target]):.2f}" for target in TARGETS),
            f"{median(found.bare_sums):.2f}",
            f"{median([spent.others for spent in found.ours]):.2f}",
            f"{median([spent.here for spent in found.ours]):.2f}",
            spread(found.ratios),
        ]
        for name, found in measured.items()
    ]
    head = ["model", *(f"bare {target}" for target in TARGETS), "bare sum", "our workers", "our parent", "ratio"]
    print(table(head, rows), "\n")
    print("Listed apart, CPU seconds of imports, loading, compilation and the first pass:\n")
    rows = [
        [name, f"{sum(found.bare_once.values()):.1f}", f"{found.ours_once:.1f}"] for name, found in measured.items()
    ]
    print(table(["model", "bare sum", "compare"], rows), "\n")


def print_memory(measured: dict[str, Measured]) -> None:
    rows = [
        [name, target, *(f"{peak / _MB:.0f}" for peak in (bare, ours)), f"{(ours - bare) / _MB:+.0f}"]
        for name, found in measured.items()
        for target in TARGETS
        for bare, ours in [(found.bare_peaks[target], found.our_peaks[target])]
    ]
    print(table(["model", "target", "bare peak MB", "worker peak MB", "difference"], rows), "\n")


def print_whole(whole: dict[str, tuple[float, Command]]) -> None:
    print("Whole commands from nothing, imports and compilation included, CPU seconds:\n")
    rows = [
        [name, f"{bare:.1f}", f"{command.cpu:.1f}", f"{command.cpu / bare:.2f}", f"{command.wall:.1f}"]
        for name, (bare, command) in whole.items()
    ]
    print(table(["model", "three plain scripts", "compare", "ratio", "compare wall s"], rows), "\n")


if __name__ == "__main__":
    main()
