"""Keras' model files, inspected before anything loads them.

A ``.keras`` file is a zip with a JSON configuration, an ``.h5`` file holds one as an attribute. Every
class it names must be one of Keras' own that cannot run foreign code or come from a module the user
imports, or the file is refused unless the user trusts it (decision 17). HDF5, in either, must not ask
for other files; the library for it only sees the file in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ...core.archives import UNREADABLE
from ...core.arrays import dtype_named
from ...core.case import ModelFile
from ...core.errors import ModelRefusedError
from ...core.graph import InputSpec
from ...core.jsontext import Json
from ...operators.known_classes import UNSAFE_LAYERS, is_known
from ..inputs.models import Draw
from .existing import check_is_file, hint

_CONFIG_CAP = 64 << 20
#: Weights, unpacked. Keras does not compress them, so a high ratio is never Keras'.
_WEIGHTS_CAP = 32 << 30
_RATIO_CAP = 100
_RATIO_FREE_BYTES = 64 << 20
_CHUNK = 1 << 20
_WEIGHTS = "model.weights.h5"
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_CHILD_SECONDS = 60
_KERAS_MEMBERS = ("config.json", "metadata.json", _WEIGHTS)
#: The package of ``keras.saving.register_keras_serializable()`` without arguments.
_DEFAULT_PACKAGE = "Custom"
_MOST_NAMED = 5
#: What ``hdf5_child`` said of a file, by the digest of its content.
_ANSWERS: dict[str, dict[str, Json]] = {}


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A file that may be loaded: its identity, its inputs, and what was noticed on the way."""

    model: ModelFile
    inputs: tuple[InputSpec, ...]
    keras_version: str
    foreign: tuple[str, ...] = ()
    draws: Mapping[str, Draw] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignClass:
    """A class or function in a configuration that is not Keras' own, as the configuration names it.

    Args:
        registered: ``package>Class``, as ``register_keras_serializable`` writes it.
        fallback_known: without the registered name it would be one of Keras' own.
    """

    name: str
    module: str | None = None
    registered: str | None = None
    fallback_known: bool = False

    def __str__(self) -> str:
        text = f"{self.module}.{self.name}" if self.module else self.name
        return "".join(letter if letter.isprintable() else "?" for letter in text[:100])

    @property
    def unsafe(self) -> bool:
        """Whether it runs code that the file brings along; no import of the user's can vouch for that."""
        names = (self.name, self.name.rpartition(">")[2], (self.registered or "").rpartition(">")[2])
        return any(name in UNSAFE_LAYERS or name.startswith("__") for name in names)

    def comes_from(self, imports: Sequence[str]) -> bool:
        """Whether one of the imported modules defines it.

        Keras looks for the registered name first and then, in some versions, imports whatever module the
        file names; so a registered name alone is not enough where that module is somebody else's.
        """
        if self.unsafe or not imports:
            return False
        module = self.module or ""
        if any(module == name or module.startswith(f"{name}.") for name in imports):
            return True
        package = (self.registered or "").rpartition(">")[0]
        ours = package in {_DEFAULT_PACKAGE, *(name.partition(".")[0] for name in imports)}
        nowhere = self.module in (None, "__main__") or (self.module == "builtins" and ">" in self.name)
        return ours and (nowhere or self.fallback_known)


def foreign_classes(value: Json) -> tuple[ForeignClass, ...]:
    """Every class or function anywhere in a configuration that is not Keras' own and harmless.

    Raises:
        RecursionError: if it is nested too deeply.
    """
    return tuple(sorted(set(_walk(value)), key=str))


def refused_classes(value: Json, imports: Sequence[str] = ()) -> tuple[ForeignClass, ...]:
    """Those of ``foreign_classes`` that come from none of the imported modules."""
    return tuple(item for item in foreign_classes(value) if not item.comes_from(imports))


def refusal(refused: Sequence[ForeignClass]) -> str:
    """The end of the sentence that begins with what names these classes."""
    more = f" and {len(refused) - _MOST_NAMED} more" if len(refused) > _MOST_NAMED else ""
    advice = "" if all(item.unsafe for item in refused) else " (or --import MODULE that defines it)"
    named = ", ".join(map(str, refused[:_MOST_NAMED]))
    return f"names {named}{more}, which could run code of its own; refused without --trust{advice}"


