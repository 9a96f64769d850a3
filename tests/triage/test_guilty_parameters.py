"""Guilty parameters of a finding: asked of the layer as it was found, where reduction left too little input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.evidence import Evidence
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.reporting.words import sentence
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner
from tensorparity.triage.guilty_parameters import AsFound, guilty_evidence, like, with_guilty_parameters
from tensorparity.triage.reduction.preparation import Preparation

TARGETS = ("fake:a", "fake:b")


def pooled(size: int) -> Suspicion:
    build = GraphBuilder("pooled")
    x = build.input("x", (size, size, 1))
    graph = build.build(build.add("AveragePooling2D", x, name="pool", pool_size=(2, 2), padding="same"))
    rng = np.random.default_rng(0)
    case = Case(graph, inputs={"x": rng.uniform(1.0, 2.0, (1, size, size, 1)).astype(np.float32)})
    diagnosis = Diagnosis(Class.DEFECT, ("fake:b",), node="pool#0", api="keras.layers.AveragePooling2D")
    return Suspicion(Kind.INCONSISTENCY, diagnosis, case, TARGETS)


def guilty(fake_runner: Any, reduced: Suspicion, original: Suspicion | None) -> set[str]:
    """Windows over an edge are wrong: only then are there as many of them as half the input, rounded up."""
    runner = fake_runner(
        targets=TARGETS, planted={"fake:b": {"pool": lambda y: y * 1.5 if y.shape[1] in (1, 3) else y}}
    )
    examiner = Examiner(runner, Setup(0, TARGETS, traits_of(TARGETS)))
    said = with_guilty_parameters(examiner, reduced, original).diagnosis.evidence
    return {one["parameter"] for item in said if isinstance(item, Evidence) for one in item.data["guilty"]}


def test_reduction_may_leave_too_little_for_other_values(fake_runner: Any) -> None:
    assert "padding" not in guilty(fake_runner, pooled(1), None)
    assert "padding" in guilty(fake_runner, pooled(1), pooled(5))


class OverEdges:
    """A fake target that is wrong where a window reaches over an edge."""

    @staticmethod
    def examiner(fake_runner: Any) -> Examiner:
        wrong = {"fake:b": {"pool": lambda y: y * 1.5 if y.shape[1] in (1, 3) else y}}
        return Examiner(fake_runner(targets=TARGETS, planted=wrong), Setup(0, TARGETS, traits_of(TARGETS)))


def said_of(suspicion: Suspicion) -> str:
    said = guilty_evidence(suspicion)
    return "" if said is None else sentence(said)


def behind(size: int) -> Suspicion:
    """The layer as it was found in a network of others."""
    build = GraphBuilder("network")
    x = build.add("ReLU", build.input("x", (size, size, 1)), name="before")
    x = build.add("AveragePooling2D", x, name="pool", pool_size=(2, 2), padding="same")
    graph = build.build(build.add("Flatten", x, name="flat"))
    return replace(pooled(size), case=Case(graph, inputs=pooled(size).case.inputs))


@pytest.mark.parametrize("found", [pooled(5), behind(5)])
def test_what_nobody_reduced_names_its_parameters_too(fake_runner: Any, found: Suspicion) -> None:
    examiner = OverEdges.examiner(fake_runner)
    (prepared,) = Preparation(examiner.runner, examiner, None).prepare([found])  # type: ignore[arg-type]
    assert "padding (gone with valid)" in said_of(prepared.suspicion)
    assert prepared.suspicion.case is found.case, "it is filed as it was found"


def test_without_time_it_is_filed_as_it_is(fake_runner: Any) -> None:
    assert not said_of(AsFound(OverEdges.examiner(fake_runner), 0.0).of(pooled(5)))
    assert said_of(AsFound(OverEdges.examiner(fake_runner)).of(pooled(5)))


@pytest.mark.parametrize("kind", [Kind.HANG, Kind.CRASH])
def test_what_ends_processes_is_left_to_the_reduction(fake_runner: Any, kind: Kind) -> None:
    examiner = OverEdges.examiner(fake_runner)
    AsFound(examiner).of(replace(pooled(5), kind=kind))
    assert not examiner.runner.ran  # type: ignore[attr-defined]


def test_a_function_carries_along_what_was_said_of_its_layer(fake_runner: Any) -> None:
    layer = with_guilty_parameters(OverEdges.examiner(fake_runner), pooled(5))
    function = replace(layer, diagnosis=replace(layer.diagnosis, api="keras.ops.average_pool", evidence=()))
    assert said_of(like(function, layer)).startswith("guilty parameters of keras.layers.AveragePooling2D: ")
    again = replace(layer, diagnosis=replace(layer.diagnosis, evidence=()))
    assert said_of(like(again, layer)) == said_of(layer)


def test_the_reduced_case_is_asked_where_it_takes_as_many(fake_runner: Any) -> None:
    other = replace(pooled(5), case=replace(pooled(5).case, seed=3))
    assert "padding" in guilty(fake_runner, pooled(5), other)
