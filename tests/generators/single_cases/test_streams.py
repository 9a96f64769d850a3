"""What a short run draws of each kind: nothing may wait for its turn until a run is over."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Result
from tensorparity.generators.single_cases.streams import SingleCases
from tensorparity.generators.single_cases.subgradients import _bends

#: Of a run of 40 networks.
ROUNDS = 5


@pytest.fixture(scope="module", params=[0, 7])
def drawn(request: pytest.FixtureRequest) -> list[Case]:
    single = SingleCases(request.param, ("losses", "kinks"))
    return [ask.case for _ in range(ROUNDS) for ask in single.round()]


def test_only_what_was_run_is_counted() -> None:
    singles = SingleCases(0, ("losses",))
    first, second = singles.round(), singles.round()
    assert singles.counts()["loss_cases"] == 0
    singles.tell([Result(index, ask.case.digest) for index, ask in enumerate(first)])
    assert singles.counts()["loss_cases"] == len([ask for ask in first if ask.case.procedure.loss]) == 4
    assert second


def test_losses_behind_both_kinds_of_half_precision(drawn: list[Case]) -> None:
    policies = [case.procedure.dtype for case in drawn if case.procedure.loss is not None and case.procedure.dtype]
    assert len(policies) > 3
    assert set(policies) == {"mixed_float16", "mixed_bfloat16"}


def test_gradients_at_kinks_and_at_smooth_points(drawn: list[Case]) -> None:
    bends = [_bends(case, np.random.default_rng(0)) for case in drawn if case.cotangents]
    assert bends.count(False) > 3
    assert bends.count(True) > 10
