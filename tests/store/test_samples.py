"""What was written once is read for ever: case files, stores and known differences, by literal values beside them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import write_samples  # noqa: E402


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_samples.VALUES.read_text())
    return found


@pytest.fixture(scope="module")
def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(write_samples.values()))
    return found


@pytest.mark.parametrize("what", ["cases", "stores", "known", "computed"])
def test_is_as_it_was(what: str, kept: dict[str, Any], read: dict[str, Any]) -> None:
    assert read[what] == kept[what]


def test_samples_say_something(kept: dict[str, Any]) -> None:
    subjects = {case["subject"] for case in kept["cases"].values()}
    assert subjects == {"layer-graph", "api-call", "model-file"}
    for store in kept["stores"].values():
        assert len(store["findings"]) >= 3
        assert any(finding["script"] for finding in store["findings"].values())
    assert any(finding["original"] for finding in kept["stores"]["fuzzed"]["findings"].values())
    assert len(kept["known"]) == 2


def test_cases_that_are_made_today_have_the_digests_of_then(kept: dict[str, Any]) -> None:
    made = {name: file.case.digest for name, file in write_samples.cases()}
    assert made == {name: case["digest"] for name, case in kept["cases"].items()}


def test_findings_of_then_still_match_what_was_accepted(kept: dict[str, Any]) -> None:
    signatures = {finding["signature"] for finding in kept["stores"]["fuzzed"]["findings"].values()}
    accepted, pattern = (entry["name"] for entry in kept["known"])
    assert accepted in signatures
    assert any(pattern.strip("*") in signature for signature in signatures)
