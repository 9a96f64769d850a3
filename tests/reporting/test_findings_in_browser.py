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
