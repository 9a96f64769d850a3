"""An answer never flatters: "the same" only where all is decided and no label changed, a planted fault on top."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tensorparity.commands.unanswered import unanswered
from tensorparity.core.comparison import Comparison, LayerDeviation
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.self_agreement import SelfAgreement
from tensorparity.core.severity import DIGITS
from tensorparity.core.verdict import BY_ROUNDING, Judgement, Kind, Stage, Verdict
from tensorparity.generators.inputs.models import Data
from tensorparity.reporting import words
from tensorparity.reporting.facts import Facts, KnownFacts, TargetFacts
from tensorparity.reporting.html import render as render_html
from tensorparity.reporting.markdown import render as render_markdown
from tensorparity.reporting.summary import Tone, summarize
from tensorparity.reporting.terminal import render as render_terminal

A, B = "keras:jax", "onnxruntime"
LAYERS = (LayerDeviation("conv", 0, "Conv2D", isolated_error=3.0), LayerDeviation("dense", 0, "Dense"))
PASSING = Comparison(
    A, B, "y", Verdict(Judgement.PASS, (A, B), "rounding", judged_by=BY_ROUNDING), 32, labels_changed=0
)
FACTS = Facts(
    "compare",
    0,
    tuple(TargetFacts(name, status="completed") for name in (A, B)),
    {},
    comparisons=(PASSING,),
    subject="m.keras",
    isolated_threshold=30.0,
)


def headline(**changes: object) -> str:
    facts = replace(FACTS, comparisons=(replace(PASSING, **changes),))  # type: ignore[arg-type]
    return summarize(facts).headline


def test_the_same_is_said_where_all_is_decided_and_no_label_changed() -> None:
    assert headline() == "m.keras is the same on keras:jax and onnxruntime."


def test_a_label_that_changed_is_said_with_why_it_passes() -> None:
    measured = tuple(replace(layer, isolated_error=2.5) for layer in LAYERS)
    assert headline(labels_changed=1, layers=measured) == (
        "m.keras: 1 of 32 labels changed between keras:jax and onnxruntime; "
        "all 2 layers agree alone to 2.5 units of rounding, so this is rounding carried along."
    )


@pytest.mark.parametrize(
    ("errors", "reason", "said"),
    [
        (
            (2.5, 30.0),
            "the difference is rounding",
            "all 2 layers agree alone to 30 units of rounding, so this is rounding",
        ),
        (
            (2.5, 31.0),
            "rounding",
            "all 2 layers were run alone, and the worst is off by 31 units of rounding (rounding).",
        ),
        ((2.5, math.nan), "rounding", "and the worst is off by NaN units of rounding (rounding)."),
        ((2.5, 1.0), "documented freedom", "all 2 layers agree alone to 2.5 units of rounding (documented freedom)."),
        (
            (2.5, None),
            "rounding",
            "1 of 2 layers could be run alone, and those agree to 2.5 units of rounding (rounding).",
        ),
        (
            (40.0, None),
            "rounding",
            "1 of 2 layers could be run alone, and the worst is off by 40 units of rounding (rounding).",
        ),
        ((None, None), "no input differs", "none of its 2 layers was run alone (no input differs)."),
        ((), "equal up to rounding", "no layer was run alone (equal up to rounding)."),
    ],
)
def test_rounding_is_only_said_where_every_layer_rounds(errors: Any, reason: str, said: str) -> None:
    measured = tuple(replace(layer, isolated_error=e) for layer, e in zip(LAYERS, errors, strict=False))
    verdict = replace(PASSING.verdict, reason=reason, judged_by=BY_ROUNDING if "rounding" in reason else "")
    told = headline(labels_changed=1, layers=measured, verdict=verdict)
    assert said in told
    assert ("so this is rounding" in told) is (errors == (2.5, 30.0))


ITSELF = (
    SelfAgreement(B, "batch size 1", 0.3, 0.5, 4),
    SelfAgreement(B, "run 2", 0.0, 0.0, 0),
    SelfAgreement(A, "run 2", problem="out of | memory"),
)


def test_a_target_beside_itself_stands_in_every_report() -> None:
    facts = replace(FACTS, self_agreement=ITSELF)
    for rendered in (render_html, render_markdown):
        said = rendered(facts)
        assert "Every target beside itself" in said
        assert "batch size 1" in said
        assert "out of" in said
        assert "beside itself" not in rendered(FACTS)
    assert "| onnxruntime | batch size 1 | 0.3 | 0.5 | 4 |" in render_markdown(facts)
    assert "out of \\| memory" in render_markdown(facts)


@pytest.mark.parametrize(
    ("changes", "own", "said"),
    [
        ({"labels_changed": 4}, ITSELF, True),
        ({"labels_changed": 5}, ITSELF, False),
        ({"labels_changed": 5, "max_rel": 0.5}, ITSELF, True),
        ({"labels_changed": 5, "max_rel": 0.6}, ITSELF, False),
        ({"labels_changed": 4}, (replace(ITSELF[0], target="openvino"),), False),
    ],
)
def test_a_target_as_far_from_itself_is_named_where_labels_change(
    changes: dict[str, Any], own: tuple[SelfAgreement, ...], said: bool
) -> None:
    facts = replace(FACTS, comparisons=(replace(PASSING, **changes),), self_agreement=own)
    assert ("; onnxruntime differs from itself as much (batch size 1)" in summarize(facts).headline) is said


NOT_ASKED = (None, None, None)


def test_what_was_asked_for_besides_and_not_answered_is_in_the_headline() -> None:
    open_ones = unanswered(False, [SelfAgreement(A, "batch size 1", problem="out of memory")], [0])
    answer = summarize(replace(FACTS, unanswered=open_ones, interrupted=True))
    assert answer.headline == (
        "m.keras: keras:jax and onnxruntime agree, but the training that was asked for never ran; keras:jax could not "
        "be compared with itself (batch size 1); the search of --stress never ran; the run was interrupted."
    )
    assert answer.tone is Tone.UNDECIDED
    changed = replace(FACTS, unanswered=open_ones[:1], comparisons=(replace(PASSING, labels_changed=1),))
    assert summarize(changed).headline.endswith("; the training that was asked for never ran.")
    assert replace(FACTS, unanswered=open_ones[:1]).document()["unanswered"] == list(open_ones[:1])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (NOT_ASKED, ""),
        ((True, [SelfAgreement(A, "run 2", 0.0, 0.0, 0)], [40]), ""),
        ((None, [SelfAgreement(A, "run 2", 0.1, DIGITS / 2, 0)], None), ""),
        ((None, [], None), "no target was compared with itself"),
        ((None, None, []), "the search of --stress never ran"),
        ((None, None, [9, 0, 0]), "2 of 3 pairs were not searched by --stress"),
        (
            (None, [SelfAgreement(A, "batch size 1", 0.1, 0.2, 3), SelfAgreement(A, "run 2", 0.1, 0.2, 1)], None),
            "keras:jax differs from itself: other labels (3 labels in batch size 1 and 1 label in run 2)",
        ),
        (
            (None, [SelfAgreement(A, "run 2", 0.1, 2 * DIGITS)], None),
            "keras:jax differs from itself (relatively by 0.002 in run 2)",
        ),
        (
            (None, [SelfAgreement(A, "run 2", math.nan, math.nan)], None),
            "keras:jax differs from itself (relatively by NaN in run 2)",
        ),
    ],
)
def test_what_is_open_by_what_was_asked_for(asked: Any, said: str) -> None:
    assert "; ".join(unanswered(*asked)) == said


def test_an_interrupted_campaign_says_so() -> None:
    run = Facts("hunt", 0, FACTS.targets, {"cases": 8}, interrupted=True)
    assert summarize(run).headline.endswith("; the run was interrupted.")
    assert summarize(run).tone is Tone.UNDECIDED


def test_known_ways_are_all_only_where_nothing_else_is_open() -> None:
    failed = replace(PASSING, verdict=Verdict(Judgement.FAIL, (A, B), ""))
    crash = Finding("c-1", "cradle", Kind.CRASH, Stage.FORWARD, (A, B), Diagnosis(Class.DEFECT, (B,)), "s")
    known = (KnownFacts("s", "reported", findings=("c-1",)),)
    dead = (FACTS.targets[0], TargetFacts(B, status="crashed"))
    facts = replace(FACTS, targets=dead, comparisons=(failed,), findings=(crash,), known=known)
    assert summarize(facts).headline == "m.keras differs only in known ways (1 finding)."
    more = replace(facts, comparisons=(failed, replace(PASSING, verdict=Verdict(Judgement.UNDECIDED, (A, B), ""))))
    assert summarize(more).headline == (
        "m.keras differs only in known ways (1 finding), but 1 of 2 comparisons is not decided."
    )
    assert summarize(more).tone is Tone.UNDECIDED


def test_a_planted_fault_is_on_top_and_called_out_where_it_changed_nothing() -> None:
    planted = replace(FACTS, planted={B: "avgpool-counts-padding"})
    alerts = summarize(planted).alerts
    assert alerts == (
        "Fault avgpool-counts-padding is planted in onnxruntime.",
        "The fault avgpool-counts-padding planted in onnxruntime changed nothing that was compared.",
    )
    stream = io.StringIO()
    render_terminal(planted, Console(file=stream, width=200))
    assert stream.getvalue().splitlines()[:2] == list(alerts)
    assert render_html(planted).index(alerts[0]) < render_html(planted).index('id="headline"')
    assert f"> **{alerts[1]}**" in render_markdown(planted)
    assert planted.document()["planted"] == {B: "avgpool-counts-padding"}
    seen = Finding("c-1", "cradle", Kind.NAN, Stage.FORWARD, (A, B), Diagnosis(Class.DEFECT, (B,)), "s")
    assert len(summarize(replace(planted, findings=(seen,))).alerts) == 1


def test_a_run_that_judged_nothing_says_so_and_does_not_acquit_the_fault() -> None:
    nothing = Facts("fuzz", 0, FACTS.targets, {"cases": 0}, planted={B: "sleep.py"})
    assert summarize(nothing).tone is Tone.UNDECIDED
    assert summarize(nothing).headline == ("Nothing is known yet: no case was judged on keras:jax and onnxruntime.")
    assert summarize(nothing).alerts[1] == (
        "Nothing was compared in which the fault sleep.py planted in onnxruntime could have shown."
    )
    missed = replace(FACTS, comparisons=(), planted={B: "sleep.py"})
    assert summarize(missed).alerts[1] == summarize(nothing).alerts[1]


def test_what_there_was_no_time_to_confirm_is_said_where_nothing_was_found() -> None:
    run = Facts("fuzz", 0, FACTS.targets, {"cases": 8}, planted={B: "sleep.py"})
    assert summarize(run).tone is Tone.PASS
    assert len(summarize(run).alerts) == 2
    open_ones = summarize(replace(run, suspected=((B,), (A, B))))
    assert open_ones.headline == (
        "No findings in 8 cases on keras:jax and onnxruntime; "
        "2 suspicions could not be confirmed in the time that was left."
    )
    assert open_ones.tone is Tone.UNDECIDED
    assert open_ones.alerts == ("Fault sleep.py is planted in onnxruntime.",), "it may be what is suspected"


def test_a_case_that_was_replayed_without_the_accused_is_not_fixed() -> None:
    facts = Facts("replay", 0, FACTS.targets, {}, subject="case.tpcase")
    assert summarize(facts).headline == "case.tpcase no longer fails here."
    elsewhere = summarize(replace(facts, accused=("keras:torch",)))
    assert (
        elsewhere.headline
        == "case.tpcase does not fail on keras:jax and onnxruntime; the failure was found on keras:torch."
    )
    assert elsewhere.tone is Tone.UNDECIDED


def test_nan_in_the_users_data_is_said_first() -> None:
    x = np.array([[1.0, np.nan], [np.inf, 0.0]], np.float32)
    given = Data({"x": x, "ids": np.ones((2, 1), np.int64)}, given=True)
    assert given.not_finite == {"x": 2}
    assert Data({"x": x}).not_finite == {}, "nobody but ourselves is to blame for what we draw"
    alert = words.not_finite(given.not_finite)[0]
    assert alert.startswith("The data contains NaN or infinite values (2 in x)")
    assert summarize(replace(FACTS, alerts=(alert,))).alerts == (alert,)
    assert words.not_finite({}) == []


def test_a_headline_counts_many_targets_and_a_terminal_names_them_below() -> None:
    many = tuple(TargetFacts(f"keras:{name}") for name in ("tensorflow", "jax", "torch", "openvino"))
    run = Facts("hunt", 0, many, {"cases": 8, "seconds": 2.0})
    assert summarize(run).headline == "No findings in 8 cases on 4 targets."
    assert summarize(replace(run, targets=many[:3])).headline.endswith(
        "on keras:tensorflow, keras:jax and keras:torch."
    )
    shown = Console(file=io.StringIO(), width=200)
    render_terminal(run, shown)
    said = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "Targets: keras:tensorflow, keras:jax, keras:torch and keras:openvino.\n" in said


def test_what_was_left_open_is_folded_on_the_page_of_a_hunt_and_open_on_that_of_a_comparison() -> None:
    missing = replace(FACTS.targets[0], status="missing", reason="not installed")
    folded = '<details class="plain small">\n  <summary>What was not tested'
    for facts, is_folded in (
        (Facts("hunt", 0, (missing,), {"cases": 8}), True),
        (replace(FACTS, targets=(missing,)), False),
    ):
        page = render_html(facts)
        assert "What was not tested or not decided, and why" in page
        assert (folded in page) is is_folded


def test_a_card_offers_the_script_and_the_draft_of_a_report() -> None:
    found = Finding("c-1", "muffin", Kind.NAN, Stage.FORWARD, (A, B), Diagnosis(Class.DEFECT, (B,)), "s")
    facts = Facts("fuzz", 0, FACTS.targets, {"cases": 8}, findings=(found,))
    assert "plain-button copy" not in render_html(facts)
    page = render_html(replace(facts, scripts={"c-1": "import torch\nx = 1\n"}, drafts={"c-1": "# NaN from <torch>"}))
    assert page.count('class="plain-button copy"') == 2
    assert "<summary>2 lines</summary>" in page
    assert "# NaN from &lt;torch&gt;" in page
