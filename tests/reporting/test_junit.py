"""JUnit and SARIF of the run itself: nobody is green or successful who gave no answer."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from tensorparity.core.finding import Class
from tensorparity.reporting import junit, sarif
from tensorparity.reporting.facts import Facts, KnownFacts

from .conftest import JAX, SAMPLES, TF, TORCH, compare, failing, finding, hunt_findings, passing, targets, undecided

NAN = "The data holds NaN or infinite values (2 in x)."
DIFFERING = (passing(TF, JAX), failing(TF, TORCH))


def suites(facts: Facts) -> Any:
    return ElementTree.fromstring(junit.render(facts))


def totals(facts: Facts) -> tuple[int, ...]:
    return tuple(int(suites(facts).get(name)) for name in ("tests", "failures", "errors", "skipped"))


def invocation(facts: Facts) -> tuple[bool, list[tuple[str, str]]]:
    (found,) = json.loads(sarif.render(facts))["runs"][0]["invocations"]
    told = [(one["level"], one["message"]["text"]) for one in found["toolExecutionNotifications"]]
    return found["executionSuccessful"], told


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (compare(), (3, 0, 0, 0)),
        (compare(comparisons=(passing(TF, JAX), undecided(TF, TORCH, "why"))), (2, 0, 0, 1)),
        (compare(comparisons=(), targets=targets(torch=("broken", "no wheel"))), (2, 0, 0, 2)),
        (compare(comparisons=DIFFERING, findings=(finding("f"),)), (3, 2, 0, 0)),
        (compare(comparisons=DIFFERING, findings=(finding("f", Class.PRECISION),)), (3, 0, 0, 0)),
        (
            compare(comparisons=DIFFERING, findings=(finding("f"),), known=(KnownFacts("s", "so", findings=("f",)),)),
            (3, 0, 0, 1),
        ),
        (compare(comparisons=DIFFERING), (2, 0, 0, 1)),
        (compare(interrupted=True, unanswered=("it was not trained",)), (5, 0, 1, 1)),
        (compare(suspected=((TORCH,),)), (4, 0, 0, 1)),
    ],
    ids=["same", "undecided", "nothing", "defect", "rounding", "known", "nobody", "interrupted", "suspected"],
)
def test_every_comparison_is_a_case(facts: Facts, expected: tuple[int, ...]) -> None:
    assert totals(facts) == expected


def test_a_reason_is_given_for_what_is_skipped() -> None:
    root = suites(compare(comparisons=(undecided(TF, TORCH, "three targets are needed"),)))
    (skipped,) = root.iter("skipped")
    assert skipped.get("message") == "not decided: three targets are needed"
    (case,) = root.iter("testcase")
    assert case.get("name") == "keras:tensorflow / keras:torch, output output"


def test_alerts_are_in_both() -> None:
    facts = compare(alerts=(NAN,), planted={TF: "avgpool-counts-padding"})
    said = [entry.get("value") for entry in suites(facts).iter("property")]
    assert "Fault avgpool-counts-padding is planted in keras:tensorflow." in said
    assert NAN in said
    successful, told = invocation(facts)
    assert successful
    assert {("warning", text) for text in said} <= set(told)


@pytest.mark.parametrize(
    ("changes", "level", "said"),
    [
        ({"interrupted": True}, "error", "the run was interrupted"),
        ({"unanswered": ("it was not trained",)}, "warning", "it was not trained"),
        ({"targets": targets(torch=("broken", "no wheel"))}, "warning", "keras:torch: broken (no wheel)"),
    ],
)
def test_a_run_that_did_not_do_all_was_not_successful(changes: dict[str, Any], level: str, said: str) -> None:
    successful, told = invocation(compare(**changes))
    assert (successful, told) == (False, [(level, said)])


def test_what_is_undecided_is_told() -> None:
    successful, told = invocation(compare(comparisons=(undecided(TF, TORCH, "why"),)))
    assert (successful, told) == (True, [("warning", "keras:tensorflow / keras:torch: not decided (why)")])


def test_a_campaign_has_no_suite_of_its_own_without_anything_to_say() -> None:
    assert [suite.get("name") for suite in suites(hunt_findings())] == ["muffin", "predoo", "cradle"]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_totals_are_those_of_the_suites(name: str) -> None:
    root = suites(SAMPLES[name]())
    for total in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(total)) == sum(int(suite.get(total)) for suite in root)
