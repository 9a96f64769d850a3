"""TensorParity: finds, diagnoses and localizes bugs in deep learning libraries.

Only the version is imported eagerly. Everything else is looked up on first use, so that
``import tensorparity`` stays fast and never touches a library under test.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "ApiCall": "tensorparity.core.case",
    "Case": "tensorparity.core.case",
    "Finding": "tensorparity.core.finding",
    "LayerGraph": "tensorparity.core.graph",
    "ModelFile": "tensorparity.core.case",
    "Node": "tensorparity.core.graph",
    "Outcome": "tensorparity.core.outcome",
    "ParityError": "tensorparity.api",
    "ParityResult": "tensorparity.api",
    "Procedure": "tensorparity.core.procedure",
    "Verdict": "tensorparity.core.verdict",
    "compare": "tensorparity.api",
    "open_runner": "tensorparity.targets.runner",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tensorparity' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
