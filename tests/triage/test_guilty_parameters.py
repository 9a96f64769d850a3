"""Guilty parameters of a finding: asked of the layer as it was found, where reduction left too little input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.evidence import Evidence
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner
from tensorparity.triage.guilty_parameters import with_guilty_parameters

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


def test_the_reduced_case_is_asked_where_it_takes_as_many(fake_runner: Any) -> None:
    other = replace(pooled(5), case=replace(pooled(5).case, seed=3))
    assert "padding" in guilty(fake_runner, pooled(5), other)
