"""The isolated replay, on targets that compute in NumPy and err on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder, Node
from tensorparity.core.model import Model
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal
from tensorparity.operators.rounding import K
from tensorparity.triage.replay import NodeErrors, measure_node

Measure = Callable[..., dict[str, NodeErrors]]
LAYERS = ["conv1", "norm", "conv2", "flat", "dense"]


def bump(array: Array) -> Array:
    return array + np.float32(0.01)


def test_healthy_targets_are_within_rounding(measure: Measure, fake_runner: Any) -> None:
    found = measure(fake_runner())
    assert list(found) == LAYERS
    assert all(error <= K for errors in found.values() for error in errors.errors.values())
    assert {errors.judged_by for errors in found.values()} == {"reference"}


def test_an_error_shows_in_its_layer_alone(measure: Measure, fake_runner: Any) -> None:
    found = measure(fake_runner(planted={"fake:b": {"conv1": bump}}))
    assert found["conv1"].errors["fake:b"] > K
    assert found["conv1"].absolute["fake:b"] == pytest.approx(0.01, rel=1e-3)
    others = [e for name, errors in found.items() for t, e in errors.errors.items() if (name, t) != ("conv1", "fake:b")]
    assert max(others) <= K


def test_it_does_not_matter_that_the_activations_are_the_guilty_ones(measure: Measure, fake_runner: Any) -> None:
    found = measure(fake_runner(planted={"fake:a": {"conv1": bump}}))
    guilty = {(name, t) for name, errors in found.items() for t, e in errors.errors.items() if e > K}
    assert guilty == {("conv1", "fake:a")}


def test_every_target_gets_identical_inputs(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(planted={"fake:a": {"conv1": bump}})
    measure(runner)
    replays = {ran.target: ran.case for ran in runner.ran if ran.case.procedure.goal is Goal.REPLAY}
    assert len(replays) == 3
    assert len({case.digest for case in replays.values()}) == 1


def test_nodes_behind_something_not_finite_are_left_out(measure: Measure, fake_runner: Any) -> None:
    broken = np.full((2, 6, 6, 3), np.nan, np.float32)
    assert list(measure(fake_runner(), norm=broken)) == ["conv1", "norm", "flat", "dense"]


def test_nodes_whose_inputs_were_not_traced_are_left_out(measure: Measure, fake_runner: Any) -> None:
    assert list(measure(fake_runner(), norm=None)) == ["conv1", "norm", "flat", "dense"]


def test_a_target_that_raises_in_one_node_is_replayed_node_by_node(measure: Measure, fake_runner: Any) -> None:
    found = measure(fake_runner(raising={"fake:b": ["conv2"]}))
    assert set(found["conv2"].errors) == {"fake:a", "fake:c"}
    assert found["conv2"].endings == {"fake:b": "raised: NodeError: no conv2#0 here"}
    for name in ("conv1", "norm", "flat", "dense"):
        assert set(found[name].errors) == {"fake:a", "fake:b", "fake:c"}
        assert found[name].endings == {}


def test_another_shape_is_infinitely_wrong(measure: Measure, fake_runner: Any) -> None:
    found = measure(fake_runner(planted={"fake:c": {"flat": lambda y: y[:, :-1]}}))
    assert found["flat"].errors["fake:c"] == float("inf")
    assert found["flat"].absolute["fake:c"] == float("inf")


def test_all_targets_may_have_the_same_other_shape(measure: Measure, fake_runner: Any) -> None:
    planted = {target: {"dense": lambda y: y[:, :-1]} for target in fake_runner().targets}
    errors = measure(fake_runner(planted=planted))["dense"]
    assert set(errors.errors.values()) == {float("inf")}
    assert errors.mutual == 0.0


def mystery() -> Model:
    build = GraphBuilder("mystery")
    return Model("mystery", build.build(build.add("Mystery", build.input("x", (6, 6, 2)), name="mystery")))


def test_without_reference_three_targets_vote(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(custom={"Mystery": lambda x: x * 2}, planted={"fake:b": {"mystery": bump}})
    errors = measure(runner, mystery())["mystery"]
    assert errors.judged_by == "vote"
    assert errors.errors["fake:a"] == errors.errors["fake:c"] == 0.0
    assert errors.errors["fake:b"] > 8 * K


def test_without_reference_two_targets_decide_nothing(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(targets=("fake:a", "fake:b"), custom={"Mystery": lambda x: x * 2})
    errors = measure(runner, mystery())["mystery"]
    assert errors.judged_by == "nothing"
    assert all(np.isnan(error) for error in errors.errors.values())


@pytest.mark.parametrize(
    ("op", "steps", "guilty"),
    [("onnx.ArgMax", 1, True), ("onnx.QuantizeLinear", 1, False), ("onnx.QuantizeLinear", 2, True)],
)
def test_integers_are_exact_but_for_one_step_of_rounding(op: str, steps: int, guilty: bool) -> None:
    node = Node("n", op, ())
    values = np.array([0, 7, 255], np.uint8)
    answers = {"a": values, "b": values, "c": values - np.array([0, steps, 0], np.uint8)}
    outcomes = {
        target: Outcome(target, Status.COMPLETED, trace=Trace(nodes={"n#0": array}))
        for target, array in answers.items()
    }
    errors = measure_node(node, [], {}, outcomes)
    assert (errors.errors["c"] > errors.limit) is guilty
    assert np.isfinite(errors.errors["c"])
    two = measure_node(node, [], {}, {target: outcomes[target] for target in "ac"})
    assert (two.judged_by, two.disputed) == ("nothing", guilty)


def test_the_odd_shape_out_is_wrong(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(custom={"Mystery": np.abs}, planted={"fake:b": {"mystery": lambda y: y[:, :-1]}})
    errors = measure(runner, mystery())["mystery"]
    assert (errors.judged_by, errors.majority) == ("vote", True)
    assert errors.errors == {"fake:a": 0.0, "fake:b": float("inf"), "fake:c": 0.0}
