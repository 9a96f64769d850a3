"""``docs/papers.md`` names places in the code and tests: all of them exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tensorparity"
_CODE = re.compile(r"`([^`]+)`")


def rows() -> list[tuple[str, str, str]]:
    """What a table says: in the paper, here, held by."""
    lines = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("|")]
    return [(row[0], row[1], row[2]) for row in cells if len(row) == 3 and row[0] not in ("in the paper", "---")]


def resolve(name: str) -> Path | None:
    return next((path for path in (PACKAGE / name, ROOT / name) if path.is_file()), None)


@pytest.mark.parametrize(("paper", "here", "held"), rows())
def test_places_and_tests_exist(paper: str, here: str, held: str) -> None:
    """Every file is there, and each name that follows a file stands in one of the files before it."""
    sources: list[str] = []
    for name in _CODE.findall(here):
        if name.endswith((".py", ".md")):
            path = resolve(name)
            assert path is not None, f"{paper}: {name} does not exist"
            sources.append(path.read_text(encoding="utf-8"))
        elif name.isidentifier():
            assert any(re.search(rf"\b{name}\b", source) for source in sources), f"{paper}: no {name} there"
    assert sources or "stats." in here, f"{paper}: no place in the code"
    tests = [name for name in _CODE.findall(held) if name.endswith((".py", ".md"))]
    assert tests, f"{paper}: nothing holds it"
    for name in tests:
        assert resolve(name) is not None, f"{paper}: {name} does not exist"


def test_there_is_a_table() -> None:
    assert len(rows()) > 20
