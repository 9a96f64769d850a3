"""Outcome, Verdict, Finding: round trips, in both dialects of JSON where both are read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tensorparity.core.comparison import Comparison, Distance, LayerDeviation
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.jsontext import canonical, document, parse
from tensorparity.core.outcome import Failure, Outcome, Record, Status, Trace
from tensorparity.core.verdict import Judgement, Kind, Measure, Stage, Verdict

INF = float("inf")

RECORD = Record("3.11.7", {"torch": "2.5"}, {"mkl": True}, "cpu", "float32", {"THREADS": "1"}, 2, "relu-slope")


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("torch:eager", Status.UNSUPPORTED),
        Outcome("torch:eager", Status.RAISED, failure=Failure("ValueError", "bad\nthing", "dense#0", "Traceback")),
        Outcome(
            "keras:jax",
            Status.COMPLETED,
            {"y": np.ones((1, 2), np.float32)},
            Trace({"a#0": np.zeros(2), "a#0.1": np.ones(0)}, INF, {"weight:a/k": np.ones(3)}, {"a/k": np.zeros(3)}),
            seconds=1.5,
            cpu_seconds=0.25,
            record=RECORD,
        ),
    ],
)
def test_outcome_round_trip(outcome: Outcome) -> None:
    again = Outcome.from_parts(parse(canonical(outcome.header())), outcome.arrays())
    assert again.header() == outcome.header()
    assert again.record == outcome.record
    assert again.failure == outcome.failure
    assert list(again.arrays()) == list(outcome.arrays())
    for name, array in outcome.arrays().items():
        assert again.arrays()[name] is array
    assert again.completed is (outcome.status is Status.COMPLETED)


VERDICTS = [
    Verdict(Judgement.PASS, ("a",), "equal"),
    Verdict(Judgement.UNDECIDED, (), "no target completed", kind=Kind.ERROR, stage=Stage.BUILD),
    Verdict(Judgement.FAIL, ("a", "b"), "differs", Measure("mad", INF), INF, Kind.NAN, Stage.SAVE_LOAD),
    Verdict(Judgement.FAIL, ("a", "b"), "differs", Measure("mad", 0.5), 0.15, Kind.ACCEPTS_INVALID, Stage.UPDATE),
]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_verdict_round_trip(verdict: Verdict) -> None:
    assert Verdict.from_json(parse(canonical(verdict.to_json()))) == verdict
    assert Verdict.from_json(json.loads(document(verdict.to_json()))) == verdict
    assert verdict.failed is (verdict.judgement is Judgement.FAIL)


DIAGNOSIS = Diagnosis(
    Class.DEFECT, ("keras",), "conv#0", "keras.layers.Conv2D", {"strides": [2, 2]}, ("e",), Measure("error", INF), INF
)

FINDINGS = [
    Finding("f1", "eagle", Kind.EQUIVALENCE, Stage.CALL, ("torch:eager",), Diagnosis(Class.FLAKY), "s"),
    Finding(
        "f2",
        "muffin",
        Kind.INCONSISTENCY,
        Stage.BACKWARD,
        ("keras:jax", "keras:torch"),
        DIAGNOSIS,
        "sig",
        {"keras:jax": {"jax": "0.5"}},
        "c1",
        "cases/1/f2.tpcase",
        "reproducers/f2.py",
    ),
]


@pytest.mark.parametrize("finding", FINDINGS)
def test_finding_round_trip(finding: Finding) -> None:
    assert Finding.from_json(parse(canonical(finding.to_stored()))) == finding
    assert Finding.from_json(json.loads(document(finding.to_stored()))) == finding
    assert finding.is_defect is (finding.diagnosis.klass is Class.DEFECT)


def test_finding_has_the_fields_of_the_contract() -> None:
    contract = (
        "id engine kind stage targets suspects class api node parameters measure threshold signature cluster "
        "evidence versions case reproducer title severity reduced"
    )
    assert list(FINDINGS[1].to_json()) == contract.split()


def test_comparison_has_the_fields_of_the_contract() -> None:
    layer = LayerDeviation("conv", 0, "Conv2D", 0.1, 0.5, True, INF)
    distance = Distance("mad", 0.5, 0.2, 3, True, {"16": 10})
    entry: Any = Comparison("a", "b", "y", VERDICTS[3], 4, distances=(distance,), layers=(layer,)).to_json()
    contract = "a b output verdict measure threshold max_abs max_rel top1_agreement worst_input layers"
    assert set(contract.split()) <= set(entry)
    assert {"name", "call", "type", "deviation", "rate", "isolated_error"} <= set(entry["layers"][0])
    assert (entry["verdict"], entry["measure"]) == ("fail", {"name": "mad", "value": 0.5})
    assert entry["distances"][0]["pattern"] == {"16": 10}
    document(entry)


def test_words_of_the_contract() -> None:
    kinds = "inconsistency crash error hang nan accepts-invalid precision equivalence shape dtype"
    stages = "build forward loss backward update save-load call"
    classes = "defect precision specification unsupported flaky"
    assert [kind.value for kind in Kind] == kinds.split()
    assert [stage.value for stage in Stage] == stages.split()
    assert [klass.value for klass in Class] == classes.split()
