"""CIFAR-10, Fashion-MNIST and IMDB where Keras has downloaded them before; nothing is ever fetched.

Two of them are pickles inside. They are read by an unpickler that knows arrays and nothing else.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..core.archives import UNREADABLE
from ..core.arrays import Array
from ..core.errors import UsageError
from .data import DataSet, Part
from .series import IMDB_LENGTH, IMDB_WORDS

T = TypeVar("T")

#: How many instances are used: to learn from, enough for that and few enough for minutes; to test with, the papers'.
TRAINING, VALIDATION = 10_000, 10_000

#: Where Keras 3 and Keras 2 put it, unpacked and packed; the last is its name at the source.
_CIFAR = (
    "cifar-10-batches-py-target/cifar-10-batches-py",
    "cifar-10-batches-py",
    "cifar-10-batches-py-target_archive",
    "cifar-10-batches-py.tar.gz",
    "cifar-10-python.tar.gz",
)
#: Keras' numbering of words: 0 is padding, 1 the start, 2 a word that is too rare; words begin at 4.
_START, _RARE, _OFFSET = 1, 2, 3
_DAMAGED: tuple[type[Exception], ...] = (
    *UNREADABLE,
    pickle.UnpicklingError,
    tarfile.TarError,
    AttributeError,
    IndexError,
    TypeError,
)
#: What pickles of arrays name.
_PICKLED = frozenset(
    [
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    ]
)


def cifar10() -> DataSet:
    """CIFAR-10's images in [0, 1], shape (32, 32, 3), and labels.

    Raises:
        UsageError: if Keras has not downloaded them, or the file is damaged.
    """
    path = _find(_CIFAR, "CIFAR-10", "keras.datasets.cifar10.load_data()")
    training, validation = _read_guarded(path, lambda: _read_cifar(path))
    return DataSet(training, validation)


def has_cifar10() -> bool:
    """Whether Keras has downloaded CIFAR-10."""
    return any((datasets_folder() / name).exists() for name in _CIFAR)


def fashion_mnist() -> DataSet:
    """Fashion-MNIST's images in [0, 1], shape (28, 28, 1), and labels.

    Raises:
        UsageError: if Keras has not downloaded them, or a file is damaged.
    """
    path = _find(("fashion-mnist",), "Fashion-MNIST", "keras.datasets.fashion_mnist.load_data()")
    training, validation = _read_guarded(path, lambda: _read_fashion(path))
    return DataSet(training, validation)


def imdb() -> DataSet:
    """The last words of IMDB's reviews as numbers below 5,000, and whether the review is kind.

    Raises:
        UsageError: if Keras has not downloaded them, or the file is damaged.
    """
    path = _find(("imdb.npz",), "the IMDB reviews", "keras.datasets.imdb.load_data()")
    training, validation = _read_guarded(path, lambda: _read_imdb(path))
    return DataSet(training, validation)


def datasets_folder() -> Path:
    return Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "datasets"


def _find(names: tuple[str, ...], what: str, loader: str) -> Path:
    for name in names:
        path = datasets_folder() / name
        if path.exists():
            return path
    raise UsageError(f"{what} not found in {datasets_folder()}; nothing is downloaded here, run {loader} once")


def _read_guarded(path: Path, read: Callable[[], T]) -> T:
    try:
        return read()
    except _DAMAGED as error:
        raise UsageError(f"{path.name} cannot be read: {error}") from error


class _ArraysOnly(pickle.Unpickler):
    """Reads numbers, strings, containers and NumPy arrays; whatever else a pickle names is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PICKLED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no array")
        return super().find_class(module, name)


def load_arrays(data: bytes) -> Any:
    """A pickle of arrays.

    Raises:
        pickle.UnpicklingError: if it holds anything else.
    """
    return _ArraysOnly(io.BytesIO(data), encoding="bytes").load()


# CIFAR-10


def _read_cifar(path: Path) -> tuple[Part, Part]:
    names = ("data_batch_1", "test_batch")
    raw = [(path / name).read_bytes() for name in names] if path.is_dir() else _members_of(path, names)
    first, last = (_cifar_batch(data) for data in raw)
    return _cut_cifar(first, TRAINING), _cut_cifar(last, VALIDATION)


def _members_of(path: Path, names: tuple[str, ...]) -> list[bytes]:
    with tarfile.open(path, "r:*") as archive:
        members = {Path(member.name).name: member for member in archive.getmembers() if member.isfile()}
        files = [archive.extractfile(members[name]) for name in names]
        return [file.read() for file in files if file is not None]


def _cifar_batch(data: bytes) -> tuple[Array, Array]:
    batch = load_arrays(data)
    images = np.asarray(batch[b"data"], np.uint8).reshape(-1, 3, 32, 32)
    return images, np.asarray(batch[b"labels"], np.int64)


def _cut_cifar(batch: tuple[Array, Array], count: int) -> Part:
    images = np.ascontiguousarray(batch[0][:count].transpose(0, 2, 3, 1))
    return Part({"image": (images / 255.0).astype(np.float32)}, batch[1][:count])


# Fashion-MNIST


def _read_fashion(path: Path) -> tuple[Part, Part]:
    first, last = (_fashion_part(path, name, count) for name, count in (("train", TRAINING), ("t10k", VALIDATION)))
    return first, last


def _fashion_part(path: Path, name: str, count: int) -> Part:
    images = _idx(gzip.decompress((path / f"{name}-images-idx3-ubyte.gz").read_bytes()))[:count, :, :, None]
    labels = _idx(gzip.decompress((path / f"{name}-labels-idx1-ubyte.gz").read_bytes()))[:count]
    return Part({"image": (images / 255.0).astype(np.float32)}, labels.astype(np.int64))


def _idx(data: bytes) -> Array:
    """An array of bytes behind its rank and its sizes."""
    if data[:3] != b"\0\0\x08":
        raise ValueError("expected an array of bytes in the idx format")
    shape = tuple(int(size) for size in np.frombuffer(data, ">u4", data[3], 4))
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


# IMDB


def _read_imdb(path: Path) -> tuple[Part, Part]:
    with zipfile.ZipFile(path) as archive:
        parts = [
            (_object_array(archive.read(f"x_{part}.npy")), _plain_array(archive.read(f"y_{part}.npy")), count)
            for part, count in (("train", TRAINING), ("test", VALIDATION))
        ]
    first, second = (_cut_imdb(*part) for part in parts)
    return first, second


def _plain_array(data: bytes) -> Array:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _object_array(data: bytes) -> Array:
    """An .npy of Python lists: a header, then a pickle."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    read_header(file)
    return np.asarray(load_arrays(file.read()), object)


def _cut_imdb(reviews: Array, labels: Array, count: int) -> Part:
    """A seeded choice: the file has the kind reviews apart from the others."""
    chosen = np.random.default_rng(0).permutation(len(labels))[:count]
    tokens = np.zeros((len(chosen), IMDB_LENGTH), np.int32)
    for row, index in enumerate(chosen):
        words = np.asarray([_START, *(int(word) + _OFFSET for word in reviews[index])], np.int32)[-IMDB_LENGTH:]
        tokens[row, IMDB_LENGTH - len(words) :] = np.where(words < IMDB_WORDS, words, _RARE)
    return Part({"tokens": tokens}, labels[chosen].astype(np.float32)[:, None])
