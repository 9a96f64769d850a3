"""Exit codes follow one rule for every command."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from tensorparity.cli.exit_codes import FailOn, FailOnOption, exit_code
from tensorparity.core.comparison import Comparison
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.reporting.facts import Facts, KnownFacts, TargetFacts
from tensorparity.reporting.summary import Tone, summarize

A, B = "keras:jax", "keras:torch"
FACTS = Facts("compare", 0, (TargetFacts(A, status="completed"), TargetFacts(B, status="completed")), {})
OFF = Finding(
    "cradle-1",
    "cradle",
    Kind.INCONSISTENCY,
    Stage.FORWARD,
    (A, B),
    Diagnosis(Class.DEFECT, (B,), api="keras.layers.Activation", relative=1e-7),
    "signature",
)


def pair(judgement: Judgement, labels_changed: int | None = 0) -> Comparison:
    return Comparison(A, B, "y", Verdict(judgement, (A, B), ""), 32, labels_changed=labels_changed)


def test_digits_are_a_remark_where_the_outputs_agree() -> None:
    agreeing = replace(FACTS, findings=(OFF,), comparisons=(pair(Judgement.PASS),))
    assert exit_code(agreeing, FailOn(), False) == 0
    assert exit_code(agreeing, FailOn(digits=True), False) == 1
    assert summarize(agreeing).headline == "The model is the same on keras:jax and keras:torch."
    assert agreeing.defects == ()
    differing = replace(agreeing, comparisons=(pair(Judgement.FAIL),))
    assert exit_code(differing, FailOn(), False) == 1


def test_digits_are_a_defect_of_an_operator() -> None:
    assert exit_code(replace(FACTS, findings=(OFF,)), FailOn(), False) == 1


def test_what_is_wrong_is_no_remark() -> None:
    wrong = replace(OFF, diagnosis=replace(OFF.diagnosis, relative=0.1))
    assert exit_code(replace(FACTS, findings=(wrong,), comparisons=(pair(Judgement.PASS),)), FailOn(), False) == 1


@pytest.mark.parametrize(("fail_on", "code"), [("undecided", 1), ("defect", 0), ("flaky,undecided", 1)])
def test_undecided_fails_where_it_is_asked_for(fail_on: str, code: int) -> None:
    undecided = replace(FACTS, stats={"undecided": 1}, comparisons=(pair(Judgement.UNDECIDED),))
    assert exit_code(undecided, FailOnOption().convert(fail_on, None, None), False) == code
    assert summarize(undecided).tone is Tone.UNDECIDED


def test_a_campaign_that_judged_nothing_has_failed() -> None:
    hunted = replace(FACTS, command="hunt", stats={"cases": 0})
    assert exit_code(hunted, FailOn(), False) == 3
    assert exit_code(replace(hunted, stats={"cases": 1}), FailOn(), False) == 0
    assert exit_code(replace(hunted, command="report"), FailOn(), False) == 0, (
        "an empty store is no failure of a report"
    )


@pytest.mark.parametrize("fail_on", ["precision", "flaky", "specification,unsupported", "undecided", "digits"])
def test_whatever_else_fails_a_defect_does(fail_on: str) -> None:
    wrong = replace(OFF, diagnosis=replace(OFF.diagnosis, relative=0.1))
    assert exit_code(replace(FACTS, findings=(wrong,)), FailOnOption().convert(fail_on, None, None), False) == 1


@pytest.mark.parametrize(("status", "asked", "code"), [("unsupported", True, 3), ("unsupported", False, 0)])
def test_a_target_that_was_asked_for_and_ran_nothing_is_a_failure(status: str, asked: bool, code: int) -> None:
    facts = replace(FACTS, targets=(TargetFacts(A, status="completed"), TargetFacts(B, status=status)))
    assert exit_code(facts, FailOn(), False, asked=asked) == code


SAME = replace(FACTS, comparisons=(pair(Judgement.PASS),))
RAISED = (TargetFacts(A, status="completed"), TargetFacts(B, status="raised", reason="ValueError: no"))


@pytest.mark.parametrize(
    "facts",
    [
        replace(SAME, comparisons=(pair(Judgement.PASS, labels_changed=1),)),
        replace(SAME, targets=RAISED),
        replace(SAME, suspected=((B,),)),
        replace(SAME, unanswered=("the training that was asked for never ran",)),
        replace(SAME, comparisons=()),
        replace(FACTS, command="hunt", suspected=((B,),)),
    ],
    ids=["labels", "raised", "suspected", "unanswered", "nothing", "hunt"],
)
def test_whatever_leaves_the_headline_open_is_undecided(facts: Facts) -> None:
    assert summarize(facts).tone is Tone.UNDECIDED
    assert exit_code(facts, FailOn(), False) == 0
    assert exit_code(facts, FailOn(undecided=True), False) == 1
    assert exit_code(SAME, FailOn(undecided=True), False) == 0


def test_what_is_found_to_be_rounding_is_decided() -> None:
    rounding = replace(OFF, diagnosis=replace(OFF.diagnosis, klass=Class.PRECISION))
    differing = replace(SAME, comparisons=(pair(Judgement.FAIL),), findings=(rounding,))
    assert exit_code(differing, FailOn(undecided=True), False) == 0


@pytest.mark.parametrize("status", ["raised", "timed out", "crashed", "out of memory", "broken", "unsupported"])
def test_a_target_of_a_comparison_that_gave_no_answer_never_ran(status: str) -> None:
    facts = replace(SAME, targets=(RAISED[0], TargetFacts(B, status=status)))
    assert exit_code(facts, FailOn(), False, asked=True) == 3
    assert exit_code(facts, FailOn(), False) == 0
    known = replace(facts, findings=(OFF,), known=(KnownFacts("s", "reported", findings=(OFF.id,)),))
    assert exit_code(known, FailOn(), False, asked=True) == 0


def test_a_target_that_raised_in_a_case_of_a_hunt_has_run_others() -> None:
    assert exit_code(replace(FACTS, command="hunt", targets=RAISED), FailOn(), False, asked=True) == 0


def test_an_interrupted_run_did_not_do_what_it_was_asked_for() -> None:
    assert exit_code(replace(FACTS, interrupted=True), FailOn(), False) == 3
    assert exit_code(replace(FACTS, interrupted=True, findings=(OFF,)), FailOn(), False) == 1


def test_defects_always_count() -> None:
    assert FailOnOption().convert("undecided,digits", None, None) == FailOn((Class.DEFECT,), True, True)
    with pytest.raises(click.BadParameter, match="known are defect"):
        FailOnOption().convert("crimes", None, None)
