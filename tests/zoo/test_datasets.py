"""Data that packages carry: there, of the promised form, and the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorparity.zoo.datasets import DATASETS
from tensorparity.zoo.entries import ZOO
from tensorparity.zoo.weights import Shelf, Training, starting_weights

OFFLINE = sorted({entry.data for entry in ZOO.values()} - {"", "cifar10", "imdb"})


@pytest.mark.parametrize("name", OFFLINE)
def test_a_data_set_fits_its_models(name: str) -> None:
    data, again = DATASETS[name].load(), DATASETS[name].load()
    for part, same in ((data.training, again.training), (data.validation, again.validation)):
        assert part.count > 0
        np.testing.assert_array_equal(part.labels, same.labels)
        for key, array in part.inputs.items():
            assert len(array) == part.count
            np.testing.assert_array_equal(array, same.inputs[key])
    for entry in ZOO.values():
        if entry.data == name:
            for item in entry.build().inputs:
                assert data.training.inputs[item.name].shape[1:] == item.shape
                assert data.training.inputs[item.name].dtype == item.dtype


def test_kept_weights_come_back_and_damaged_ones_do_not(tmp_path: Path) -> None:
    entry = ZOO["lenet1"]
    graph, shelf = entry.build(), Shelf(tmp_path)
    assert shelf.load(entry, graph) is None
    weights = starting_weights(entry, graph)
    shelf.keep(entry, graph, weights, Training("keras:torch", 1.0, 0.9))
    found = shelf.load(entry, graph)
    assert found is not None
    assert all(np.array_equal(found[key], weights[key]) for key in weights)
    training = shelf.training(entry, graph)
    assert training is not None
    assert training.describe() == "accuracy 0.900"
    path = shelf.path(entry, graph)
    path.write_bytes(path.read_bytes()[:500])
    assert shelf.load(entry, graph) is None
