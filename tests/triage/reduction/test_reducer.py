"""The driver: it descends, remembers, counts, stops in time, and loses nothing it stumbles upon."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Judged
from tensorparity.core.signature import same_key
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Measure
from tensorparity.triage.reduction.order import simpler
from tensorparity.triage.reduction.passes import PASSES
from tensorparity.triage.reduction.reducer import Attempts, ReductionBudget, reduce_case

from .conftest import check_by, make_case, suspicion_of


class Watched(Attempts):
    """Attempts that note every case that was accepted."""


def small(seed: int = 0) -> Case:
    build = GraphBuilder()
    x = build.add("Dense", build.input("x", (3,)), name="d", units=2, activation="tanh")
    return make_case(build.build(build.add("ReLU", x, name="r")), seed=seed)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6))
def test_every_accepted_step_descends(salt: int) -> None:
    """Whatever holds and whatever does not: here a hash decides."""
    accepted: list[Case] = []

    def fails(case: Case) -> bool:
        return case.digest == start.digest or hashlib.sha256(f"{salt}{case.digest}".encode()).digest()[0] < 90

    def noting(run: Any) -> Any:
        def noted(attempts: Attempts) -> None:
            first = attempts.first

            def watched(candidates: Any) -> Case | None:
                found = first(candidates)
                if found is not None:
                    accepted.append(found)
                return found

            attempts.first = watched  # type: ignore[method-assign]
            try:
                run(attempts)
            finally:
                del attempts.first

        return noted

    start = small(salt % 3)
    passes = [(name, noting(run)) for name, run in PASSES]
    result = reduce_case(start, suspicion_of(start).key, check_by(fails), passes, ReductionBudget(200))
    chain = [start, *accepted]
    assert all(simpler(after, before) for before, after in zip(chain, chain[1:], strict=False))
    assert result.case.digest == chain[-1].digest
    assert fails(result.case)


def test_no_case_is_checked_twice(reduced: Any, lenet: LayerGraph) -> None:
    result, seen = reduced(make_case(lenet), lambda case: any(node.op == "Conv2D" for node in case.subject.nodes))
    assert len({case.digest for case in seen}) == len(seen) == result.checks


def test_the_budget_of_checks_is_kept(reduced: Any, lenet: LayerGraph) -> None:
    result, seen = reduced(make_case(lenet), lambda case: True, ReductionBudget(checks=3))
    assert (result.checks, len(seen)) == (3, 3)
    assert "budget of 3 checks" in result.stopped
    assert result.descended


def test_the_budget_of_time_is_kept(reduced: Any, lenet: LayerGraph) -> None:
    result, _ = reduced(make_case(lenet), lambda case: True, ReductionBudget(seconds=-1.0))
    assert (result.checks, result.descended) == (1, False)


def test_a_case_that_does_not_fail_is_given_back(reduced: Any, lenet: LayerGraph) -> None:
    case = make_case(lenet)
    result, _ = reduced(case, lambda _: False)
    assert (result.case, result.suspicion, result.checks) == (case, None, 1)
    assert result.stopped


def test_another_failure_met_on_the_way_is_kept() -> None:
    start = small()
    other = "keras.layers.Dense"

    def check(cases: Sequence[Case]) -> list[Judged]:
        return [Judged((), (suspicion_of(case),) if case is start else (suspicion_of(case, other),)) for case in cases]

    result = reduce_case(start, suspicion_of(start).key, check, PASSES, ReductionBudget())
    assert result.case is start
    assert [suspicion.diagnosis.api for suspicion in result.also] == [other]


def test_candidates_that_are_not_simpler_cost_nothing() -> None:
    case = small()
    seen: list[Case] = []
    attempts = Attempts(check_by(lambda _: True, seen), suspicion_of(case).key, suspicion_of(case))
    larger = replace(case, inputs={"x": np.ones((9, 3), np.float32)})
    assert attempts.first([None, larger, case]) is None
    assert not seen


def test_candidates_stay_within_what_a_layer_takes() -> None:
    """Fewer classes are simpler, and not for a class that is beyond them."""
    build = GraphBuilder()
    graph = build.build(build.add("CategoryEncoding", build.input("x", (1,), "int32"), name="c", num_tokens=6))
    case = Case(graph, inputs={"x": np.array([[4]], np.int32)})
    seen: list[Case] = []
    reduce_case(case, suspicion_of(case).key, check_by(lambda _: True, seen), PASSES, ReductionBudget())
    classes = [(c.subject.nodes[0].params["num_tokens"], int(c.inputs["x"].max())) for c in seen]  # type: ignore[union-attr]
    assert classes == [(6, 4), (5, 4)], "no fewer than its input needs"


def test_an_unknown_api_may_become_known() -> None:
    key = suspicion_of(small()).key
    unknown = (*key[:3], "", *key[4:])
    assert same_key(unknown, key)
    assert not same_key(key, unknown)
    assert not same_key(unknown, (*key[:2], "keras:jax", *key[3:]))


def test_suspicions_of_another_class_do_not_hold() -> None:
    found = suspicion_of(small())
    from tensorparity.core.finding import Class

    flaky = Suspicion(found.kind, replace(found.diagnosis, klass=Class.FLAKY), found.case, found.targets)
    assert Judged((), (flaky,)).of_key(found.key) is None


def measured(case: Case, times: float) -> Judged:
    """A suspicion that is so many times beyond its threshold."""
    suspicion = suspicion_of(case)
    diagnosis = replace(suspicion.diagnosis, measure=Measure("roundoff", 16.0 * times), threshold=16.0)
    return Judged((), (replace(suspicion, diagnosis=diagnosis),))


@pytest.mark.parametrize(("first", "simpler_one", "taken"), [(100.0, 5.0, True), (100.0, 3.0, False), (2.0, 1.1, True)])
def test_a_case_that_is_just_beyond_its_threshold_is_not_taken_for_a_clear_one(
    first: float, simpler_one: float, taken: bool
) -> None:
    """What is just beyond it here may be within it on the next machine."""
    start = small()

    def check(cases: Sequence[Case]) -> list[Judged]:
        return [measured(case, first if case.digest == start.digest else simpler_one) for case in cases]

    (key,) = [s.key for s in measured(start, first).suspicions]
    reduction = reduce_case(start, key, check, PASSES, ReductionBudget())
    assert (reduction.case.digest != start.digest) is taken
