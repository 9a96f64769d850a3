"""CIFAR-10 and IMDB as Keras leaves them, and files that want more than to be read."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.zoo.keras_cache import cifar10, fashion_mnist, imdb, load_arrays

LABELS = [3, 1, 4, 1]


class Evil:
    def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
        return os.system, ("touch evil",)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def cifar_batches(extra: object = None) -> dict[str, bytes]:
    pixels = np.arange(4 * 3072, dtype=np.uint64).reshape(4, 3072).astype(np.uint8)
    batch = {b"data": pixels, b"labels": LABELS, b"extra": extra}
    return dict.fromkeys(("data_batch_1", "test_batch"), pickle.dumps(batch, protocol=2))


def archive_of(batches: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in batches.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


class TestCifar10:
    def check(self) -> None:
        part = cifar10().training
        assert part.inputs["image"].shape == (4, 32, 32, 3)
        assert part.labels.tolist() == LABELS
        first = cifar_batches()["test_batch"]
        raw = pickle.loads(first)[b"data"].reshape(4, 3, 32, 32)
        np.testing.assert_allclose(part.inputs["image"][2, 5, 7], raw[2, :, 5, 7] / 255, atol=1e-7)

    @pytest.mark.parametrize(
        "name", ["cifar-10-batches-py.tar.gz", "cifar-10-batches-py-target_archive", "cifar-10-python.tar.gz"]
    )
    def test_packed(self, folder: Path, name: str) -> None:
        (folder / name).write_bytes(archive_of(cifar_batches()))
        self.check()

    @pytest.mark.parametrize("name", ["cifar-10-batches-py", "cifar-10-batches-py-target/cifar-10-batches-py"])
    def test_unpacked(self, folder: Path, name: str) -> None:
        (folder / name).mkdir(parents=True)
        for batch, data in cifar_batches().items():
            (folder / name / batch).write_bytes(data)
        self.check()

    def test_a_hostile_one_is_refused_and_nothing_runs(self, folder: Path) -> None:
        (folder / "cifar-10-batches-py.tar.gz").write_bytes(archive_of(cifar_batches(Evil())))
        with pytest.raises(UsageError, match=r"cannot be read: it names \w+\.system, which is no array"):
            cifar10()
        assert not (folder.parent / "evil").exists()

    @pytest.mark.parametrize("cut", [0, 100, -200])
    def test_a_damaged_one_is_refused(self, folder: Path, cut: int) -> None:
        (folder / "cifar-10-batches-py.tar.gz").write_bytes(archive_of(cifar_batches())[:cut])
        with pytest.raises(UsageError, match=r"cifar-10-batches-py.tar.gz cannot be read"):
            cifar10()


class TestImdb:
    @pytest.fixture
    def write(self, folder: Path) -> Callable[..., None]:
        def write(*reviews: object) -> None:
            array = np.empty(len(reviews), object)
            array[:] = reviews
            labels = np.arange(len(reviews)) % 2
            np.savez(folder / "imdb.npz", x_train=array, y_train=labels, x_test=array, y_test=labels)

        return write

    def test_reviews_are_padded_cut_and_without_rare_words(self, write: Callable[..., None]) -> None:
        write([10, 6000, 20], list(range(1, 101)))
        part = imdb().validation
        tokens = {int(label): row for row, label in zip(part.inputs["tokens"], part.labels[:, 0], strict=True)}
        assert tokens[0].tolist() == [0] * 76 + [1, 13, 2, 23]
        assert tokens[1].tolist() == list(range(24, 104))

    def test_all_test_inputs_up_to_ten_thousand_are_read(self, write: Callable[..., None]) -> None:
        write(*([index % 9] for index in range(10_200)))
        assert imdb().validation.count == 10_000

    def test_a_hostile_one_is_refused(self, write: Callable[..., None], folder: Path) -> None:
        write([1, 2], Evil())
        with pytest.raises(UsageError, match=r"imdb.npz cannot be read: it names \w+\.system, which is no array"):
            imdb()
        assert not (folder.parent / "evil").exists()


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(head + array.tobytes())


class TestFashion:
    @pytest.fixture
    def files(self, folder: Path) -> Path:
        own = folder / "fashion-mnist"
        own.mkdir()
        images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
        for part in ("train", "t10k"):
            (own / f"{part}-images-idx3-ubyte.gz").write_bytes(idx(images))
            (own / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx(np.array([9, 0, 5], np.uint8)))
        return own

    def test_images_are_in_the_unit_interval(self, files: Path) -> None:
        part = fashion_mnist().validation
        assert part.inputs["image"].shape == (3, 28, 28, 1)
        assert part.inputs["image"][0, 0, 3, 0] == np.float32(3 / 255)
        assert part.labels.tolist() == [9, 0, 5]

    def test_all_test_inputs_up_to_ten_thousand_are_read(self, files: Path) -> None:
        (files / "t10k-images-idx3-ubyte.gz").write_bytes(idx(np.zeros((10_200, 28, 28), np.uint8)))
        (files / "t10k-labels-idx1-ubyte.gz").write_bytes(idx(np.zeros(10_200, np.uint8)))
        assert fashion_mnist().validation.count == 10_000

    @pytest.mark.parametrize(
        "damaged",
        [b"", b"no gzip", gzip.compress(b"\0\0\x0d\1nonsense", mtime=0), gzip.compress(b"\0\0\x08\3", mtime=0)],
        ids=["empty", "no gzip", "other numbers", "cut off"],
    )
    def test_damaged(self, files: Path, damaged: bytes) -> None:
        (files / "t10k-images-idx3-ubyte.gz").write_bytes(damaged)
        with pytest.raises(UsageError, match="fashion-mnist cannot be read"):
            fashion_mnist()


@pytest.mark.parametrize(("load", "loader"), [(cifar10, "cifar10"), (fashion_mnist, "fashion_mnist"), (imdb, "imdb")])
def test_what_is_not_there_is_not_fetched(load: Callable[[], object], loader: str, folder: Path) -> None:
    with pytest.raises(
        UsageError, match=rf"nothing is downloaded here, run keras.datasets.{loader}.load_data\(\) once"
    ):
        load()


def test_arrays_are_read() -> None:
    array = np.arange(6).reshape(2, 3)
    for protocol in (2, 3, 4):
        found = load_arrays(pickle.dumps({"a": array, "b": [1, "two"]}, protocol=protocol))
        np.testing.assert_array_equal(found["a"], array)
