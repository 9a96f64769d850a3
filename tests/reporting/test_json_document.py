"""The machine-readable contract, checked against its schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy

import jsonschema
import pytest

from tensorparity.core.finding import Class
from tensorparity.core.jsontext import Json
from tensorparity.core.verdict import Judgement, Kind, Stage
from tensorparity.reporting import json_document
from tensorparity.reporting.facts import Facts, TargetFacts

Sample = Callable[[str], Facts]


def _refuse(name: str) -> Json:
    raise AssertionError(f"not strict JSON: {name}")


def _parsed(facts: Facts) -> Json:
    return json.loads(json_document.render(facts), parse_constant=_refuse)


def _errors(document: Json) -> list[str]:
    validator = jsonschema.Draft202012Validator(json_document.load_schema())
    return [error.message for error in validator.iter_errors(document)]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_document.load_schema())


def test_every_document_obeys_the_schema(any_facts: Facts) -> None:
    assert _errors(_parsed(any_facts)) == []


def test_the_names_of_the_contract_come_first(sample: Sample) -> None:
    document = _parsed(sample("one_defect"))
    promised = ["tensorparity", "command", "seed", "targets", "versions", "stats"]
    assert list(document)[: len(promised)] == promised
    assert document["targets"] == ["keras:tensorflow", "keras:jax", "keras:torch"]
    assert document["findings"][0]["suspects"] == ["keras:torch"]


def test_non_finite_numbers_are_the_three_strings(sample: Sample) -> None:
    comparison = _parsed(sample("hostile"))["comparisons"][0]
    layer = comparison["layers"][0]
    assert (comparison["max_abs"], comparison["max_rel"], layer["isolated_error"]) == ("NaN", "Infinity", "-Infinity")


@pytest.mark.parametrize("value", ["nan", "inf", "Inf", "1.0", True, []])
def test_no_other_spelling_of_a_number_is_accepted(sample: Sample, value: Json) -> None:
    document = _parsed(sample("one_defect"))
    document["comparisons"][0]["max_abs"] = value
    assert _errors(document)


def test_stats_have_the_promised_names_even_if_a_command_counts_nothing() -> None:
    stats = _parsed(Facts("targets", 0, (), {}))["stats"]
    assert stats == {"cases": 0, "seconds": 0.0, "undecided": 0, "per_engine": {}, "new_defects": 0}


def test_targets_come_with_details(sample: Sample) -> None:
    missing = _parsed(sample("installed"))["details"][-1]
    assert (missing["name"], missing["status"], missing["install"]) == (
        "onnxruntime", "missing", "pip install onnxruntime",
    )  # fmt: skip


def test_a_lone_surrogate_in_a_name_can_be_written() -> None:
    text = json_document.render(Facts("targets", 0, (TargetFacts("a\ud800"),), {}))
    assert json.loads(text.encode("utf-8"))["targets"] == ["a\ud800"]


def test_the_enumerations_are_those_of_the_code() -> None:
    schema = json_document.load_schema()["$defs"]
    finding = schema["finding"]["properties"]
    assert set(finding["kind"]["enum"]) == {kind.value for kind in Kind}
    assert set(finding["stage"]["enum"]) == {stage.value for stage in Stage}
    assert set(finding["class"]["enum"]) == {klass.value for klass in Class}
    assert set(schema["comparison"]["properties"]["verdict"]["enum"]) == {item.value for item in Judgement}


@pytest.mark.parametrize("name", ["tensorparity", "command", "seed", "targets", "versions", "stats", "findings"])
def test_no_promised_name_may_be_missing(sample: Sample, name: str) -> None:
    document = _parsed(sample("hunt_findings"))
    del document[name]
    assert _errors(document)


def test_what_a_command_owes(sample: Sample) -> None:
    compared, listed = _parsed(sample("all_pass")), _parsed(sample("installed"))
    del compared["comparisons"], listed["details"]
    assert _errors(compared)
    assert _errors(listed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("class", "bug"),
        ("kind", "wrong"),
        ("stage", "predict"),
        ("case", "/absolute/case.zip"),
        ("reproducer", "a/../../b.py"),
        ("parameters", []),
        ("surprise", 1),
    ],
)
def test_a_malformed_finding_is_refused(sample: Sample, name: str, value: Json) -> None:
    document = deepcopy(_parsed(sample("one_defect")))
    document["findings"][0][name] = value
    assert _errors(document)


def test_there_is_room_at_the_top_and_in_stats(sample: Sample) -> None:
    document = _parsed(sample("hunt_none"))
    document["later"] = document["stats"]["later"] = {"anything": 1}
    assert _errors(document) == []
