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
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.isolated_nodes import measure_node
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.oracles.measure.votes import judge_by_vote
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

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
    errors = measure_node(node, [], {}, outcomes, traits=TRAITS)
    assert (errors.errors["c"] > errors.limit) is guilty
    assert np.isfinite(errors.errors["c"])
    two = measure_node(node, [], {}, {target: outcomes[target] for target in "ac"}, traits=TRAITS)
    assert (two.judged_by, two.disputed) == ("nothing", guilty)


def test_the_odd_shape_out_is_wrong(measure: Measure, fake_runner: Any) -> None:
    runner = fake_runner(custom={"Mystery": np.abs}, planted={"fake:b": {"mystery": lambda y: y[:, :-1]}})
    errors = measure(runner, mystery())["mystery"]
    assert (errors.judged_by, errors.majority) == ("vote", True)
    assert errors.errors == {"fake:a": 0.0, "fake:b": float("inf"), "fake:c": 0.0}


def voted(op: str = "Mystery", **answers: Array) -> NodeErrors:
    """The errors of one node without a reference; ``__`` in a name stands for a colon, ``_0`` for a setting."""
    outcomes = {}
    for name, array in answers.items():
        target = name.replace("__", ":").replace("_0", "{optimization=none}")
        outcomes[target] = Outcome(target, Status.COMPLETED, trace=Trace(nodes={"n#0": array}))
    return measure_node(Node("n", op, ()), [], {}, outcomes, traits=TRAITS)


RIGHT, WRONG = np.ones(4, np.float32), np.full(4, 2, np.float32)


class TestBallots:
    def test_one_library_twice_does_not_outvote_another(self) -> None:
        errors = voted(onnxruntime=WRONG, onnxruntime_0=WRONG, openvino=RIGHT)
        assert (errors.judged_by, errors.disputed) == ("nothing", True)

    def test_nor_two_others(self) -> None:
        crowd = {"torch__eager": WRONG, "torch__compile": WRONG, "keras__torch": WRONG}
        errors = voted(**crowd, onnxruntime=RIGHT, openvino=RIGHT)
        assert (errors.judged_by, errors.majority, errors.disputed) == ("vote", True, False)
        assert {target for target, error in errors.errors.items() if error > errors.limit} == {
            "torch:eager",
            "torch:compile",
            "keras:torch",
        }

    def test_a_library_that_disagrees_with_itself_is_judged_by_the_others(self) -> None:
        errors = voted(onnxruntime=WRONG, onnxruntime_0=RIGHT, openvino=RIGHT)
        assert (errors.judged_by, errors.majority) == ("vote", True)
        assert [target for target, error in errors.errors.items() if error > errors.limit] == ["onnxruntime"]

    def test_the_backends_of_keras_are_independent(self) -> None:
        errors = voted(keras__tensorflow=RIGHT, keras__jax=WRONG, keras__torch=RIGHT)
        assert [target for target, error in errors.errors.items() if error > errors.limit] == ["keras:jax"]

    def test_the_numpy_backend_of_keras_is_no_second_witness_for_jax(self) -> None:
        errors = voted("Conv2D", keras__tensorflow=RIGHT, keras__jax=WRONG, keras__numpy=WRONG)
        assert errors.judged_by == "nothing"
        own = voted("Mystery", keras__tensorflow=RIGHT, keras__jax=WRONG, keras__numpy=WRONG)
        assert own.judged_by == "vote"  # of what it does not borrow

    def test_gradients_are_voted_on_in_the_same_way(self) -> None:
        answers = {"torch:eager": WRONG, "torch:compile": WRONG, "keras:jax": RIGHT}
        errors = judge_by_vote(
            Node("n", "Mystery", ()), {target: {"g": array} for target, array in answers.items()}, traits=TRAITS
        )
        assert (errors.judged_by, errors.disputed) == ("nothing", True)


class TestLackingNames:
    NODE = Node("n", "Mystery", ())
    TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")

    def voted(self, lacking: int, *, complete: bool) -> NodeErrors:
        answers = {t: {"k": RIGHT, "b": RIGHT} for t in self.TARGETS}
        for target in self.TARGETS[:lacking]:
            del answers[target]["b"]
        return judge_by_vote(self.NODE, answers, complete=complete, traits=TRAITS)

    def test_what_most_have_must_be_there(self) -> None:
        errors = self.voted(1, complete=True)
        assert [target for target, error in errors.errors.items() if error > errors.limit] == [self.TARGETS[0]]
        assert not errors.disputed

    def test_what_most_lack_is_disputed(self) -> None:
        errors = self.voted(2, complete=True)
        assert set(errors.errors.values()) == {0.0}
        assert errors.disputed

    def test_a_gradient_may_lack(self) -> None:
        errors = self.voted(1, complete=False)
        assert set(errors.errors.values()) == {0.0}
        assert not errors.disputed

    def test_two_that_differ_on_what_the_third_lacks(self) -> None:
        first, second, third = self.TARGETS
        answers = {first: {"k": RIGHT, "b": RIGHT}, second: {"k": RIGHT, "b": WRONG}, third: {"k": RIGHT}}
        assert judge_by_vote(self.NODE, answers, traits=TRAITS).disputed


class TestEveryDtype:
    @pytest.mark.parametrize(
        ("right", "wrong"),
        [
            (np.array([1 + 1j]), np.array([1 - 1j])),
            (np.array([2**60, 1]), np.array([2**60 + 1, 1])),
            (np.array([True, False]), np.array([True, True])),
            (np.array(["a", "b"]), np.array(["a", "c"])),
            (np.array([1.0, 2.0], np.float16), np.array([1.0, 3.0], np.float16)),
        ],
        ids=["complex", "int64", "bool", "string", "float16"],
    )
    @pytest.mark.parametrize("odd", ["a", "b", "c"])
    def test_the_odd_one_out_is_wrong(self, right: Array, wrong: Array, odd: str) -> None:
        errors = voted(**{**dict.fromkeys("abc", right), odd: wrong})
        assert [target for target, error in errors.errors.items() if error > errors.limit] == [odd]
        assert np.isfinite(errors.errors[odd])
        assert errors.absolute[odd] >= 1
        assert len(errors.camps) == 2

    def test_a_nan_does_not_win_a_vote(self) -> None:
        errors = voted(a=RIGHT, b=RIGHT * np.float32(np.nan), c=RIGHT)
        assert errors.errors == {"a": 0.0, "b": float("inf"), "c": 0.0}

    def test_a_node_behind_an_infinite_imaginary_part_is_left_out(self, measure: Measure, fake_runner: Any) -> None:
        broken = np.full((2, 6, 6, 3), complex(1, np.inf), np.complex64)
        assert "conv2" not in measure(fake_runner(), norm=broken)


def test_mutual_is_any_against_any(measure: Measure, fake_runner: Any) -> None:
    planted = {"fake:b": {"dense": bump}, "fake:c": {"dense": lambda y: y - np.float32(0.01)}}
    errors = measure(fake_runner(planted=planted))["dense"]
    assert errors.mutual > 1.5 * max(errors.errors.values())


@pytest.mark.parametrize("order", ["abc", "bac", "cab"])
def test_mutual_does_not_depend_on_who_is_first(order: str) -> None:
    by_name = {"a": RIGHT, "b": RIGHT + np.float32(1e-3), "c": RIGHT - np.float32(1e-3)}
    farthest = voted(b=by_name["b"], c=by_name["c"]).mutual
    assert voted(**{name: by_name[name] for name in order}).mutual == pytest.approx(farthest, rel=0.01)
