"""The site builds, and no link in it leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def entries(menu: list[Any]) -> list[str]:
    """The pages of a menu, from top to bottom."""
    values = [value for item in menu for value in (item.values() if isinstance(item, dict) else [item])]
    return [page for value in values for page in ([value] if isinstance(value, str) else entries(value))]


def test_every_page_is_in_the_menu_once_and_every_entry_is_a_page() -> None:
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(entries(SITE["nav"])) == sorted(pages)


def test_pages_of_the_site_link_to_nothing_outside_of_it() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            inside = "://" in link or (path.parent / link).resolve().is_relative_to(ROOT / "docs")
            assert inside, f"{path.name}: {link}"


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("material")
    run = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    ran = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    for name in ("index", "guide/compare/index", "models/index", "reference/index"):
        assert (tmp_path / "site" / f"{name}.html").exists()
