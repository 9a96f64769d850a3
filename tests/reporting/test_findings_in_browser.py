"""A page with few, many and thousands of findings, in a real browser: how soon it can be used, and on a telephone."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tensorparity.reporting import html
from tensorparity.reporting.facts import Facts

from .test_html import many
from .test_map_in_browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH")
Sample = Callable[[str], Facts]
#: The page itself takes a tenth of this; a loaded machine takes the rest.
SECONDS = 10.0
_TIME = "performance.now() / 1000"
_SCRIPT_DONE = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd / 1000"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.parametrize("count", [12, 500, 5000])
def test_it_can_be_used_at_once_at_any_width(
    browser: Browser, sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    browser.open(html.render(many(sample("one_defect"), count)), tmp_path)
    parsed, ready = browser.run(_SCRIPT_DONE), browser.run(_TIME)
    with capsys.disabled():
        sys.stdout.write(f"\n{count} findings: parsed after {parsed:.2f} s, can be used after {ready:.2f} s\n")
    assert ready < SECONDS
    assert browser.run("document.querySelectorAll('#findings > .finding').length") == min(count, 100)
    assert browser.run("document.querySelectorAll('#findings > .finding[open]').length") == 1
    for width, dark in itertools.product((1280, 390), (False, True)):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.call("Emulation.setEmulatedMedia", features=[scheme])
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        assert browser.run("document.documentElement.scrollWidth") <= width, "nothing hangs out at the side"
        background = browser.run("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        assert (max(background[:3]) < 100) is dark
    assert not browser.errors


LINKED = "document.getElementById('finding-{}')"
IN_VIEW = "(() => {{ const box = {}.getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0; }})()"


def follow(browser: Browser, number: int) -> None:
    """As if a link were clicked: the event comes when the browser has the time."""
    came = "new Promise((done) => addEventListener('hashchange', () => setTimeout(() => done(true), 50), {once: true}))"
    assert browser.run(f"(() => {{ const came = {came}; location.hash = 'finding-{number}'; return came; }})()")


def choose_kind(browser: Browser, kind: str) -> None:
    browser.run(
        "(() => { const s = document.querySelector('select[data-by=kind]'); s.value = '" + kind + "';"
        " s.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


@pytest.mark.parametrize("kind", ["", "nan"])
@pytest.mark.parametrize("number", [5, 130])
def test_a_link_opens_a_card_that_was_not_drawn_or_is_hidden_by_a_filter(
    browser: Browser, sample: Sample, tmp_path: Path, kind: str, number: int
) -> None:
    """A card of the first ones, and one that is still packed; of another kind than the filter's."""
    browser.open(html.render(many(sample("one_defect"), 150)), tmp_path)
    choose_kind(browser, kind)
    card = LINKED.format(number)
    assert browser.run(f"{card} === null") is ((number > 100) != bool(kind)), "not drawn, or hidden"
    follow(browser, number)
    assert browser.run(f"{card}.open") is True
    assert browser.run(IN_VIEW.format(card)) is True
    left = browser.run("document.querySelector('select[data-by=kind]').value")
    assert left == ("" if number == 5 else kind), "a filter that would hide it is gone, any other stays"
    assert not browser.errors


def test_a_link_into_a_group_is_drawn_as_far_as_it(browser: Browser, sample: Sample, tmp_path: Path) -> None:
    browser.open(html.render(many(sample("one_defect"), 450)), tmp_path)
    browser.run(
        "(() => { const s = document.querySelector('select.grouping'); s.value = 'kind';"
        " s.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    last = LINKED.format(449)
    assert browser.run(f"{last} === null") is True
    follow(browser, 449)
    assert browser.run(f"{last}.open") is True
    assert browser.run(IN_VIEW.format(last)) is True


def test_findings_are_grouped_the_worst_of_each_first(browser: Browser, sample: Sample, tmp_path: Path) -> None:
    browser.open(html.render(many(sample("one_defect"), 150)), tmp_path)
    heads = "[...document.querySelectorAll('#findings > h3.group')].map((head) => head.textContent)"
    assert browser.run(heads) == []
    choose = "(value) => { const s = document.querySelector('select.grouping'); s.value = value;" \
        " s.dispatchEvent(new Event('input', { bubbles: true })); }"  # fmt: skip
    browser.run(f"({choose})('kind')")
    assert browser.run(heads) == ["crash · 50", "inconsistency · 50"], "a hundred cards are drawn at first"
    browser.run("document.getElementById('more-button').click()")
    assert browser.run(heads) == ["crash · 50", "inconsistency · 50", "nan · 50"]
    browser.run(f"({choose})('')")
    assert browser.run(heads) == []
    assert not browser.errors
