"""Dtype policies: what they mean, and what a target's numbers are worth under them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_name
from tensorparity.core.errors import UsageError
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.policies import POLICIES, cast, coarser, gradients_as_computed, holds, policy_named
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)


def test_none_is_float32_and_an_unknown_one_is_an_error():
    assert policy_named(None).name == "float32"
    with pytest.raises(UsageError, match="mixed_float8"):
        policy_named("mixed_float8")


def test_mixed_policies_compute_in_half_and_keep_weights_in_float32():
    policy = policy_named("mixed_bfloat16")
    assert (policy.compute, policy.variable, policy.loss, policy.fed()) == ("bfloat16", "float32", "float32", "float32")
    assert policy.half
    assert policy.mixed
    assert not POLICIES["float16"].mixed


def test_casting_touches_floats_alone_and_overflows_to_infinity():
    assert cast(np.array([1e6, 1.0]), "float16").tolist() == [np.inf, 1.0]
    whole = np.array([70000])
    assert cast(whole, "float16") is whole


def test_a_gradient_of_mixed_precision_is_worth_a_half():
    policy = policy_named("mixed_float16")
    gradients = {"weight:a/kernel": np.array([1.0 + 2.0**-20], np.float32)}
    outcome = Outcome("keras:jax", Status.COMPLETED, trace=Trace(gradients=gradients))
    found = gradients_as_computed({"keras:jax": outcome}, policy, TRAITS)["keras:jax"].trace.gradients[
        "weight:a/kernel"
    ]
    assert dtype_name(found) == "float16"
    assert found.tolist() == [1.0]


@pytest.mark.parametrize(
    ("target", "name", "expected"),
    [
        ("keras:tensorflow", "float64", "float64"),
        ("keras:jax", "float64", "float32"),
        ("keras:torch{threads=1}", "float64", "float32"),
        ("torch:eager", "float64", "float64"),
        ("keras:jax", "mixed_float16", "float16"),
    ],
)
def test_keras_keeps_64_bits_on_tensorflow_alone(target, name, expected):
    assert TRAITS[target].effective_dtype(policy_named(name).compute) == expected
    assert dtype_name(coarser(np.zeros(1), policy_named(name), TRAITS[target])) == expected


def test_nothing_is_made_finer():
    rough = np.zeros(1, np.float16)
    assert coarser(rough, policy_named("float64"), TRAITS["keras:jax"]) is rough


class TestRoom:
    def test_who_is_narrowed_to_float32_has_no_room_for_more(self) -> None:
        policy = policy_named("float64")
        huge = [np.array([1.0, 1e64])]
        assert not holds(TRAITS["keras:jax"], policy, huge)
        assert holds(TRAITS["keras:tensorflow"], policy, huge)

    def test_infinities_need_no_room(self) -> None:
        assert holds(TRAITS["keras:jax"], policy_named("float64"), [np.array([np.inf, np.nan, 1e30]), np.arange(3)])

    def test_in_the_policys_own_dtype_everything_has_room(self) -> None:
        assert holds(TRAITS["keras:jax"], policy_named("mixed_float16"), [np.array([1e30], np.float32)])
