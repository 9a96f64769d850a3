"""Real libraries through the command line; what is expensive is run once and looked at by many tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tensorparity.reporting.json_document import load_schema


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
