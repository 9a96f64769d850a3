"""Functions whose documentation says that they follow NumPy's of some name."""

from __future__ import annotations

import re

import numpy as np

from ..api_inputs import Api, ApiListing

#: How libraries say it: "JAX implementation of :func:`numpy.take`", "TensorFlow variant of NumPy's `take`".
_SAID = (
    re.compile(r"implementation of :(?:func|data|obj|class):`numpy\.([\w.]+)`"),
    re.compile(r"variant of NumPy's `([\w.]+)`"),
    re.compile(r"(?:equivalent to|analogous to|same as|like) (?:NumPy's )?`{0,2}(?:np|numpy)\.([\w.]+)`{0,2}"),
)
_HEAD = 1200


def followed(listing: ApiListing) -> dict[str, str]:
    """By function, the name below ``numpy`` of the one it is documented to follow, where NumPy has it."""
    found = {}
    for api in listing.apis.values():
        name = _named(api)
        if name and _exists(name):
            found[api.name] = name
    return found


def _named(api: Api) -> str:
    head = api.doc[:_HEAD]
    return next((match[1] for pattern in _SAID if (match := pattern.search(head))), "")


def _exists(name: str) -> bool:
    found: object = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)
