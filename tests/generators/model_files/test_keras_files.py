"""Model files are looked into before anything loads them; whatever is wrong is said in one sentence."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tensorparity.core.errors import ModelRefusedError
from tensorparity.core.graph import InputSpec
from tensorparity.generators.model_files import keras_files
from tensorparity.generators.model_files.keras_files import ForeignClass, foreign_classes, inspect_model_file

WriteModel = Callable[..., Path]
Layer = Callable[..., dict[str, Any]]


def refused(path: Path, **options: Any) -> str:
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
        monkeypatch.setattr(keras_files, "_CONFIG_CAP", 1 << 20)
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
        assert "which could run code of its own; refused without --trust" in message
        assert inspect_model_file(path, trust=True).foreign
        assert refused(path, imports=["unrelated"]) == message

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


def test_the_message_is_one_line_of_bounded_length(write_model: WriteModel, config: Layer) -> None:
    many = [{"module": "x" * 500, "class_name": f"a\nb{number}"} for number in range(50)]
    message = refused(write_model(config(*many, *({"class_name": f"C\n{number}"} for number in range(50)))))
    assert "\n" not in message
    assert "C?0" in message
    assert len(message) < 1000


def test_no_import_is_advised_for_what_no_import_helps(write_model: WriteModel, config: Layer) -> None:
    assert "--import" not in refused(write_model(config(FOREIGN["Lambda"])))
    assert "(or --import MODULE that defines it)" in refused(write_model(config(FOREIGN["a class of the user's"])))


def custom(module: str | None, name: str, registered: str | None = None) -> dict[str, Any]:
    return {"module": module, "class_name": name, "registered_name": registered, "config": {}}


def function(module: str, name: str, registered: str = "function") -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": registered}


#: What ``--import mine`` vouches for. The first three, and the functions, as Keras 3.15 writes them.
FROM_MINE = {
    "module": custom("mine", "Odd"),
    "module and default package": custom("mine", "Odd", "Custom>Odd"),
    "file of Keras 2": custom(None, "Custom>Odd"),
    "module below": custom("mine.layers.odd", "Odd", "Custom>Odd"),
    "other package, own module": custom("mine", "Odd", "theirs>Odd"),
    "default package, saved by a script": custom("__main__", "Odd", "Custom>Odd"),
    "own package, no module": custom(None, "Odd", "mine>Odd"),
    "own package, one of Keras' names": custom("keras.layers", "Dense", "mine>Dense"),
    "function": function("mine", "odd"),
    "registered function": function("builtins", "mine>odd"),
}

NOT_FROM_MINE = {
    "another module": custom("theirs", "Odd"),
    "a module that begins alike": custom("mineral", "Odd"),
    "a module above": custom("min", "Odd"),
    "no module and no package": custom(None, "Odd"),
    "another package": custom(None, "Odd", "theirs>Odd"),
    "own package, another module": custom("theirs", "Odd", "mine>Odd"),
    "default package, another module": custom("os", "system", "Custom>system"),
    "default package, a class of Python's": custom("builtins", "eval", "Custom>eval"),
    "default package, an unknown name of Keras'": custom("keras.utils", "get_file", "Custom>get_file"),
    "a function of Keras' that touches files": function("keras.utils", "get_file"),
    "such a function under a registered name": function("keras.utils", "get_file", "Custom>get_file"),
    "a function of Python's": function("builtins", "eval", "Custom>eval"),
    "another package's function": function("builtins", "theirs>odd"),
    "Lambda": custom("keras.layers", "Lambda"),
    "Lambda, imported by the user's module": custom("mine", "Lambda"),
    "Lambda under a registered name": custom(None, "Odd", "mine>Lambda"),
    "TorchModuleWrapper": custom("mine", "TorchModuleWrapper", "Custom>TorchModuleWrapper"),
    "TFSMLayer of Keras 2": custom(None, "mine>TFSMLayer"),
    "JaxLayer": custom("keras.layers", "JaxLayer", "mine>JaxLayer"),
    "FlaxLayer": custom("mine.layers", "FlaxLayer"),
    "marshalled code": {**custom("mine", "__lambda__"), "config": {"value": "4wAAAA=="}},
    "a type of TensorFlow's": custom("mine", "__typespec__"),
}


class TestImports:
    @pytest.mark.parametrize("item", FROM_MINE.values(), ids=FROM_MINE)
    def test_classes_of_an_imported_module(self, write_model: WriteModel, config: Layer, item: dict[str, Any]) -> None:
        path = write_model(config(item))
        assert "names" in refused(path)
        assert len(inspect_model_file(path, imports=["other", "mine"]).foreign) == 1

    @pytest.mark.parametrize("item", NOT_FROM_MINE.values(), ids=NOT_FROM_MINE)
    def test_nothing_else(self, write_model: WriteModel, config: Layer, item: dict[str, Any]) -> None:
        path = write_model(config(item))
        assert "refused without --trust" in refused(path, imports=["mine"])
        assert inspect_model_file(path, trust=True).foreign

    def test_a_module_inside_a_package_vouches_for_the_packages_name(self) -> None:
        (found,) = foreign_classes(custom(None, "Odd", "mine>Odd"))
        assert found.comes_from(["mine.layers"])
        assert not ForeignClass("Odd", "mine.other").comes_from(["mine.layers"])

    def test_one_refused_class_among_accepted_ones(self, write_model: WriteModel, config: Layer) -> None:
        path = write_model(config(custom("mine", "Odd"), custom("theirs", "Even")))
        message = refused(path, imports=["mine"])
        assert "names theirs.Even," in message

    def test_inside_an_accepted_class_nothing_is_accepted_unseen(self, write_model: WriteModel, config: Layer) -> None:
        outer = {**custom("mine", "Odd"), "config": {"inner": [FOREIGN["Lambda"]]}}
        assert "names keras.layers.Lambda," in refused(write_model(config(outer)), imports=["mine"])


Fill = Callable[[Any], None]
MakeH5 = Callable[..., bytes]


def _external_link(file: Any) -> None:
    file.create_group("layers")["dense"] = h5py.ExternalLink("/etc/other.h5", "/")


def _external_storage(file: Any) -> None:
    storage = [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]
    file.create_dataset("layers/dense/vars/0", (4,), "uint8", external=storage)


def _virtual(file: Any) -> None:
    layout = h5py.VirtualLayout((4,), "float32")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "data", (4,))
    file.create_virtual_dataset("0", layout)


OTHER_FILES: dict[str, tuple[Fill, str]] = {
    "external link": (_external_link, "asks for another file: 'dense' is a link to it"),
    "external storage": (_external_storage, "asks for another file: the data of '0' lies in it"),
    "virtual dataset": (_virtual, "asks for another file: the data of '0' lies in it"),
}


def _harmless(file: Any) -> None:
    file.create_dataset("layers/dense/vars/0", data=[1.0, 2.0])
    file["layers/again"] = file["layers"]  # a group that holds itself
    file["dangling"] = h5py.SoftLink("/nowhere")
    file["type"] = np.dtype("int8")


class TestWeights:
    """The HDF5 file inside of a .keras file."""

    @pytest.mark.parametrize(("fill", "reason"), OTHER_FILES.values(), ids=OTHER_FILES)
    def test_other_files(self, write_model: WriteModel, hdf5: MakeH5, fill: Fill, reason: str) -> None:
        path = write_model(weights=hdf5(fill))
        assert refused(path) == refused(path, trust=True) == f"tiny.keras: model.weights.h5 {reason}"

    def test_within_itself_all_is_allowed(self, write_model: WriteModel, hdf5: MakeH5) -> None:
        assert inspect_model_file(write_model(weights=hdf5(_harmless))).inputs

    def test_not_hdf5(self, write_model: WriteModel) -> None:
        path = write_model(weights=b"weights" * 50)
        assert refused(path).startswith("tiny.keras: model.weights.h5 is not an HDF5 file, or is truncated")

    def test_larger_than_any(self, write_model: WriteModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keras_files, "_WEIGHTS_CAP", 1 << 20)
        assert refused(write_model(weights=bytes(2 << 20))) == "tiny.keras: model.weights.h5 is larger than 1 MiB"

    def test_a_bomb(self, write_model: WriteModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keras_files, "_RATIO_FREE_BYTES", 1 << 20)
        message = refused(write_model(weights=bytes(2 << 20)))
        assert message.startswith("tiny.keras: model.weights.h5 unpacks ")
        assert "bytes to 2,097,152" in message


class TestH5:
    """A model that is an HDF5 file itself."""

    def test_accepted(self, write_h5: WriteModel, config: Layer, layer: Layer) -> None:
        found = inspect_model_file(write_h5(config(layer("Flatten", "flat")), _harmless))
        assert (found.model.format, found.keras_version, found.foreign) == ("h5", "3.15.1", ())
        assert found.inputs == (InputSpec("image", (4, 4, 1), "float32"),)

    @pytest.mark.parametrize(("fill", "reason"), OTHER_FILES.values(), ids=OTHER_FILES)
    def test_other_files(self, write_h5: WriteModel, config: Layer, fill: Fill, reason: str) -> None:
        path = write_h5(config(), fill)
        assert refused(path) == refused(path, trust=True) == f"tiny.h5 {reason}"

    def test_imports(self, write_h5: WriteModel, config: Layer) -> None:
        path = write_h5(config(custom(None, "Custom>Odd")))
        assert "names Custom>Odd" in refused(path)
        assert inspect_model_file(path, imports=["mine"]).foreign == ("Custom>Odd",)

    def test_huge_config(self, write_h5: WriteModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keras_files, "_CONFIG_CAP", 1 << 10)
        assert refused(write_h5(" " * 2000)) == "tiny.h5: its model_config is larger than 0 MiB"

    def test_every_truncation_is_refused(self, write_h5: WriteModel, config: Layer) -> None:
        path = write_h5(config(), _harmless)
        whole = path.read_bytes()
        for length in (0, 7, 8, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            assert "tiny.h5" in refused(path)

    def test_a_file_that_the_library_crashes_or_hangs_on(
        self, write_h5: WriteModel, config: Layer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Seen with h5py 3.14: some of these end its process, some never come back."""
        monkeypatch.setattr(keras_files, "_CHILD_SECONDS", 2)
        path = write_h5(config(), _harmless)
        whole = path.read_bytes()
        for position in range(1000, len(whole), len(whole) // 4):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
            try:
                assert inspect_model_file(path, trust=True).inputs
            except ModelRefusedError:
                continue

    @pytest.mark.parametrize("ending", ["import os; os.abort()", "import time; time.sleep(60)"])
    def test_the_child_ends_otherwise(
        self, write_h5: WriteModel, config: Layer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
    ) -> None:
        (tmp_path / "hdf5_child.py").write_text(ending)
        monkeypatch.setattr(keras_files, "__file__", str(tmp_path / "model_files.py"))
        monkeypatch.setattr(keras_files, "_ANSWERS", {})
        monkeypatch.setattr(keras_files, "_CHILD_SECONDS", 1)
        assert refused(write_h5(config())).startswith("tiny.h5 is damaged: the HDF5 library ")
