"""``app:`` models: built by a worker without faults, and in the cache in full or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.sources import applications
from tensorparity.commands.sources.applications import application_file
from tensorparity.core.errors import RunError, UsageError
from tensorparity.targets.faults import Fault
from tensorparity.targets.requests import End, Reply
from tensorparity.targets.runner import RunnerSettings

FAULT = Fault("f.py", "")


class Makers:
    """A LocalRunner whose targets make a model that says who made it."""

    def __init__(self, targets: Sequence[str], faults: Mapping[str, Fault] | None = None) -> None:
        self.targets = targets
        self.settings = RunnerSettings(faults=faults or {})
        self.circumstances = "keras 3"
        self.asked: list[str] = []

    def desk(self, target: str) -> Any:
        return SimpleNamespace(circumstances=f"{target} {self.circumstances} {self.settings.faults.get(target)}")

    def ask(self, target: str, *_: Any) -> Reply:
        self.asked.append(target)
        said = f"{target} with {len(self.settings.faults)} faults".encode()
        header = {"status": "completed", "notes": ["drawn"]}
        return Reply(End.ANSWERED, header, {"weights:model": np.frombuffer(said, np.uint8)})


def build(runner: Makers, cache: Path) -> str:
    path, notes = application_file(runner, "MobileNet", 0, cache)  # type: ignore[arg-type]
    assert notes == ["drawn"]
    return path.read_text()


def test_it_is_built_once_per_circumstances(tmp_path: Path) -> None:
    runner = Makers(["keras:jax"])
    assert build(runner, tmp_path) == build(runner, tmp_path) == "keras:jax with 0 faults"
    assert runner.asked == ["keras:jax"]
    runner.circumstances = "keras 4"
    build(runner, tmp_path)
    assert len(runner.asked) == 2


def test_where_one_backend_refuses_the_next_builds_it(tmp_path: Path) -> None:
    class Refusing(Makers):
        def ask(self, target: str, *_: Any) -> Reply:
            if target != "keras:torch":
                return super().ask(target)
            failure = {"type": "ValueError", "message": "not available with the torch backend"}
            return Reply(End.ANSWERED, {"status": "raised", "failure": failure}, {})

    assert build(Refusing(["keras:torch", "keras:jax"]), tmp_path) == "keras:jax with 0 faults"
    with pytest.raises(RunError, match="not available with the torch backend"):
        build(Refusing(["keras:torch"]), tmp_path)


def test_a_target_without_a_fault_builds_it(tmp_path: Path) -> None:
    runner = Makers(["keras:torch", "keras:jax"], {"keras:torch": FAULT})
    build(runner, tmp_path)
    assert runner.asked == ["keras:jax"]


def test_where_all_have_faults_a_clean_runner_builds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Makers] = []

    def open_clean(targets: Sequence[str], settings: RunnerSettings) -> Any:
        opened.append(Makers(targets, settings.faults))
        return nullcontext(opened[-1])

    monkeypatch.setattr(applications, "open_runner", open_clean)
    runner = Makers(["keras:torch"], {"keras:torch": FAULT})
    assert build(runner, tmp_path) == "keras:torch with 0 faults"
    assert runner.asked == []
    assert opened[0].asked == ["keras:torch"]


def test_half_of_it_is_built_again(tmp_path: Path) -> None:
    runner = Makers(["keras:torch"])
    build(runner, tmp_path)
    (note,) = tmp_path.rglob("*.json")
    note.unlink()
    build(runner, tmp_path)
    assert len(runner.asked) == 2
    assert sorted(path.suffix for path in tmp_path.rglob("*.*")) == [".json", ".keras"]


def test_it_needs_a_keras_target(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is built by a Keras target"):
        build(Makers(["onnxruntime"]), tmp_path)
