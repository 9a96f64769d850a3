"""Tiny .keras files, written by hand: a zip with three members."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture
def layer() -> Callable[..., dict[str, Any]]:
    return keras_layer


@pytest.fixture
def config() -> Callable[..., dict[str, Any]]:
    return model_config


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Write a .keras file: the configuration as an object or as raw bytes, members left out by name."""

    def write(configuration: Any = None, *, without: str = "", name: str = "tiny.keras") -> Path:
        flatten = keras_layer("Flatten", "flat")
        raw = configuration if isinstance(configuration, bytes) else None
        members = {
            "config.json": raw or json.dumps(configuration or model_config(flatten)).encode(),
            "metadata.json": json.dumps({"keras_version": "3.15.1"}).encode(),
            "model.weights.h5": bytes(range(256)) * 4,
        }
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                if member != without:
                    archive.writestr(member, data)
        return path

    return write
