"""``compare`` with a fault planted in one target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Compare = Callable[..., Any]


@pytest.fixture(scope="session")
def compare(tensorparity: Any, tmp_path_factory: pytest.TempPathFactory) -> Compare:
    """Compare a model on targets, with a fault or without; give the exit code and the document.

    What is found is reduced only into a folder of its own, ``out``.
    """
    folder: Path = tmp_path_factory.mktemp("quality")

    def run(
        model: object,
        targets: str,
        fault: str = "",
        instances: int = 4,
        timeout: float = 500,
        out: Path | None = None,
    ) -> tuple[int, Any]:
        planted = ("--fault", fault) if fault else ()
        options = ("--targets", targets, "--instances", instances, "--format", "json", "--out", out or folder)
        reducing = () if out else ("--no-reduce",)
        ended = tensorparity("compare", model, *options, *planted, *reducing, timeout=timeout)
        assert ended.stdout, ended.stderr
        return ended.code, ended.document

    return run
