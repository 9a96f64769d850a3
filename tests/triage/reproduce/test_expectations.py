"""A claim's tolerance is that of the verdict: by element, where a formula is known."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.expectations import claim_of
from tensorparity.triage.reproduce.scripts import render

X = np.array([1e6, 1e-3], np.float32)


def suspicion() -> Suspicion:
    case = Case(ApiCall("torch.fmod", (ArrayArg("a"), ArrayArg("b"))), Procedure(goal=Goal.CALL), {"a": X, "b": 4 * X})
    diagnosis = Diagnosis(Class.DEFECT, ("torch:eager",), "", "torch.fmod", {}, ())
    return Suspicion(Kind.INCONSISTENCY, diagnosis, case, ("torch:eager",), stage=Stage.CALL)


def claimed(observed: Array) -> Claim:
    found = claim_of(
        suspicion(), {"torch:eager": Outcome("torch:eager", Status.COMPLETED, {"0": observed})}, "torch:eager"
    )
    assert found is not None
    assert found.off is not None
    return found


def test_a_small_element_beside_a_large_one() -> None:
    claim = claimed(np.array([1e6, 2e-3], np.float32))
    assert claim.element == (1,)
    assert claim.off == pytest.approx(1e-3, rel=1e-3)
    assert claim.tolerance < 1e-6 * claim.off * 10
    assert "observed = observed[1]" in render(suspicion(), "torch:eager", claim, traits_of(["torch:eager"]))


def test_rounding_of_the_large_one_does_not_hide_it() -> None:
    claim = claimed(np.array([1e6 + 0.0625, 2e-3], np.float32))
    assert claim.element == (1,)
    assert claim.tolerance < claim.off


def test_a_large_error_is_shown_in_the_whole_array() -> None:
    claim = claimed(np.array([2e6, 1e-3], np.float32))
    assert claim.element is None
    assert claim.tolerance < claim.off


A, B, C, D = "keras:torch", "keras:jax", "keras:tensorflow", "onnxruntime"


def voted(own: Array, **others: Array) -> Claim | None:
    """What the others make of the gradient of a layer that no formula speaks of; targets by letter."""
    names = {"b": B, "c": C, "d": D}
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (2,)), name="relu"))
    case = Case(graph, Procedure(goal=Goal.REPLAY, nodes=("relu#0",)))
    answers = {A: own, **{names[letter]: array for letter, array in others.items()}}
    outcomes = {
        target: Outcome(target, Status.COMPLETED, trace=Trace(gradients={"input:relu#0/0": array}))
        for target, array in answers.items()
    }
    diagnosis = Diagnosis(Class.DEFECT, (A,), "", "keras.layers.ReLU", {}, ())
    return claim_of(Suspicion(Kind.INCONSISTENCY, diagnosis, case, tuple(answers), stage=Stage.BACKWARD), outcomes, A)


ONES = np.ones(4)


@pytest.mark.parametrize(
    ("dtype", "by", "shown"),
    [("float64", 1e-9, True), ("float32", 1e-6, False), ("float32", 1e-2, True), ("float16", 1e-2, False)],
)
def test_a_vote_is_measured_in_the_dtype_under_test(dtype: str, by: float, shown: bool) -> None:
    claim = voted((ONES + by).astype(dtype), b=ONES.astype(dtype), c=ONES.astype(dtype))
    assert (claim is not None) is shown


def test_only_those_that_agree_are_named() -> None:
    one = ONES.astype(np.float32)
    claim = voted(2 * one, b=3 * one, c=one, d=one)
    assert claim is not None
    assert claim.source == f"{C} and {D}"
    assert claim.expected[0] == 1.0
    assert not claim.precise


def test_others_that_do_not_agree_say_nothing() -> None:
    one = ONES.astype(np.float32)
    assert voted(2 * one, b=3 * one, c=one) is None