def inspect_model_file(path: Path, *, trust: bool = False, imports: Sequence[str] = ()) -> InspectedFile:
    """Look into a model file without loading it.

    Args:
        trust: the user takes the responsibility for what the file may run.
        imports: modules the user brings; foreign classes may come from there, and from nowhere else.

    Raises:
        ModelRefusedError: missing, not a model, damaged, asking for other files, or naming classes nobody
            vouches for.
    """
    check_is_file(path)
    if path.suffix not in _READERS:
        raise ModelRefusedError(
            f"{path.name!r} has no suffix of a model{hint(path)}; expected {', '.join(sorted(_READERS))} (Keras), "
            ".onnx, .pt2 (torch.export.save), MODULE:FUNCTION that returns a model, zoo:NAME or app:NAME"
        )
    config, metadata = _READERS[path.suffix](path)
    try:
        foreign, refused = foreign_classes(config), refused_classes(config, imports)
    except RecursionError as error:
        raise ModelRefusedError(f"{path.name}: config.json is nested too deeply") from error
    if refused and not trust:
        raise ModelRefusedError(f"{path.name} {refusal(refused)}")
    if path.suffix == ".keras":
        _check_weights(path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return InspectedFile(
        model=ModelFile(str(path.resolve()), sha256, "keras" if path.suffix == ".keras" else "h5"),
        inputs=_inputs(path, config),
        draws=_draws(config["config"]),
        keras_version=str(metadata.get("keras_version", "")),
        foreign=tuple(map(str, foreign)),
    )


def _read_keras(path: Path) -> tuple[dict[str, Json], dict[str, Json]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            missing = [name for name in _KERAS_MEMBERS if name not in names]
            if missing:
                raise ModelRefusedError(f"{path.name} is a zip, but no Keras model: it lacks {', '.join(missing)}")
            damaged = archive.testzip()
            if damaged:
                raise ModelRefusedError(f"{path.name} is damaged: {damaged} does not match its checksum")
            config = _read_json(path, archive, "config.json")
            metadata = _read_json(path, archive, "metadata.json")
    except UNREADABLE as error:
        raise ModelRefusedError(f"{path.name} is not a .keras model, or is truncated: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("config"), dict):
        raise ModelRefusedError(f"{path.name}: config.json describes no model")
    return config, metadata if isinstance(metadata, dict) else {}


def _read_json(path: Path, archive: zipfile.ZipFile, name: str) -> Json:
    if archive.getinfo(name).file_size > _CONFIG_CAP:
        raise ModelRefusedError(f"{path.name}: {name} is larger than {_CONFIG_CAP >> 20} MiB")
    try:
        with archive.open(name) as member:
            return json.loads(member.read(_CONFIG_CAP + 1))
    except (ValueError, RecursionError) as error:
        raise ModelRefusedError(f"{path.name}: {name} is not JSON: {error}") from error


def _check_weights(path: Path) -> None:
    """The HDF5 file inside of a ``.keras`` file, unpacked to where nobody else sees it."""
    with tempfile.TemporaryFile() as file:
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack_weights(path, archive, file)
        except UNREADABLE as error:
            raise ModelRefusedError(f"{path.name}: {_WEIGHTS} cannot be read: {error}") from error
        file.flush()
        _open_h5(file, f"{path.name}: {_WEIGHTS}")


def _unpack_weights(path: Path, archive: zipfile.ZipFile, file: IO[bytes]) -> None:
    info = archive.getinfo(_WEIGHTS)
    if info.file_size > max(_RATIO_FREE_BYTES, _RATIO_CAP * info.compress_size):
        raise ModelRefusedError(
            f"{path.name}: {_WEIGHTS} unpacks {info.compress_size:,} bytes to {info.file_size:,}, unlike any of Keras'"
        )
    size = 0
    with archive.open(info) as member:
        while chunk := member.read(_CHUNK):
            size += len(chunk)
            if size > _WEIGHTS_CAP:
                raise ModelRefusedError(f"{path.name}: {_WEIGHTS} is larger than {_WEIGHTS_CAP >> 20} MiB")
            file.write(chunk)


def _read_h5(path: Path) -> tuple[dict[str, Json], dict[str, Json]]:
    try:
        with path.open("rb") as file:
            attributes = _open_h5(file, path.name)
    except OSError as error:
        raise ModelRefusedError(f"{path.name} cannot be read: {error.strerror or error}") from error
    text = attributes.get("model_config")
    if text is None:
        raise ModelRefusedError(f"{path.name} holds weights but no model: it has no attribute model_config")
    if len(text) > _CONFIG_CAP:
        raise ModelRefusedError(f"{path.name}: its model_config is larger than {_CONFIG_CAP >> 20} MiB")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelRefusedError(f"{path.name}: its model_config is not JSON: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("config"), dict):
        raise ModelRefusedError(f"{path.name}: its model_config describes no model")
    return config, {"keras_version": attributes.get("keras_version", "")}


def _open_h5(source: IO[bytes], shown: str) -> Mapping[str, str]:
    """The attributes we know of an HDF5 file, once it is sure that it stands alone.

    Raises:
        ModelRefusedError: if it is no HDF5 file, or asks for others.
    """
    if not _is_h5(source):
        raise ModelRefusedError(f"{shown} is not an HDF5 file, or is truncated")
    digest = _digest(source)
    if digest not in _ANSWERS:
        _ANSWERS[digest] = _ask_child(source)
    answer = _ANSWERS[digest]
    if "problem" in answer:
        problem = "".join(letter if letter.isprintable() else " " for letter in str(answer["problem"]))
        raise ModelRefusedError(f"{shown} {problem[:300]}")
    attributes: Mapping[str, str] = answer["attributes"]
    return attributes


def _digest(source: IO[bytes]) -> str:
    state = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        state.update(chunk)
    return state.hexdigest()


def _is_h5(source: IO[bytes]) -> bool:
    source.seek(0)
    found = source.read(len(_SIGNATURE)) == _SIGNATURE
    source.seek(0)
    return found


def _ask_child(source: IO[bytes]) -> dict[str, Json]:
    source.seek(0)
    command = [sys.executable, "-I", str(Path(__file__).with_name("hdf5_child.py"))]
    try:
        ended = subprocess.run(command, stdin=source, capture_output=True, timeout=_CHILD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"problem": f"is damaged: the HDF5 library did not get through it in {_CHILD_SECONDS} s"}
    try:
        answer = json.loads(ended.stdout)
    except ValueError:
        return {"problem": f"is damaged: the HDF5 library ended on it (exit code {ended.returncode})"}
    return dict(answer)


_READERS: dict[str, Callable[[Path], tuple[dict[str, Json], dict[str, Json]]]] = {
    ".keras": _read_keras,
    ".h5": _read_h5,
    ".hdf5": _read_h5,
}


def _draws(config: dict[str, Json]) -> dict[str, Draw]:
    """Inputs that feed an Embedding are token ids below its ``input_dim``."""
    found: dict[str, Draw] = {}
    layers = [layer for layer in config.get("layers", []) if isinstance(layer, dict)]
    names = [str(layer.get("config", {}).get("name")) for layer in layers if layer.get("class_name") == "InputLayer"]
    for layer in layers:
        size = layer.get("config", {}).get("input_dim") if layer.get("class_name") == "Embedding" else None
        if not isinstance(size, int):
            continue
        feeding = json.dumps(layer.get("inbound_nodes", []))
        for name in names:
            if json.dumps(name) in feeding or not layer.get("inbound_nodes"):
                high = min(size - 1, int(found[name].high or size)) if name in found else size - 1
                found[name] = Draw(low=0, high=high, whole=True, source="what Embedding behind it takes")
    return found


def _walk(value: Json) -> Iterator[ForeignClass]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _walk(item)
    if not isinstance(value, Mapping):
        return
    class_name = value.get("class_name")
    if isinstance(class_name, str):
        module, registered = value.get("module"), value.get("registered_name")
        function = value.get("config") if isinstance(value.get("config"), str) else None
        if not is_known(module, class_name, registered, function):
            name = function or class_name
            # functions, and all of Keras 2's, have the registered name for their own
            key = name if ">" in name else None if class_name == "function" else registered
            yield ForeignClass(
                name=name,
                module=None if module is None else str(module),
                registered=None if key is None else str(key),
                fallback_known=is_known(module, class_name, None, function),
            )
    for item in value.values():
        yield from _walk(item)


def _inputs(path: Path, config: dict[str, Json]) -> tuple[InputSpec, ...]:
    try:
        found = tuple(_input_layers(config["config"]))
        if found:
            return found
        shape = (config.get("build_config") or {}).get("input_shape")
        if isinstance(shape, list) and shape and not isinstance(shape[0], list):
            return (_input("input", shape, "float32"),)
    except (AttributeError, KeyError, TypeError) as error:
        raise ModelRefusedError(f"{path.name}: config.json is no configuration of Keras' ({error!r})") from error
    raise ModelRefusedError(f"{path.name} does not say what its inputs are; save it after it was built")


def _input_layers(config: dict[str, Json]) -> Iterator[InputSpec]:
    layers = config.get("layers", [])
    first = layers[0].get("config", {}) if layers and isinstance(layers[0], dict) else {}
    if layers and layers[0].get("class_name") != "InputLayer" and first.get("batch_input_shape"):
        # Keras 2's sequential models say it in their first layer
        yield _input(f"{first.get('name')}_input", first["batch_input_shape"], first.get("dtype") or "float32")
    for layer in layers:
        if isinstance(layer, dict) and layer.get("class_name") == "InputLayer":
            settings = layer["config"]
            shape = settings.get("batch_shape") or settings.get("batch_input_shape") or [None]
            name = str(settings.get("name") or layer.get("name"))
            yield _input(name, shape, settings.get("dtype") or "float32")


def _input(name: str, shape: Json, dtype: Json) -> InputSpec:
    """An input as the file declares it.

    Raises:
        TypeError: if sizes are no sizes, or the dtype is none.
    """
    if not all(size is None or (isinstance(size, int) and size >= 0) for size in shape):
        raise TypeError(f"input {name!r} has shape {shape!r}")
    if dtype != "string":
        dtype_named(dtype)
    return InputSpec(name, tuple(shape[1:]), dtype)
