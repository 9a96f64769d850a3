"""Data that does not fit is refused with what was expected and what was received."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_name
from tensorparity.core.errors import DataError
from tensorparity.core.graph import InputSpec
from tensorparity.generators.inputs.models import load_npz, seeded_inputs

IMAGE = InputSpec("image", (4, 4, 1))
X, Y = np.zeros((3, 4, 4, 1), np.float32), np.arange(3)


@pytest.fixture
def npz(tmp_path: Path) -> Any:
    def save(**arrays: Any) -> Path:
        path = tmp_path / "data.npz"
        np.savez(path, **arrays)
        return path

    return save


def refused(path: Path, *specs: InputSpec) -> str:
    with pytest.raises(DataError) as caught:
        load_npz(path, specs or (IMAGE,))
    return str(caught.value)


class TestAccepted:
    @pytest.mark.parametrize("name", ["x", "image"])
    def test_a_single_input_by_either_name(self, npz: Any, name: str) -> None:
        data = load_npz(npz(**{name: X, "y": Y}), [IMAGE])
        assert list(data.inputs) == ["image"]
        np.testing.assert_array_equal(data.labels[""], Y)
        assert (data.count, data.origin, data.notes) == (3, "data.npz (3 instances)", ())

    def test_several_inputs_by_name(self, npz: Any) -> None:
        data = load_npz(
            npz(a=np.zeros((2, 3), np.float32), b=np.zeros((2, 1), np.int32)),
            [
                InputSpec("a", (3,)),
                InputSpec("b", (None,), "int32"),
            ],
        )
        assert sorted(data.inputs) == ["a", "b"]

    def test_another_precision_is_converted_and_noted(self, npz: Any) -> None:
        data = load_npz(npz(x=X.astype(np.float64)), [IMAGE])
        assert data.inputs["image"].dtype == np.float32
        assert data.notes == ("input 'image' was converted from float64 to float32",)

    def test_strings_where_strings_are_expected(self, npz: Any) -> None:
        data = load_npz(npz(x=np.array([["one"], ["two"]])), [InputSpec("text", (1,), "string")])
        assert data.inputs["text"].tolist() == [["one"], ["two"]]


class TestRefused:
    def test_shape(self, npz: Any) -> None:
        message = refused(npz(x=np.zeros((3, 5, 4, 1), np.float32)))
        assert message == "input 'image': expected shape (instances, 4, 4, 1), received (3, 5, 4, 1)"

    def test_rank(self, npz: Any) -> None:
        assert "received (4, 4, 1)" in refused(npz(x=X[0]))
        assert "received ()" in refused(npz(x=np.float32(1)))

    @pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "complex64", "<U3"])
    def test_dtype(self, npz: Any, dtype: str) -> None:
        assert refused(npz(x=X.astype(dtype))) == f"input 'image': expected dtype float32, received {np.dtype(dtype)}"

    def test_names(self, npz: Any) -> None:
        message = refused(npz(a=X, b=X))
        assert message == "data.npz holds a, b, expected x or image (and y for labels)"
        assert "holds no inputs" in refused(npz(y=Y))

    def test_numbers_of_instances(self, npz: Any) -> None:
        assert refused(npz(x=X, y=Y[:2])).endswith("different numbers of instances (image: 3, y: 2)")
        assert refused(npz(x=X[:0])) == "data.npz holds no instances"

    @pytest.mark.parametrize("labels", [np.array(["a", "b", "c"]), np.int64(1)], ids=["strings", "scalar"])
    def test_labels_that_are_none(self, npz: Any, labels: Any) -> None:
        assert "expected labels as numbers, one row per instance; received dtype" in refused(npz(x=X, y=labels))

    def test_pickles(self, npz: Any) -> None:
        message = refused(npz(x=np.array([{"a": 1}, None], dtype=object)))
        assert message.startswith("data.npz cannot be read as .npz")
        assert "allow_pickle=False" in message

    def test_missing_folder_and_other_files(self, tmp_path: Path) -> None:
        assert refused(tmp_path / "none.npz") == f"no data at {str(tmp_path / 'none.npz')!r}"
        assert "cannot be read as .npz" in refused(tmp_path)
        for content in (b"", b"text", b"PK\x03\x04"):
            path = tmp_path / "data.npz"
            path.write_bytes(content)
            assert "data.npz cannot be read as .npz" in refused(path)

    def test_a_single_array(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", X)
        assert refused(tmp_path / "x.npy") == "x.npy is a single array; expected an .npz with x and y"

    def test_every_flipped_byte_is_refused_or_harmless(self, tmp_path: Path) -> None:
        path = tmp_path / "data.npz"
        np.savez_compressed(path, x=X, y=Y)
        whole = path.read_bytes()
        refusals = 0
        for position in range(len(whole)):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
            try:
                assert load_npz(path, [IMAGE]).count == 3
            except DataError:
                refusals += 1
        assert refusals > len(whole) // 2


class TestSeeded:
    def test_the_seed_decides(self) -> None:
        one, same, other = (seeded_inputs([IMAGE], 2, seed).inputs["image"] for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "bool"])
    def test_dtypes(self, dtype: str) -> None:
        drawn = seeded_inputs([InputSpec("x", (None, 2), dtype)], 3, 0).inputs["x"]
        assert (dtype_name(drawn), drawn.shape) == (dtype, (3, 16, 2))

    def test_what_cannot_be_drawn_must_be_given(self) -> None:
        with pytest.raises(DataError, match="'text' has dtype string; give it with --data"):
            seeded_inputs([InputSpec("text", (1,), "string")], 1, 0)
