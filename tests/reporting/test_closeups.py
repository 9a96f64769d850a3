"""The pictures of a finding: their words, their place in the card, and drawn in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.closeup import Closeup, closeup_of
from tensorparity.reporting import html
from tensorparity.reporting.closeups import view
from tensorparity.reporting.facts import Facts
from tensorparity.reporting.redaction import redacted

from .test_map_in_browser import CHROMIUM, Browser

Sample = Callable[[str], Facts]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH")


def pair(curve: bool = False) -> tuple[Array, Array]:
    """A bump; too low at its border on one side, and NaN in one corner."""
    x, y = np.meshgrid(np.linspace(-2, 2, 12), np.linspace(-2, 2, 10))
    right = np.exp(-(x**2) - y**2)[None, :, :, None]
    given = right.copy()
    given[0, :, 0, 0] -= 0.25
    given[0, 9, 11, 0] = np.nan
    return (given[:, :, 0], right[:, :, 0]) if curve else (given, right)


def closeup(curve: bool = False) -> Closeup:
    given, right = pair(curve)
    found = closeup_of(given, right, (0, 4, 0) if curve else (0, 4, 0, 0))
    assert found is not None
    return replace(found, target="keras:torch")


def with_closeup(facts: Facts, found: Closeup) -> Facts:
    first = facts.findings[0]
    return replace(facts, findings=(replace(first, diagnosis=replace(first.diagnosis, closeup=found)),))


def test_words_say_what_the_pictures_show() -> None:
    said = view(closeup()).words
    assert said == (
        "All 120 numbers of an array of shape 1 × 10 × 12 × 1. They differ most at [0, 4, 0, 0], by 0.25: keras:torch "
        f"gives {pair()[0][0, 4, 0, 0]:.5g}, the float64 reference gives {pair()[1][0, 4, 0, 0]:.5g}. "
        "11 of those shown differ by a tenth of that or more."
    )


def test_panels_are_titled_and_say_their_range() -> None:
    titles = [(panel.title, panel.range) for panel in view(closeup()).panels]
    assert [title for title, _ in titles] == ["keras:torch", "the float64 reference", "difference"]
    assert titles[0][1].endswith(", 1 not finite")
    assert len(view(closeup(curve=True)).panels) == 2


def test_a_page_for_others_has_none(sample: Sample) -> None:
    facts = with_closeup(sample("one_defect"), closeup())
    assert "data-closeup=" in html.render(facts)
    assert "data-closeup=" not in html.render(redacted(facts))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


#: The colour in the middle of a cell, for a picture of so many columns.
_CELL = """((canvas, column, row, columns) => {
  const size = canvas.width / columns;
  return [...canvas.getContext('2d').getImageData((column + 0.6) * size, (row + 0.4) * size, 1, 1).data].slice(0, 3);
})(document.querySelectorAll('.closeup canvas')[%d], %d, %d, 12)"""


#: Whether something was drawn in the middle of every picture: a canvas is 300 wide, and empty, before that.
_DRAWN = """[...document.querySelectorAll('.closeup canvas')].every((canvas) =>
  canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[3] > 0)"""


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_pictures_show_where_the_difference_is(browser: Browser, sample: Sample, tmp_path: Path, dark: bool) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page = html.render(with_closeup(sample("one_defect"), closeup()))
    browser.open(page, tmp_path)
    browser.call("Emulation.setEmulatedMedia", features=[scheme])
    browser.open(page, tmp_path)
    browser.wait(_DRAWN)
    assert browser.run("document.querySelectorAll('.closeup .panels:not([hidden]) canvas').length") == 3
    equal, wrong, nan = (browser.run(_CELL % (2, *cell)) for cell in ((5, 4), (0, 3), (11, 9)))
    assert wrong[0] > wrong[2] + 40, "a large difference is red"
    assert equal != wrong
    given, right = browser.run(_CELL % (0, 5, 4)), browser.run(_CELL % (1, 5, 4))
    assert given == right, "both sides have one scale"
    assert browser.run(_CELL % (0, 0, 3)) != browser.run(_CELL % (1, 0, 3))
    assert nan != equal
    assert not browser.errors


@needs_browser
def test_a_curve_is_drawn_and_fits_a_telephone(browser: Browser, sample: Sample, tmp_path: Path) -> None:
    browser.open(html.render(with_closeup(sample("one_defect"), closeup(curve=True))), tmp_path)
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=900, deviceScaleFactor=1, mobile=False)
    drawn = "[...document.querySelectorAll('.closeup canvas')].map((c) => c.getContext('2d')"
    alphas = browser.run(f"{drawn}.getImageData(0, 0, c.width, c.height).data.some((value) => value > 0))")
    assert alphas == [True, True]
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.call("Emulation.clearDeviceMetricsOverride")
    assert not browser.errors


@needs_browser
def test_a_folded_card_is_drawn_when_it_is_opened(browser: Browser, sample: Sample, tmp_path: Path) -> None:
    facts = with_closeup(sample("one_defect"), closeup())
    second = replace(facts.findings[0], id="muffin-2", signature="another")
    browser.open(html.render(replace(facts, findings=(facts.findings[0], second))), tmp_path)
    hidden = "[...document.querySelectorAll('.closeup .panels')].map((panels) => panels.hidden)"
    assert browser.run(hidden) == [False, True]
    browser.run("document.querySelectorAll('.finding')[1].open = true")
    browser.wait(f"{hidden}.every((one) => !one)")
