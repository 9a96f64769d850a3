"""Trainings apart: by the share of movement, by layer, by step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.oracles.measure.drift import compare_trainings, losses_part

START = {"a/kernel": np.zeros(4, np.float32), "b/kernel": np.ones(4, np.float32), "b/bias": np.zeros(2, np.float32)}


def trained(target: str, *steps: dict[str, float]) -> Outcome:
    """Weights after each step: the start, plus 0.1 per step, plus what is said here."""
    weights = {
        f"{step}:{name}": (before + 0.1 * (step + 1) + extra.get(name, 0.0)).astype(np.float32)
        for step, extra in enumerate(steps)
        for name, before in START.items()
    }
    return Outcome(target, Status.COMPLETED, trace=Trace(weights=weights, losses=tuple(1.0 for _ in steps)))


def test_equal_trainings_stay_together() -> None:
    training = compare_trainings([trained("x", {}, {}), trained("y", {}, {})], START, 2)
    assert (training.partings, training.first) == ((), None)
    assert training.drift == (0.0, 0.0)
    assert [(layer.layer, layer.difference, layer.parted) for layer in training.layers] == [
        ("a", 0.0, None),
        ("b", 0.0, None),
    ]


def test_step_layer_and_share_of_where_they_part() -> None:
    good, bad = trained("x", {}, {}, {}), trained("y", {}, {"b/bias": 0.01}, {"b/bias": 0.03, "a/kernel": 0.3})
    training = compare_trainings([good, bad], START, 3)
    (parting,) = training.partings
    assert (parting.a, parting.b, parting.step, parting.weight, parting.layer) == ("x", "y", 2, "b/bias", "b")
    assert parting.apart == pytest.approx(0.01 / 0.21, rel=1e-3)
    assert [(layer.layer, layer.weight, layer.parted) for layer in training.layers] == [
        ("a", "a/kernel", 3),
        ("b", "b/bias", 2),
    ]
    assert training.layers[0].difference == pytest.approx(0.5)
    assert training.drift[0] == 0.0 < training.drift[1] < training.drift[2]


def test_the_pair_furthest_apart_speaks_for_a_layer() -> None:
    outcomes = [trained("x", {}), trained("y", {"a/kernel": 0.01}), trained("z", {"a/kernel": -0.02})]
    layer = compare_trainings(outcomes, START, 1).layers[0]
    assert (layer.a, layer.b) == ("y", "z")


def test_a_difference_within_the_roundoff_of_the_weight_is_no_parting() -> None:
    training = compare_trainings([trained("x", {}), trained("y", {"b/kernel": 1e-7})], START, 1)
    assert training.partings == ()
    assert 0 < training.drift[0] < 1e-6


def test_what_is_not_finite_on_one_side_is_infinitely_far() -> None:
    training = compare_trainings([trained("x", {}), trained("y", {"a/kernel": math.nan})], START, 1)
    assert training.drift == (math.inf,)
    assert training.first is not None
    assert training.first.apart == math.inf
    both = [trained(target, {"a/kernel": math.nan}) for target in ("x", "y")]
    assert compare_trainings(both, START, 1).drift == (0.0,)


def test_one_training_alone_has_only_its_losses() -> None:
    training = compare_trainings([trained("x", {})], START, 1)
    assert (dict(training.losses), training.drift, training.layers) == ({"x": (1.0,)}, (), ())


class TestLosses:
    def test_the_first_step_where_they_differ(self) -> None:
        parting = losses_part((1.0, 2.0, 47.5, 9.0), (1.0, 2.001, 13.9, 1.0))
        assert parting is not None
        assert (parting.step, parting.a, parting.b) == (3, 47.5, 13.9)
        assert parting.apart == pytest.approx(33.6 / 47.5)

    @pytest.mark.parametrize("other", [(1.0, 0.0), (1.001, 0.0)])
    def test_what_the_weights_explain_is_no_parting(self, other: tuple[float, ...]) -> None:
        assert losses_part((1.0, 0.0), other) is None

    def test_nan_is_equal_only_to_itself(self) -> None:
        assert losses_part((math.nan, math.inf), (math.nan, math.inf)) is None
        parting = losses_part((math.nan,), (1.0,))
        assert parting is not None
        assert parting.apart == math.inf
