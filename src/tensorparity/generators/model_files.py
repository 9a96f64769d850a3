"""Keras' model files, inspected before anything loads them.

A ``.keras`` file is a zip with a JSON configuration, an ``.h5`` file holds one as an attribute. Every
class it names must be one of Keras' own that cannot run foreign code, or the file is refused unless
the user trusts it (decision 17).
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.archives import UNREADABLE
from ..core.arrays import dtype_named
from ..core.case import ModelFile
from ..core.errors import ModelRefusedError
from ..core.graph import InputSpec
from ..core.jsontext import Json
from ..operators.known_classes import is_known
from .inputs import Draw

_CONFIG_CAP = 64 << 20
_KERAS_MEMBERS = ("config.json", "metadata.json", "model.weights.h5")


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A file that may be loaded: its identity, its inputs, and what was noticed on the way."""

    model: ModelFile
    inputs: tuple[InputSpec, ...]
    keras_version: str
    foreign: tuple[str, ...] = ()
    draws: Mapping[str, Draw] = field(default_factory=dict)


def inspect_model_file(path: Path, *, trust: bool = False, imports: bool = False) -> InspectedFile:
    """Look into a model file without loading it.

    Args:
        trust: the user takes the responsibility for what the file may run.
        imports: the user brings modules of their own; foreign classes may come from there.

    Raises:
        ModelRefusedError: missing, not a model, damaged, or naming classes nobody vouches for.
    """
    if not path.exists():
        raise ModelRefusedError(f"no model at {str(path)!r}")
    if path.is_dir():
        raise ModelRefusedError(f"{str(path)!r} is a folder; expected a model file")
    if path.suffix not in _READERS:
        raise ModelRefusedError(
            f"{path.name!r} has no suffix of a model; expected one of {', '.join(sorted(_READERS))}"
        )
    config, metadata = _READERS[path.suffix](path)
    foreign = _all_foreign(path, config)
    if foreign and not trust and not imports:
        raise ModelRefusedError(
            f"{path.name} names {', '.join(foreign)}, which could run code of its own; "
            f"refused without --trust (or --import MODULE that defines it)"
        )
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return InspectedFile(
        model=ModelFile(str(path.resolve()), sha256, "keras" if path.suffix == ".keras" else "h5"),
        inputs=_inputs(path, config),
        draws=_draws(config["config"]),
        keras_version=str(metadata.get("keras_version", "")),
        foreign=foreign,
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


def _read_h5(path: Path) -> tuple[dict[str, Json], dict[str, Json]]:
    try:
        import h5py
    except ImportError as error:
        raise ModelRefusedError(f"{path.name}: reading HDF5 needs h5py; pip install h5py") from error
    try:
        with h5py.File(path, "r") as file:
            _refuse_links(path, file)
            text = file.attrs.get("model_config")
            version = file.attrs.get("keras_version", "")
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise ModelRefusedError(f"{path.name} is not an HDF5 file, or is truncated: {error}") from error
    if text is None:
        raise ModelRefusedError(f"{path.name} holds weights but no model: it has no attribute model_config")
    try:
        config = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelRefusedError(f"{path.name}: its model_config is not JSON: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("config"), dict):
        raise ModelRefusedError(f"{path.name}: its model_config describes no model")
    shown = version.decode() if isinstance(version, bytes) else str(version)
    return config, {"keras_version": shown}


def _refuse_links(path: Path, group: Any) -> None:
    """External links would make the library read other files."""
    for name in group:
        link = group.get(name, getlink=True)
        if type(link).__name__ == "ExternalLink":
            raise ModelRefusedError(f"{path.name}: {name!r} is a link to another file")
        item = group[name]
        if hasattr(item, "keys"):
            _refuse_links(path, item)


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
                found[name] = Draw(low=0, high=high, whole=True)
    return found


def _all_foreign(path: Path, config: Json) -> tuple[str, ...]:
    try:
        return tuple(sorted(set(_foreign_classes(config))))
    except RecursionError as error:
        raise ModelRefusedError(f"{path.name}: config.json is nested too deeply") from error


def _foreign_classes(value: Json) -> Iterator[str]:
    """Every class or function in a configuration that is not Keras' own, as ``module.Class``."""
    if isinstance(value, list):
        for item in value:
            yield from _foreign_classes(item)
    if not isinstance(value, dict):
        return
    class_name = value.get("class_name")
    if isinstance(class_name, str):
        module, registered = value.get("module"), value.get("registered_name")
        function = value.get("config") if isinstance(value.get("config"), str) else None
        if not is_known(module, class_name, registered, function):
            shown = function or class_name
            yield f"{module}.{shown}" if module else shown
    for item in value.values():
        yield from _foreign_classes(item)


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
