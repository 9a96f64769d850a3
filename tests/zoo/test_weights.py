"""Weights: drawn within what layers accept, kept in the cache, and trained again where the cache is damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tensorparity.operators.reference.evaluate import declare_weights
from tensorparity.zoo.entries import ZOO
from tensorparity.zoo.weights import Shelf, TrainingRecord, input_domains, sample_inputs, starting_weights

LENET = ZOO["lenet1"]


def test_indices_are_drawn_within_their_table() -> None:
    graph = ZOO["transformer"].build()
    assert {name: domain.high for name, domain in input_domains(graph).items()} == {"tokens": 17, "positions": 64}
    inputs = sample_inputs(graph, np.random.default_rng(0), 50)
    assert (inputs["tokens"].dtype, inputs["tokens"].shape) == (np.int32, (50, 64))
    assert (inputs["tokens"].min(), inputs["tokens"].max(), inputs["positions"].max()) == (0, 16, 63)


@pytest.mark.parametrize("name", ["gru", "lstm", "simplernn"])
def test_recurrent_kernels_start_orthogonal(name: str) -> None:
    entry = ZOO[name]
    weights = starting_weights(entry, entry.build())
    recurrent = [array for key, array in weights.items() if key.endswith("recurrent_kernel")]
    assert len(recurrent) == 2
    for kernel in recurrent:
        for start in range(0, kernel.shape[1], len(kernel)):
            block = kernel[:, start : start + len(kernel)]
            np.testing.assert_allclose(block @ block.T, np.eye(len(kernel)), atol=1e-5)


def test_norminit_starts_from_its_own_deviation() -> None:
    entry = ZOO["dave-norminit"]
    weights = starting_weights(entry, entry.build())
    assert set(weights) == set(declare_weights(entry.build()))
    assert weights["fc1/kernel"].std() == pytest.approx(0.1, rel=0.02)
    assert weights["conv5/kernel"].std() == pytest.approx(np.sqrt(2 / (9 * 64)), rel=0.02)
    assert not weights["fc1/bias"].any()


class TestShelf:
    @pytest.fixture
    def shelf(self, tmp_path: Path) -> Shelf:
        shelf = Shelf(tmp_path)
        graph = LENET.build()
        assert shelf.load(LENET, graph) is shelf.training(LENET, graph) is None
        shelf.keep(LENET, graph, starting_weights(LENET, graph), TrainingRecord("keras:torch", 1.0, 0.9))
        return shelf

    def test_what_is_kept_comes_back(self, shelf: Shelf) -> None:
        graph = LENET.build()
        found, weights = shelf.load(LENET, graph), starting_weights(LENET, graph)
        assert found is not None
        assert set(found) == set(weights)
        assert all(np.array_equal(found[key], weights[key]) for key in weights)
        assert shelf.training(LENET, graph) == TrainingRecord("keras:torch", 1.0, 0.9)

    @pytest.mark.parametrize(
        "damage",
        [lambda raw: raw[:500], lambda raw: b"", lambda raw: raw[:-40] + bytes(40)],
        ids=["cut", "empty", "overwritten"],
    )
    def test_damaged_weights_are_a_miss(self, shelf: Shelf, damage: Callable[[bytes], bytes]) -> None:
        path = shelf.path(LENET, LENET.build())
        path.write_bytes(damage(path.read_bytes()))
        assert shelf.load(LENET, LENET.build()) is None

    def test_weights_of_another_shape_are_a_miss(self, shelf: Shelf) -> None:
        graph = LENET.build()
        weights = {**starting_weights(LENET, graph), "logits/bias": np.zeros(9, np.float32)}
        shelf.keep(LENET, graph, weights, TrainingRecord("keras:torch", 1.0, 0.9))
        assert shelf.load(LENET, graph) is None

    def test_a_lost_note_loses_no_weights(self, shelf: Shelf) -> None:
        graph = LENET.build()
        shelf.path(LENET, graph).with_suffix(".json").write_text("{")
        assert shelf.training(LENET, graph) is None
        assert shelf.load(LENET, graph) is not None

    @pytest.mark.parametrize("change", [{"epochs": 1}, {"data": "mnist-32"}, {"instances": 7}, {"learning_rate": 1.0}])
    def test_another_recipe_is_another_file(self, shelf: Shelf, change: dict[str, object]) -> None:
        other = replace(LENET, **change)  # type: ignore[arg-type]
        assert shelf.load(other, other.build()) is None
