"""SARIF: fingerprints, levels, suppressions and places, for what CI does with them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.facts import Facts, KnownFacts, TargetFacts
from tensorparity.reporting.sarif import FINGERPRINT, render


def finding(name: str = "f1", klass: Class = Class.DEFECT, kind: Kind = Kind.INCONSISTENCY, **more: Any) -> Finding:
    diagnosis = Diagnosis(klass, ("onnxruntime",), node="act#0", api="onnx.Relu", evidence=("it is off",))
    return Finding(name, "cradle", kind, Stage.FORWARD, ("onnxruntime",), diagnosis, f"signature-of-{name}", **more)


def run_of(*findings: Finding, **more: Any) -> Any:
    facts = Facts("compare", 0, (TargetFacts("onnxruntime"),), {}, findings, comparisons=(), subject="m.onnx")
    (run,) = json.loads(render(replace(facts, **more)))["runs"]
    return run


def test_a_finding_is_known_again_by_its_signature() -> None:
    (result,) = run_of(finding())["results"]
    assert result["partialFingerprints"] == {FINGERPRINT: "signature-of-f1"}
    assert (result["ruleId"], result["level"], result["kind"]) == ("inconsistency", "error", "fail")
    assert "it is off" in result["message"]["text"]
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "onnx.Relu"


def test_rules_are_the_kinds_that_occur() -> None:
    run = run_of(finding("a"), finding("b"), finding("c", kind=Kind.CRASH))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["inconsistency", "crash"]
    assert {result["ruleId"] for result in run["results"]} == set(rules)


def test_levels_follow_severity_and_class() -> None:
    run = run_of(finding("a", kind=Kind.ERROR), finding("b", kind=Kind.PRECISION), finding("c", Class.SPECIFICATION))
    assert [result["level"] for result in run["results"]] == ["warning", "note", "none"]
    assert run["results"][2]["kind"] == "informational"


def test_what_is_accepted_is_suppressed_with_its_reason() -> None:
    known = (KnownFacts("x", "rounds by design", findings=("f1",)),)
    (result,) = run_of(finding(), known=known)["results"]
    assert result["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "rounds by design"}]


def test_places_are_relative_references() -> None:
    def place(**more: Any) -> str:
        (result,) = run_of(finding(**more))["results"]
        return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])

    assert place() == "m.onnx"
    assert place(case="cases/1/a b.tpcase") == "cases/1/a%20b.tpcase"
    assert place(case="c", reproducer="scripts/1.py") == "scripts/1.py"
    (result,) = run_of(finding(), subject="zoo:lenet5")["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "zoo%3Alenet5"


def test_targets_without_an_answer_are_told() -> None:
    lost = TargetFacts("openvino", status="broken", reason="not installed")
    (invocation,) = run_of(targets=(lost,))["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "openvino: broken (not installed)"
