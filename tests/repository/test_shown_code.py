"""Code that the documents show: that of the example package is what stands there, and every snippet is Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "tensorparity-example"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)


SNIPPETS = [(path.name, code) for path in PAGES for code in blocks(path, "python")]


@pytest.mark.parametrize(
    ("page", "code"), SNIPPETS, ids=[f"{page}-{place}" for place, (page, _) in enumerate(SNIPPETS)]
)
def test_it_is_python(page: str, code: str) -> None:
    ast.parse(code)


def test_the_guide_shows_the_example_package_as_it_is() -> None:
    page = ROOT / "docs" / "guide" / "extend.md"
    shown = blocks(page, "python")
    assert len(shown) >= 4
    for code in shown:
        name, _, body = code.partition("\n")
        file = EXAMPLE / "src" / "tensorparity_example" / name.removeprefix("# ")
        assert body.strip() in file.read_text(encoding="utf-8"), f"{file.name} says something else"


def test_the_guide_shows_its_entry_points_as_they_are() -> None:
    declared = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    shown = blocks(ROOT / "docs" / "guide" / "extend.md", "toml")
    assert re.findall(r'"tensorparity\.(\w+)"', "\n".join(shown)) == ["target", "layer", "rule"]
    assert all(text.strip() in declared for text in shown)
