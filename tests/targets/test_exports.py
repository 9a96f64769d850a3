"""Which of Keras' exporters is asked, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import EXPORTED_ONNX, ModelFile
from tensorparity.core.errors import RunError
from tensorparity.targets import exports
from tensorparity.targets.environments import Inventory
from tensorparity.targets.exports import Exported, export_keras, export_to_onnx
from tensorparity.targets.requests import End, Reply
from tensorparity.targets.runner import RunnerSettings, open_runner

FILE = ModelFile("m.keras", "0" * 64)
EXPORTED = Exported(ModelFile("m.onnx", "1" * 64, EXPORTED_ONNX, exporter="some-exporter"), (9, 9, 9))
ALL = ("keras", "tensorflow", "torch", "jax", "tf2onnx", "onnx", "onnxruntime")


class Asked:
    """Stands where a worker would be asked; fails for the targets told."""

    def __init__(self, failing: tuple[str, ...] = ()) -> None:
        self.failing = failing
        self.fallbacks: list[str] = []

    def __call__(
        self, _runner: object, _settings: object, _file: object, own: object, base: str, _: object
    ) -> Exported:
        self.fallbacks.append(base)
        if base in self.failing:
            raise RunError("exporting it to ONNX failed: no luck")
        return EXPORTED


def export(
    monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...], asked: Asked
) -> tuple[Exported | None, list[str]]:
    here = Inventory("3.11", dict.fromkeys(installed, ("1.0", "digest")))
    monkeypatch.setattr(exports, "inventory", lambda environment: here)
    monkeypatch.setattr(exports, "export_to_onnx", asked)
    settings = RunnerSettings()
    with open_runner(["keras:jax", "onnxruntime"], settings) as runner:
        return export_keras(runner, settings, FILE, runner.targets, Path("cache"))


def test_tensorflow_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    assert export(monkeypatch, ALL, asked) == (EXPORTED, [])
    assert asked.fallbacks == ["keras:tensorflow"]


def test_what_is_missing_is_named_and_the_next_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    without = tuple(name for name in ALL if name != "tf2onnx")
    asked = Asked()
    exported, notes = export(monkeypatch, without, asked)
    assert exported is EXPORTED
    assert asked.fallbacks == ["keras:torch"]
    assert notes == ["keras:tensorflow exports to ONNX with tf2onnx, not installed"]


def test_one_that_fails_gives_way_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    exported, notes = export(monkeypatch, ALL, Asked(("keras:tensorflow",)))
    assert exported is EXPORTED
    assert notes == ["keras:tensorflow: exporting it to ONNX failed: no luck"]


def test_with_jax_alone_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    exported, notes = export(monkeypatch, ("keras", "jax", "onnx", "onnxruntime"), asked)
    assert exported is None
    assert not asked.fallbacks
    assert notes == [
        "keras:tensorflow exports to ONNX with tensorflow, tf2onnx, not installed",
        "keras:torch exports to ONNX with torch, not installed",
    ]


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ((9, 9, 9), "all 9 layers can be compared in the file"),
        ((7, 7, 9), "7 of 9 layers can be compared in the file"),
        ((9, 8, 9), "9 of 9 layers can be compared in the file, 8 of them alone"),
    ],
)
def test_how_many_layers_can_be_compared_is_said(layers: tuple[int, int, int], told: str) -> None:
    assert (
        str(Exported(replace(FILE, exporter="some-exporter"), layers)) == f"exported to ONNX by some-exporter; {told}"
    )


class Worker:
    """A runner whose only target exports: every time another file."""

    def __init__(self, *, imports: tuple[str, ...] = (), loose: bool = False) -> None:
        self.settings = RunnerSettings(imports=imports)
        self.loose = loose
        self.written = 0

    def desk(self, _target: str) -> Any:
        return SimpleNamespace(circumstances="the same", accountable=not self.loose)

    def ask(self, _target: str, header: Any, _arrays: Any, _seconds: float) -> Reply:
        assert (header["do"], header["sha256"]) == ("export", FILE.sha256)
        self.written += 1
        answer = {"status": "completed", "exporter": "e", "layers": {"a#0": {"inputs": None}}, "count": 2}
        return Reply(End.ANSWERED, answer, {"weights:model": np.array([self.written], np.uint8)})

    def export(self, cache: Path) -> Exported:
        runner: Any = self
        return export_to_onnx(runner, self.settings, FILE, ["keras:tensorflow"], "keras:tensorflow", cache)


def test_a_file_is_exported_once(tmp_path: Path) -> None:
    worker = Worker()
    first = worker.export(tmp_path)
    assert (worker.export(tmp_path), worker.written) == (first, 1)
    assert first.layers == (1, 0, 2)


def test_code_that_may_change_is_not_trusted_to_be_the_same(tmp_path: Path) -> None:
    clean = Worker().export(tmp_path)
    for worker in (Worker(imports=("my_layers",)), Worker(loose=True)):
        worker.export(tmp_path)
        worker.export(tmp_path)
        assert worker.written == 2
    assert Worker(imports=("my_layers",)).export(tmp_path).file.path != clean.file.path
