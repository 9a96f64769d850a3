"""What benchmarks import of the package is there: they are run by hand, so nothing else would say so."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_everything_imported_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tensorparity":
            module = importlib.import_module(node.module or "")
            missing = [alias.name for alias in node.names if not _is_there(module, alias.name)]
            assert not missing, f"{path.name}, line {node.lineno}: {node.module} has no {', '.join(missing)}"


def _is_there(module: object, name: str) -> bool:
    if hasattr(module, name):
        return True
    try:
        importlib.import_module(f"{getattr(module, '__name__', '')}.{name}")
    except ModuleNotFoundError:
        return False
    return True
