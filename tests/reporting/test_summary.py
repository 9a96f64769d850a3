"""The one sentence on top, in the situations a user meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tensorparity.core.finding import Class, Finding
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.reporting.facts import Facts, TargetFacts
from tensorparity.reporting.summary import Tone, by_class, by_urgency, summarize, tally

Sample = Callable[[str], Facts]


def _changed(
    facts: Facts, *, kind: Kind = Kind.INCONSISTENCY, stage: Stage = Stage.FORWARD, **diagnosis: object
) -> Facts:
    """The facts with their first finding changed."""
    first = facts.findings[0]
    changed = replace(first, kind=kind, stage=stage, diagnosis=replace(first.diagnosis, **diagnosis))
    return replace(facts, findings=(changed, *facts.findings[1:]))


def _also(finding: Finding, name: str, **diagnosis: object) -> Finding:
    return replace(finding, id=name, signature=name, diagnosis=replace(finding.diagnosis, **diagnosis))


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        (
            {"suspects": ("keras:jax", "keras:torch")},
            "keras:jax and keras:torch differ: layer conv2d_4 (Conv2D) is wrong there.",
        ),
        (
            {"suspects": ("keras",), "stage": Stage.BACKWARD},
            "Keras' shared code is wrong: layer conv2d_4 (Conv2D) (stage backward), "
            "in the same way on every target that runs it.",
        ),
        (
            {"suspects": ("exporter:torch",)},
            "The exporter torch is wrong: layer conv2d_4 (Conv2D), in the same way on every target that runs it.",
        ),
        ({"suspects": ()}, "Layer conv2d_4 (Conv2D) is wrong; on which target is not decided."),
        ({"suspects": (), "node": None, "api": None}, "The result is wrong; on which target is not decided."),
        ({"node": None, "api": None}, "keras:torch is wrong; in which layer is not known; the others agree."),
        (
            {"node": "conv2d_4#2", "api": None},
            "keras:torch differs: layer conv2d_4, call 2 is wrong there; the others agree.",
        ),
        ({"api": None}, "keras:torch differs: layer conv2d_4 (Conv2D) is wrong there; the others agree."),
        ({"kind": Kind.HANG}, "keras:torch hangs in layer conv2d_4 (Conv2D); the others agree."),
        ({"kind": Kind.ERROR, "node": None, "api": None}, "keras:torch raises an error; the others agree."),
    ],
)  # fmt: skip
def test_one_defect(sample: Sample, changes: dict[str, object], headline: str) -> None:
    summary = summarize(_changed(sample("one_defect"), **changes))
    assert (summary.headline, summary.tone) == (headline, Tone.FAIL)


def test_several_defects_are_counted_by_suspect(sample: Sample) -> None:
    facts = sample("one_defect")
    first = facts.findings[0]
    other = _also(first, "b", suspects=("keras:jax",))
    unknown = _also(first, "c", suspects=())
    summary = summarize(replace(facts, findings=(first, other, unknown)))
    assert summary.headline == (
        "zoo:lenet5 shows 3 defects: 1 in keras:torch, 1 in keras:jax and 1 in a target not yet known."
    )


def test_findings_of_one_cluster_are_one_defect(sample: Sample) -> None:
    facts = sample("hunt_findings")
    assert tally(facts) == "17 findings, 5 sightings, 4 defects"
    often = [replace(finding, sightings=16, reduced=False) for finding in facts.findings]
    assert tally(replace(facts, findings=tuple(often))) == (
        "17 findings, 80 sightings, 4 defects, 4 of them not yet reduced"
    )
    assert tally(replace(facts, findings=facts.findings[:11])) == "11 findings, no defects"


@pytest.mark.parametrize(
    ("stats", "said"),
    [
        ({}, ""),
        ({"explained": 0, "audited": 0, "refuted": 0, "unreduced_share": 0.0}, ""),
        (
            {"explained": 40, "audited": 3, "refuted": 0, "unreduced_share": 0.08},
            "; 40 suspicions were sightings of known defects (3 reduced all the same, none refuted); "
            "8 % of the defects not reduced",
        ),
        (
            {"explained": 1, "audited": 1, "refuted": 1, "unreduced_share": 0.0},
            "; 1 suspicion was a sighting of known defects (1 reduced all the same, 1 refuted)",
        ),
    ],
)
def test_the_headline_says_how_many_were_explained(sample: Sample, stats: dict[str, float], said: str) -> None:
    facts = sample("hunt_findings")
    plain = {name: value for name, value in facts.stats.items() if name not in ("explained", "unreduced_share")}
    without = summarize(replace(facts, stats=plain)).headline.removesuffix(".")
    assert summarize(replace(facts, stats={**plain, **stats})).headline == f"{without}{said}."


def test_a_difference_that_is_no_defect_blames_nobody(sample: Sample) -> None:
    facts = _changed(sample("one_defect"), klass=Class.PRECISION, suspects=())
    assert summarize(facts).headline == (
        "zoo:lenet5 differs between 2 pairs of targets, but no defect was found: "
        "precision (rounding or an ill-conditioned case; no target is wrong)."
    )
    assert summarize(facts).tone is Tone.UNDECIDED


def test_a_difference_without_diagnosis_is_not_decided(sample: Sample) -> None:
    facts = sample("one_defect")
    assert facts.comparisons is not None
    summary = summarize(replace(facts, findings=(), comparisons=facts.comparisons[:2]))
    assert summary.headline == (
        "zoo:lenet5 differs between keras:tensorflow and keras:torch; which target is wrong is not decided."
    )


def test_a_silent_target_is_named_beside_the_agreement(sample: Sample) -> None:
    summary = summarize(replace(sample("crash"), findings=()))
    assert summary.headline == "zoo:lenet5: keras:tensorflow and keras:jax agree, but keras:torch crashed."
    assert summary.tone is Tone.UNDECIDED
    assert summary.open_points == ("Crashed: keras:torch (RuntimeError: killed by SIGSEGV).",)


def test_partly_undecided(sample: Sample) -> None:
    facts = sample("all_pass")
    assert facts.comparisons is not None
    first, *rest = facts.comparisons
    unclear = replace(first, verdict=Verdict(Judgement.UNDECIDED, (first.a, first.b), "no reason is too long."))
    summary = summarize(replace(facts, comparisons=(unclear, *rest)))
    assert summary.headline.endswith(", but 1 of 3 comparisons is not decided.")
    assert summary.open_points == ("Not decided: keras:tensorflow / keras:jax (no reason is too long).",)
    assert [pair.verdict.judgement for pair in by_urgency((*rest, unclear))][0] is Judgement.UNDECIDED


def test_of_many_reasons_the_most_frequent_are_named(sample: Sample) -> None:
    many = {f"reason {amount}": amount for amount in range(1, 9)}
    (few, all_of_them) = (
        summarize(replace(sample("hunt_none"), undecided=reasons, unsupported={})).open_points[0]
        for reasons in (many, dict(list(many.items())[:5]))
    )
    assert few == (
        "Not decided: 8 cases (reason 8); 7 cases (reason 7); 6 cases (reason 6); 5 cases (reason 5); "
        "10 cases (4 other reasons)."
    )
    assert "other" not in all_of_them


def test_nothing_to_compare(sample: Sample) -> None:
    facts = replace(sample("all_pass"), comparisons=())
    assert summarize(facts).headline == "Nothing was compared: fewer than two targets gave an answer."


def test_replay(sample: Sample) -> None:
    facts = sample("replayed")
    assert summarize(replace(facts, findings=())).headline == "findings/7f3a/case.zip no longer fails here."
    unclear = replace(facts, findings=(), stats={"undecided": 1})
    assert summarize(unclear).headline == "It is not decided whether findings/7f3a/case.zip still fails."
    precise = _changed(facts, klass=Class.SPECIFICATION, suspects=())
    assert summarize(precise).headline.endswith(
        "still fails, but this is not a defect: the documentation allows both; neither is wrong."
    )


def test_inspections(sample: Sample) -> None:
    assert (
        summarize(Facts("targets", 0, (TargetFacts("x", status="missing"),), {})).headline == "No target can run here."
    )
    healthy = replace(sample("installed"), command="doctor")
    assert summarize(healthy).headline == "Every installed target works (3)."


def test_defects_come_first(sample: Sample) -> None:
    classes = [finding.diagnosis.klass for finding in by_class(sample("hunt_findings").findings)]
    assert classes[:5] == [Class.DEFECT] * 5
    assert classes[-1] is Class.FLAKY
