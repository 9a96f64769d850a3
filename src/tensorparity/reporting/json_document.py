"""The machine-readable contract: one strict JSON document per command, and the schema it obeys."""

from __future__ import annotations

import json
from importlib import resources
from typing import cast

from ..core import jsontext
from ..core.jsontext import Json
from .facts import Facts


def render(facts: Facts) -> str:
    """The document as text that can be written in UTF-8 whatever a layer is called."""
    text = jsontext.document(facts.document())
    # A lone surrogate in a name becomes \udXXX, which inside a JSON string is its proper escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def load_schema() -> dict[str, Json]:
    """The JSON Schema (2020-12) of every command's document."""
    text = resources.files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
    return cast("dict[str, Json]", json.loads(text))
