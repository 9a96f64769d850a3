"""Records what the libraries answer: ``python tests/net/record.py FOLDER [SCENARIO ...]``.

Fresh workers are asked for thousands of times here, and starting one costs seconds: they are the same workers as the
others. What a library does by chance is not recorded, but put into recordings later (``drive.doctored``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from drive import drive
from recording import Recorder, save
from scenarios import SCENARIOS, Scenario

from tensorparity.core.case import Case
from tensorparity.core.outcome import Outcome
from tensorparity.targets.limits import Limits
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner


class _Warm:
    """A local runner for which no worker is fresh; deadlines are those of the first time."""

    def __init__(self, runner: LocalRunner) -> None:
        self._runner = runner

    @property
    def targets(self) -> Sequence[str]:
        return self._runner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        return self._runner.run_pairs(pairs, on_outcome=on_outcome)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def record(folder: Path, scenarios: Sequence[Scenario]) -> None:
    """Every scenario that has a recording of its own; those with the same targets and faults share workers."""
    folder.mkdir(parents=True, exist_ok=True)
    own = [scenario for scenario in scenarios if not scenario.like]
    for _, group in groupby(own, lambda scenario: (scenario.everybody, scenario.planted)):
        together = list(group)
        settings = RunnerSettings(limits=Limits(), faults=together[0].faults, workers=len(together[0].everybody))
        with open_runner(together[0].everybody, settings) as runner:
            for scenario in together:
                _record_one(folder, scenario, runner)


def _record_one(folder: Path, scenario: Scenario, runner: LocalRunner) -> None:
    began = time.monotonic()
    recorder = Recorder(_Warm(runner))
    results = drive(scenario, recorder)
    path = folder / f"{scenario.recording}.zip"
    save(path, recorder.kept)
    counts = ", ".join(f"{len(items)} {name}" for name, items in results.items())
    seconds = time.monotonic() - began
    _say(f"{scenario.name}: {counts}; {len(recorder.kept)} outcomes, {path.stat().st_size:,} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    wanted = set(sys.argv[2:])
    record(Path(sys.argv[1]), [scenario for scenario in SCENARIOS if not wanted or scenario.name in wanted])
