"""Dtype policies of generated networks: drawn by the seed, recorded in the case, and kept by its numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_name, is_floating
from tensorparity.core.case import Case
from tensorparity.core.errors import UsageError
from tensorparity.core.policies import POLICIES, cast, policy_named
from tensorparity.core.procedure import Goal
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.generators.networks.policies import LARGEST_IN_HALF, SHARES, draw_policy, read_policies
from tensorparity.operators.reference.evaluate import evaluate


def networks(count: int, *policies: str, seed: int = 5, **settings):
    generator = NetworkGenerator(seed, NetworkSettings(max_vertices=6, policies=policies, **settings))
    return [generator.next() for _ in range(count)], generator


def test_shares_are_those_that_are_documented():
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert set(SHARES) == set(POLICIES)
    drawn = Counter(draw_policy(seed, number, ()).name for seed in range(4) for number in range(1500))
    for name, share in SHARES.items():
        assert abs(drawn[name] / 6000 - share) < 0.02, name


def test_the_seed_and_the_number_decide():
    first, _ = networks(12)
    again, _ = networks(12)
    assert [network.case.digest for network in first] == [network.case.digest for network in again]
    assert [network.policy for network in first] == [draw_policy(5, number, ()).name for number in range(1, 13)]


def test_a_network_as_in_the_paper_is_of_float32():
    found, generator = networks(6, varied=False)
    assert {network.policy for network in found} == {"float32"}
    assert generator.coverage.to_json()["policies"] == {"used": 1, "declared": 1, "networks": {"float32": 6}}


@pytest.mark.parametrize("name", [name for name in SHARES if name != "float32"])
def test_the_numbers_of_a_network_are_those_of_its_policy(name):
    policy = policy_named(name)
    found, generator = networks(8, name)
    assert generator.coverage.policies == {name: 8}
    for network in found:
        case = network.case
        assert case.procedure.dtype == network.policy == name
        floats = [array for array in case.inputs.values() if is_floating(dtype_name(array))]
        assert {dtype_name(array) for array in floats} <= {policy.fed()}
        assert {dtype_name(array) for array in case.weights.values()} <= {policy.variable}
        for array in floats:  # the first layer's cast loses nothing
            np.testing.assert_array_equal(cast(array, policy.compute).astype(np.float64), array.astype(np.float64))
        pure = policy.half and not policy.mixed
        assert case.procedure.goal is (Goal.GRADIENTS if pure else Goal.UPDATE)


def test_float64_has_digits_that_float32_has_not():
    found, _ = networks(8, "float64")
    arrays = [array for network in found for array in (*network.case.weights.values(), *network.case.inputs.values())]
    assert any((array != array.astype(np.float32)).any() for array in arrays if dtype_name(array) == "float64")


def test_half_precision_stays_within_its_range():
    for network in networks(10, "mixed_float16")[0]:
        case = network.case
        if case.procedure.training or network.template == "edges":
            continue
        for outputs in evaluate(case.subject, case.inputs, case.weights, dtype="mixed_float16").values():
            assert np.abs(outputs[0].value).max() <= 1.01 * LARGEST_IN_HALF


def test_a_policy_survives_the_round_trip_of_its_case():
    for network in networks(4, "bfloat16", "mixed_float16")[0]:
        case = network.case
        again = Case.from_parts(case.header(), case.arrays())
        assert again.procedure.dtype == case.procedure.dtype
        assert again.digest == case.digest


def test_some_of_mixed_float16_scale_their_loss():
    optimizers = {network.case.procedure.optimizer.name for network in networks(16, "mixed_float16")[0]}
    assert "LossScaleOptimizer" in optimizers
    assert len(optimizers) > 2


def test_training_flags_batch_sizes_and_data_formats_are_drawn():
    found, _ = networks(60)
    assert {network.case.procedure.training for network in found} == {True, False}
    assert {len(next(iter(network.case.inputs.values()))) for network in found} == {1, 2, 3}
    formats = {node.params.get("data_format") for network in found for node in network.case.subject.nodes}
    assert {"channels_first", "channels_last"} <= formats


def test_policies_are_read_from_a_list():
    assert read_policies(" float64, mixed_float16 ,float64") == ("float64", "mixed_float16")
    assert read_policies("") == ()
    with pytest.raises(UsageError, match="float128"):
        read_policies("float128")
