"""The page of rules is what the rules say."""

from __future__ import annotations

from pathlib import Path

from tensorparity.generators.equivalences.page import page

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "equivalences.md").read_text(encoding="utf-8") == page()
