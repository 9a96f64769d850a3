"""Code or documentation: where code and the tests that ship with it agree, the documentation is the suspect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.filing import make_finding
from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import TargetTraits
from tensorparity.core.verdict import Kind
from tensorparity.operators.shipped_tests import SHIPPED_TESTS
from tensorparity.oracles.documentation import suspecting_documentation
from tensorparity.triage.known_differences import KnownCoverage, _covers
from tensorparity.triage.reproduce.draft import draft

TARGETS = ("keras:jax", "keras:torch")


def _suspicion(suspects: tuple[str, ...] = ("keras",), kind: Kind = Kind.INCONSISTENCY, **changed: Any) -> Suspicion:
    build = GraphBuilder("alone")
    graph = build.build(build.add("ReLU", build.input("x", (1,)), name="relu", threshold=1.0))
    case = Case(graph, inputs={"x": np.ones((1, 1), np.float32)})
    given = {"api": "keras.layers.ReLU", "parameters": {"threshold": 1.0}, **changed}
    return Suspicion(kind, Diagnosis(Class.DEFECT, suspects, **given), case, TARGETS)


def test_only_some_shipped_tests_contradict_the_documentation() -> None:
    """The reference is written from the documentation: most tests it passes, or it would be good for nothing."""
    told = {test.place.rpartition(" ")[2]: test.contradicted for test in SHIPPED_TESTS}
    assert told == {
        "test_normal_relu_correctness": False,
        "test_leaky_relu_correctness": False,
        "test_threshold_relu_correctness": True,
        "TverskyTest.test_binary_segmentation": False,
        "TverskyTest.test_binary_segmentation_custom_coefficients": True,
    }


def test_the_documentation_is_the_suspect() -> None:
    suspicion = _suspicion()
    finding = make_finding(suspicion, "fuzz", {}, "")
    assert finding.diagnosis.suspects == ("keras:documentation",)
    assert (finding.kind, finding.diagnosis.klass) == (Kind.INCONSISTENCY, Class.DEFECT)
    assert finding.signature == suspicion.signature, "who had accepted it keeps it"
    assert "the documentation is the suspect" in finding.title
    assert any("test_threshold_relu_correctness" in str(item) for item in finding.diagnosis.evidence)
    assert _covers(KnownCoverage(frozenset(TARGETS), frozenset({"keras"})), "keras:documentation")


def test_the_draft_says_so() -> None:
    text = draft("title", TARGETS[0], _suspicion(), None, None, {}, ["evidence"], TargetTraits(TARGETS[0]))
    assert "## Code or documentation" in text
    silent = draft("title", TARGETS[0], _suspicion(TARGETS[:1]), None, None, {}, [], TargetTraits(TARGETS[0]))
    assert "Code or documentation" not in silent


@pytest.mark.parametrize(
    "suspicion",
    [
        _suspicion(TARGETS[:1]),
        _suspicion(TARGETS),
        _suspicion(kind=Kind.NAN),
        _suspicion(parameters={"threshold": 1.0, "unheard_of": 2}),
        _suspicion(api="keras.layers.Softmax"),
        _suspicion(api=None),
        replace(_suspicion(), diagnosis=replace(_suspicion().diagnosis, klass=Class.PRECISION)),
    ],
)
def test_otherwise_it_is_not(suspicion: Suspicion) -> None:
    assert suspecting_documentation(suspicion) == suspicion.diagnosis
