"""Tiny .keras files, written by hand: a zip with three members."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

WriteModel = Callable[..., Path]


def keras_layer(class_name: str, name: str, **config: Any) -> dict[str, Any]:
    return {
        "module": "keras.layers",
        "class_name": class_name,
        "config": {"name": name, **config},
        "registered_name": None,
    }


def model_config(*layers: dict[str, Any], shape: list[Any] | None = None, dtype: Any = "float32") -> dict[str, Any]:
    """A functional model of one input and these layers."""
    source = keras_layer("InputLayer", "image", batch_shape=shape or [None, 4, 4, 1], dtype=dtype)
    config = {"name": "tiny", "layers": [source, *layers]}
    return {"module": "keras", "class_name": "Functional", "config": config, "registered_name": "Functional"}


def _hdf5(fill: Callable[[Any], None] = lambda file: None) -> bytes:
    """The bytes of an HDF5 file."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        fill(file)
    return buffer.getvalue()


@pytest.fixture
def hdf5() -> Callable[..., bytes]:
    return _hdf5


@pytest.fixture
def write_h5(tmp_path: Path) -> Callable[..., Path]:
    """Write an .h5 model: its configuration as an object or as text, and what else to fill it with."""

    def write(configuration: dict[str, Any] | str, fill: Callable[[Any], None] = lambda file: None) -> Path:
        def fill_all(file: Any) -> None:
            fill(file)
            file.attrs["model_config"] = configuration if isinstance(configuration, str) else json.dumps(configuration)
            file.attrs["keras_version"] = "3.15.1"

        path = tmp_path / "tiny.h5"
        path.write_bytes(_hdf5(fill_all))
        return path

    return write


@pytest.fixture
def layer() -> Callable[..., dict[str, Any]]:
    return keras_layer


@pytest.fixture
def config() -> Callable[..., dict[str, Any]]:
    return model_config


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Write a .keras file: the configuration as an object or as raw bytes, members left out by name."""

    def write(
        configuration: Any = None, *, without: str = "", name: str = "tiny.keras", weights: bytes | None = None
    ) -> Path:
        flatten = keras_layer("Flatten", "flat")
        raw = configuration if isinstance(configuration, bytes) else None
        members = {
            "config.json": raw or json.dumps(configuration or model_config(flatten)).encode(),
            "metadata.json": json.dumps({"keras_version": "3.15.1"}).encode(),
            "model.weights.h5": _hdf5() if weights is None else weights,
        }
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                if member != without:
                    archive.writestr(member, data)
        return path

    return write
