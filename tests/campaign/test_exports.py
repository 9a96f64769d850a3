"""Which of Keras' exporters is asked, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorparity.campaign import exports
from tensorparity.campaign.exports import Exported, export_keras
from tensorparity.core.case import EXPORTED_ONNX, ModelFile
from tensorparity.core.errors import RunError
from tensorparity.targets.environments import Inventory
from tensorparity.targets.runner import RunnerSettings, open_runner

FILE = ModelFile("m.keras", "0" * 64)
EXPORTED = Exported(ModelFile("m.onnx", "1" * 64, EXPORTED_ONNX), "some-exporter", (9, 9, 9))
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
    assert str(Exported(FILE, "some-exporter", layers)) == f"exported to ONNX by some-exporter; {told}"
