"""Records what the libraries answer: ``python tests/net/record.py FOLDER [SCENARIO ...]``.

With ``--missing`` in front, recordings in the folder are kept, and only what they do not answer is recorded and added:
for code that asks more than the code of the first recording. Cases of model files are left out, whose files are gone.

Fresh workers are asked for thousands of times here, and starting one costs seconds: they are the same workers as the
others. What a library does by chance is not recorded, but put into recordings later (``drive.doctored``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import kept_cases
import model_files
from drive import doctored, drive, open_file, singles_of
from recording import Key, Recorder, Replaying, load, save
from scenarios import SCENARIOS, Scenario

from tensorparity.core.case import Case, ModelFile
from tensorparity.core.outcome import Outcome
from tensorparity.core.runner import Runner
from tensorparity.targets.limits import WorkerLimits
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
        found = [(_where_it_is(case), target) for case, target in pairs]
        return self._runner.run_pairs(found, on_outcome=on_outcome)


#: Where the files are, by their digests: what is written down of a model has no folders in it.
_PATHS: dict[str, str] = {}


def _where_it_is(case: Case) -> Case:
    file = case.subject
    if isinstance(file, ModelFile) and file.sha256 in _PATHS:
        return replace(case, subject=replace(file, path=_PATHS[file.sha256]))
    return case


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def record(folder: Path, scenarios: Sequence[Scenario]) -> None:
    """Every scenario that has a recording of its own; those with the same targets and faults share workers."""
    folder.mkdir(parents=True, exist_ok=True)
    own = [scenario for scenario in scenarios if not scenario.like]
    for _, group in groupby(own, lambda scenario: (scenario.everybody, scenario.planted)):
        together = list(group)
        settings = RunnerSettings(limits=WorkerLimits(), faults=together[0].faults, workers=len(together[0].everybody))
        with open_runner(together[0].everybody, settings) as runner:
            for scenario in together:
                if scenario.file:
                    _open(scenario, runner, folder)
                _record_one(folder, scenario, runner)


class _Amending(Replaying):
    """Answers from recordings, and asks another runner what they do not know."""

    def __init__(self, runner: Runner, recordings: Mapping[Key, Outcome]) -> None:
        super().__init__(runner.targets, recordings)
        self._runner = runner
        self.added: dict[Key, Outcome] = {}

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        new = [pair for pair in pairs if not self.knows(*pair) and not isinstance(pair[0].subject, ModelFile)]
        recorder = Recorder(self._runner)
        recorder.run_pairs(new)
        self.add(recorder.kept)
        self.added |= recorder.kept
        return super().run_pairs(pairs, fresh=fresh, on_outcome=on_outcome)


def amend(folder: Path, scenarios: Sequence[Scenario]) -> None:
    """Add what recordings do not answer, each scenario by workers of its own."""
    for scenario in scenarios:
        path = folder / f"{scenario.recording}.zip"
        kept = load(path)
        own = next(other for other in SCENARIOS if other.name == scenario.recording)
        settings = RunnerSettings(limits=WorkerLimits(), faults=own.faults, workers=len(scenario.everybody))
        with open_runner(scenario.everybody, settings) as runner:
            amending = _Amending(_Warm(runner), doctored(scenario.doctored, kept))
            drive(scenario, amending)
        save(path, {**kept, **amending.added})
        _say(f"{scenario.name}: {len(amending.added)} outcomes added, {path.stat().st_size:,} bytes")


def _open(scenario: Scenario, runner: LocalRunner, folder: Path) -> None:
    """Make the file, open it, and write down what is known of it."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    opened = open_file(runner, scenario, model_files.make(scenario.file, files), files)
    model_files.keep(scenario.file, opened)
    paths = {file.sha256: file for file in (opened.model.file, *opened.model.files.values()) if file}
    _PATHS.update({sha256: file.path for sha256, file in paths.items()})


def _record_one(folder: Path, scenario: Scenario, runner: LocalRunner) -> None:
    began = time.monotonic()
    if scenario.kind == "singles" and not kept_cases.is_kept(scenario.recording):
        kept_cases.keep(scenario.recording, list(singles_of(scenario)))
    recorder = Recorder(_Warm(runner))
    results = drive(scenario, recorder)
    path = folder / f"{scenario.recording}.zip"
    save(path, recorder.kept)
    counts = ", ".join(f"{len(items)} {name}" for name, items in results.items())
    seconds = time.monotonic() - began
    _say(f"{scenario.name}: {counts}; {len(recorder.kept)} outcomes, {path.stat().st_size:,} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--missing"]
    chosen = [scenario for scenario in SCENARIOS if not words[1:] or scenario.name in words[1:]]
    (amend if "--missing" in sys.argv else record)(Path(words[0]), chosen)
