"""Model files are looked into before anything loads them; whatever is wrong is said in one sentence."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorparity.core.errors import ModelRefusedError
from tensorparity.core.graph import InputSpec
from tensorparity.generators import model_files
from tensorparity.generators.model_files import inspect_model_file

WriteModel = Callable[..., Path]
Layer = Callable[..., dict[str, Any]]


def refused(path: Path, **options: bool) -> str:
    with pytest.raises(ModelRefusedError) as caught:
        inspect_model_file(path, **options)
    return str(caught.value)


class TestAccepted:
    def test_inputs_version_and_identity(self, write_model: WriteModel) -> None:
        path = write_model()
        found = inspect_model_file(path)
        assert found.inputs == (InputSpec("image", (4, 4, 1), "float32"),)
        assert (found.keras_version, found.foreign) == ("3.15.1", ())
        assert found.model.path == str(path)
        assert len(found.model.sha256) == 64

    def test_identity_is_the_content(self, write_model: WriteModel, config: Layer, layer: Layer) -> None:
        one, same = inspect_model_file(write_model()), inspect_model_file(write_model())
        other = inspect_model_file(write_model(config(layer("ReLU", "relu"))))
        assert one.model.sha256 == same.model.sha256 != other.model.sha256

    def test_open_sizes_and_other_dtypes(self, write_model: WriteModel, config: Layer) -> None:
        for dtype in ("int32", "bfloat16", "string"):
            found = inspect_model_file(write_model(config(shape=[None, None, 3], dtype=dtype)))
            assert found.inputs == (InputSpec("image", (None, 3), dtype),)

    def test_a_sequential_model_that_only_knows_its_build_shape(self, write_model: WriteModel, layer: Layer) -> None:
        sequential = {
            "module": "keras",
            "class_name": "Sequential",
            "config": {"name": "s", "layers": [layer("Flatten", "flat")]},
            "build_config": {"input_shape": [None, 5]},
        }
        assert inspect_model_file(write_model(sequential)).inputs == (InputSpec("input", (5,)),)


class TestNotAModel:
    def test_missing(self, tmp_path: Path) -> None:
        assert refused(tmp_path / "none.keras") == f"no model at {str(tmp_path / 'none.keras')!r}"

    def test_folder(self, tmp_path: Path) -> None:
        assert "is a folder; expected" in refused(tmp_path)

    def test_other_suffix(self, tmp_path: Path) -> None:
        path = tmp_path / "model.bin"
        path.write_bytes(b"")
        message = refused(path)
        assert message.startswith("'model.bin' has no suffix of a model")
        assert ".keras" in message

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x89HDF\r\n\x1a\n" + bytes(100)])
    def test_not_a_zip(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "model.keras"
        path.write_bytes(content)
        assert refused(path).startswith("model.keras is not a .keras model, or is truncated")

    @pytest.mark.parametrize("member", ["config.json", "metadata.json", "model.weights.h5"])
    def test_a_zip_without_a_model(self, write_model: WriteModel, member: str) -> None:
        assert refused(write_model(without=member)) == f"tiny.keras is a zip, but no Keras model: it lacks {member}"

    @pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000])
    def test_config_is_not_json(self, write_model: WriteModel, content: bytes) -> None:
        assert refused(write_model(content)).startswith("tiny.keras: config.json is not JSON")

    @pytest.mark.parametrize("content", [b"[]", b"1", b"null", b"{}", b'{"config": []}'])
    def test_config_describes_no_model(self, write_model: WriteModel, content: bytes) -> None:
        assert refused(write_model(content)) == "tiny.keras: config.json describes no model"

    def test_config_is_nested_deeply(self, write_model: WriteModel) -> None:
        for depth in (200, 400, 900):
            nested = json.dumps({"config": {"layers": []}, "more": 0}).replace("0", "[" * depth + "]" * depth)
            assert refused(write_model(nested.encode()))

    def test_no_inputs_declared(self, write_model: WriteModel) -> None:
        assert "does not say what its inputs are" in refused(write_model({"config": {"layers": []}}))

    def test_huge_config(self, write_model: WriteModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model_files, "_CONFIG_CAP", 1 << 20)
        path = write_model(b" " * ((1 << 20) + 1))
        assert path.stat().st_size < 10_000  # it compresses well
        assert refused(path) == "tiny.keras: config.json is larger than 1 MiB"


class TestDamaged:
    def test_every_truncation_is_refused(self, write_model: WriteModel) -> None:
        path = write_model()
        whole = path.read_bytes()
        for length in range(0, len(whole), 7):
            path.write_bytes(whole[:length])
            assert "tiny.keras" in refused(path)

    def test_every_flipped_byte_is_refused_or_harmless(self, write_model: WriteModel) -> None:
        path = write_model()
        whole = path.read_bytes()
        refusals = 0
        for position in range(len(whole)):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
            try:
                assert inspect_model_file(path).inputs
            except ModelRefusedError:
                refusals += 1
        assert refusals > len(whole) // 2

    def test_changed_content_does_not_match_its_checksum(self, write_model: WriteModel) -> None:
        path = write_model()
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo("model.weights.h5")
        raw = bytearray(path.read_bytes())
        raw[info.header_offset + 14] ^= 1  # the checksum in the local header is not the one that counts
        central = raw.rfind(b"PK\x01\x02")
        raw[central + 16] ^= 1
        path.write_bytes(raw)
        assert refused(path) == "tiny.keras is damaged: model.weights.h5 does not match its checksum"

    def test_encrypted(self, write_model: WriteModel) -> None:
        path = write_model()
        raw = bytearray(path.read_bytes())
        for start, signature, offset in ((0, b"PK\x03\x04", 6), (0, b"PK\x01\x02", 8)):
            raw[raw.find(signature, start) + offset] |= 1
        path.write_bytes(raw)
        assert "encrypted" in refused(path)

    @pytest.mark.parametrize(
        "broken",
        [
            {"layers": 3},
            {"layers": [{"class_name": "InputLayer"}]},
            {"layers": [{"class_name": "InputLayer", "config": None}]},
            {"layers": [{"class_name": "InputLayer", "config": {"batch_shape": 5}}]},
            {"layers": [{"class_name": "InputLayer", "config": {"batch_shape": [None, "four"]}}]},
            {"layers": [{"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "dtype": "float7"}}]},
            {"layers": [{"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "dtype": {"a": 1}}}]},
        ],
    )
    def test_config_of_the_wrong_form(self, write_model: WriteModel, broken: dict[str, Any]) -> None:
        assert "tiny.keras: config.json is no configuration of Keras'" in refused(write_model({"config": broken}))


FOREIGN: dict[str, dict[str, Any]] = {
    "Lambda": {"module": "keras.layers", "class_name": "Lambda", "config": {"name": "evil"}},
    "a class of another package": {"module": "os", "class_name": "system", "config": {}},
    "a class of the user's": {"module": "mine", "class_name": "Attention", "config": {}},
    "a registered name": {
        "module": "keras.layers",
        "class_name": "Dense",
        "registered_name": "mine>Dense",
        "config": {},
    },
    "an unknown class of Keras'": {"module": "keras.layers", "class_name": "Invented", "config": {}},
    "a function of Keras' that touches files": {
        "module": "keras.utils",
        "class_name": "function",
        "config": "get_file",
        "registered_name": "function",
    },
    "marshalled code": {"class_name": "__lambda__", "config": {"value": "4wAAAA=="}},
}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
class TestForeignClasses:
    def test_refused_unless_trusted(
        self, write_model: WriteModel, config: Layer, layer: Layer, foreign: dict[str, Any]
    ) -> None:
        path = write_model(config(foreign))
        message = refused(path)
        assert "refused without --trust (or --import MODULE that defines it)" in message
        assert inspect_model_file(path, trust=True).foreign
        assert inspect_model_file(path, imports=True).foreign

    def test_found_wherever_it_hides(
        self, write_model: WriteModel, config: Layer, layer: Layer, foreign: dict[str, Any]
    ) -> None:
        inside = layer("TimeDistributed", "td", layer=layer("Dense", "d", kernel_regularizer=[{"deep": foreign}]))
        assert "refused" in refused(write_model(config(inside)))
        compiled = {**config(), "compile_config": {"loss": foreign}}
        assert "refused" in refused(write_model(compiled))


def test_the_message_names_every_foreign_class(write_model: WriteModel, config: Layer) -> None:
    message = refused(write_model(config(FOREIGN["a class of the user's"], FOREIGN["a class of another package"])))
    assert message.startswith("tiny.keras names mine.Attention, os.system, which could run code of its own")
