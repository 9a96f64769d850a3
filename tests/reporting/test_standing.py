"""Whatever the format: a remark fails nothing, what is accepted is called known, and all count alike."""

from __future__ import annotations

import io
import json
import re
import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tensorparity.core.finding import Class, Finding
from tensorparity.core.verdict import Kind, Measure
from tensorparity.reporting import html, junit, markdown, sarif
from tensorparity.reporting.facts import Facts, KnownFacts
from tensorparity.reporting.standing import standings
from tensorparity.reporting.summary import summarize
from tensorparity.reporting.terminal import render as render_terminal

from .conftest import JAX, TF, TORCH, compare, failing, finding, hunt_findings, passing

ACTION = Path(__file__).parents[2] / "action" / "run.py"
KNOWN = (KnownFacts("signature-acc", "as documented by torch", findings=("acc",)),)


def digits() -> Finding:
    """A layer that is off in its last digits."""
    return finding("dig", kind=Kind.PRECISION, measure=Measure("relative", 1e-5))


def remarked() -> Facts:
    return compare(findings=(digits(),))


def accepted() -> Facts:
    pairs = (passing(TF, JAX), failing(TF, TORCH), failing(JAX, TORCH))
    return compare(findings=(finding("acc"),), comparisons=pairs, known=KNOWN)


def terminal(facts: Facts) -> str:
    stream = io.StringIO()
    render_terminal(facts, Console(file=stream, width=200))
    return stream.getvalue()


def badges(page: str) -> list[str]:
    return re.findall(r'<span class="badge[^>]*>([^<✓✗?]*)</span>', page)


def card(page: str) -> str:
    (found,) = re.findall(r'<details class="card finding.*?</details>', page, re.DOTALL)
    return str(found)


class TestARemark:
    def test_junit_passes_and_says_so(self) -> None:
        text = junit.render(remarked())
        assert 'failures="0"' in text
        assert "<system-out>remark: a layer costs digits" in text

    def test_sarif_informs(self) -> None:
        (result,) = json.loads(sarif.render(remarked()))["runs"][0]["results"]
        assert (result["kind"], result["level"]) == ("informational", "none")
        assert "outputs agree" in result["properties"]["meaning"]

    def test_the_action_counts_nothing_new(self) -> None:
        outputs = runpy.run_path(str(ACTION))["_outputs"]
        files = dict.fromkeys(("json", "sarif"), Path("nowhere"))

        def new(facts: Facts) -> Any:
            return dict(outputs(facts.document(), files, Path("nowhere"), 0))["new-findings"]

        assert new(remarked()) == 0
        assert new(hunt_findings()) == 4, "four in d0 to d3 and beef: three clusters and one more"

    def test_markdown_has_a_part_for_it(self) -> None:
        page = markdown.render(remarked())
        assert "## Remarks" in page
        assert "keras.layers.Conv2D" in page
        assert "No new defects" not in page

    def test_the_terminal_has_a_line_for_it(self) -> None:
        assert "Remark: keras.layers.Conv2D with padding='same', strides=2 gives inexact numbers" in terminal(
            remarked()
        )

    def test_its_card_is_not_red(self) -> None:
        page = html.render(remarked())
        assert badges(page) == ["remark · 1", "remark"]
        assert "tone-fail" not in card(page)


class TestWhatIsAccepted:
    def test_its_card_says_known_and_why(self) -> None:
        page = html.render(accepted())
        assert badges(page) == ["known · 1", "known"]
        assert "as documented by torch" in card(page)
        assert "tone-fail" not in card(page)

    def test_markdown_says_why(self) -> None:
        page = markdown.render(accepted())
        assert "## No new defects" in page
        assert "known: accepted in tensorparity.toml (as documented by torch)" in page

    def test_it_is_no_remark_even_if_it_only_costs_digits(self) -> None:
        facts = compare(findings=(digits(),), known=(KnownFacts("s", "r", findings=("dig",)),))
        assert standings(facts) == {"dig": "known"}


def test_defects_are_counted_alike_everywhere() -> None:
    facts = hunt_findings()
    assert "4 defects" in summarize(facts).headline
    assert "defect · 4" in badges(html.render(facts))
    assert re.search(r"^ *defect +4 ", terminal(facts), re.MULTILINE)
    assert facts.document()["stats"]["new_defects"] == 4
    assert 'failures="4"' in junit.render(facts).splitlines()[1]
    results = json.loads(sarif.render(facts))["runs"][0]["results"]
    assert sum(result["kind"] == "fail" for result in results) == 4
    assert len(re.findall(r"^## .* gives", markdown.render(facts), re.MULTILINE)) == 4


@pytest.mark.parametrize("render", [junit.render, sarif.render])
def test_a_defect_that_was_met_twice_names_the_finding_that_is_counted(render: Callable[[Facts], str]) -> None:
    first, second = (replace(finding(name), cluster="one") for name in ("first", "second"))
    text = render(compare(findings=(first, second)))
    assert text.count("another sighting of first") == 1
    assert "another sighting" not in render(compare(findings=(first, replace(second, cluster="two"))))


@pytest.mark.parametrize(("facts", "title"), [(hunt_findings(), "Other findings"), (accepted(), "No new defects")])
def test_markdown_says_no_new_defects_only_where_there_are_none(facts: Facts, title: str) -> None:
    titles = [line[3:] for line in markdown.render(facts).splitlines() if line.startswith("## ")]
    assert title in titles
    assert len({"Other findings", "No new defects"} & set(titles)) == 1


@pytest.mark.parametrize("klass", [klass for klass in Class if klass is not Class.DEFECT])
def test_other_classes_stand_as_what_they_are(klass: Class) -> None:
    assert standings(compare(findings=(finding("f", klass),))) == {"f": klass.value}
