"""The catalogue's page is what the catalogue says today."""

from __future__ import annotations

from pathlib import Path

from tensorparity.operators.catalogue import layer_names
from tensorparity.operators.page import page

PAGE = Path(__file__).parents[2] / "docs" / "catalogue.md"


def test_the_page_is_current():
    again = "python -m tensorparity.operators.page > docs/catalogue.md"
    assert PAGE.read_text(encoding="utf-8") == page(), f"the catalogue has changed: {again}"


def test_every_layer_has_a_heading_and_its_values():
    text = page()
    for name in layer_names():
        assert f"\n### {name}\n" in text
    assert '- `padding`: **`"valid"`**, `"same"`' in text
    assert '! `"no_such_activation"`' in text
