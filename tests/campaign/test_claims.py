"""A claim's tolerance is that of the verdict: by element, where a formula is known."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.campaign.claims import claim_of
from tensorparity.campaign.scripts import render
from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Kind, Stage
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.suspicion import Suspicion

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
    assert "observed = observed[1]" in render(suspicion(), "torch:eager", claim)


def test_rounding_of_the_large_one_does_not_hide_it() -> None:
    claim = claimed(np.array([1e6 + 0.0625, 2e-3], np.float32))
    assert claim.element == (1,)
    assert claim.tolerance < claim.off


def test_a_large_error_is_shown_in_the_whole_array() -> None:
    claim = claimed(np.array([2e6, 1e-3], np.float32))
    assert claim.element is None
    assert claim.tolerance < claim.off
