"""Real libraries through the command line; what is expensive is run once and looked at by many tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tensorparity.reporting.json_document import load_schema

_NEEDS = {
    "tensorflow": ("keras", "tensorflow"),
    "jax": ("keras", "jax"),
    "torch": ("keras", "torch"),
    "onnxruntime": ("onnxruntime",),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test marked with a library is skipped where the library is missing."""
    for item in items:
        for marker, modules in _NEEDS.items():
            missing = [name for name in modules if importlib.util.find_spec(name) is None]
            if missing and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def valid() -> Callable[[Any], Any]:
    """The document, once it has been found to obey the schema."""
    validator = jsonschema.Draft202012Validator(load_schema())

    def check(document: Any) -> Any:
        validator.validate(document)
        return document

    return check


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("end-to-end")
