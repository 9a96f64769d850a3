"""Batch renormalization by hand: outputs, what gradients flow through, and what is left after the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.procedure import Procedure
from tensorparity.operators.catalogue import layer
from tensorparity.operators.layers.renormalization import after_call
from tensorparity.operators.reference.evaluate import constants, draw_weights, evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import Evaluation, ShapeError
from tensorparity.targets.runner import open_runner

#: Of one channel: mean 2, variance 4.
X = np.array([[0.0], [4.0]])
HELD = {"moving_mean": 9.0, "moving_variance": 9.0, "moving_stddev": 9.0, "renorm_mean": 1.0, "renorm_stddev": 4.0}
WEIGHTS = {f"n/{name}": np.array([value]) for name, value in HELD.items()}


def node(**params: Any) -> Node:
    plain = {"renorm": True, "epsilon": 0.0, "center": False, "scale": False}
    return Node("n", "BatchNormalization", (Ref("x"),), {**plain, **params})


def trained(clipping: Any) -> list[float]:
    found = evaluate_node(node(renorm_clipping=clipping), [X], WEIGHTS, training=True)
    return [float(value) for value in found[0].value.ravel()]


@pytest.mark.parametrize(
    ("clipping", "expected"),
    [
        (None, [-0.25, 0.75]),  # what is normalized by the moving statistics alone
        ({"rmin": 1.0}, [-0.75, 1.25]),  # r = 2 / 4 becomes 1, d = (2 - 1) / 4 stays
        ({"rmax": 0.25}, [0.0, 0.5]),
        ({"dmax": 0.125}, [-0.375, 0.625]),
        ({"rmax": 1.0, "rmin": 1.0, "dmax": 0.0}, [-1.0, 1.0]),  # plain batch normalization
    ],
)
def test_training_by_hand(clipping: Any, expected: list[float]) -> None:
    assert trained(clipping) == expected


def test_gamma_and_beta_come_after_the_correction() -> None:
    weights = {**WEIGHTS, "n/gamma": np.array([2.0]), "n/beta": np.array([1.0])}
    found = evaluate_node(node(center=True, scale=True), [X], weights, training=True)
    np.testing.assert_array_equal(found[0].value, [[0.5], [2.5]])


def test_inference_is_the_same() -> None:
    found = evaluate_node(node(), [X], WEIGHTS)[0]
    np.testing.assert_allclose(found.value, (X - 9.0) / 3.0, rtol=1e-15)


def test_a_moving_deviation_below_that_of_epsilon_counts_as_that() -> None:
    weights = {**WEIGHTS, "n/renorm_stddev": np.array([0.5])}
    found = evaluate_node(node(epsilon=1.0), [X], weights, training=True)[0]
    np.testing.assert_allclose(found.value, X - 1.0)


def test_no_gradient_flows_through_the_correction() -> None:
    """Held, a shift of the whole batch changes nothing, as without renorm; else it would be the moving mean's."""
    held = constants(node(), [X], WEIGHTS)
    assert {name: array.tolist() for name, array in held.items()} == {"renorm_r": [0.5], "renorm_d": [0.25]}
    (here,) = evaluate_node(node(), [X], WEIGHTS, training=True, held=held)
    (there,) = evaluate_node(node(), [X + 1.0], WEIGHTS, training=True, held=held)
    (free,) = evaluate_node(node(), [X + 1.0], WEIGHTS, training=True)
    np.testing.assert_array_equal(here.value, there.value)
    np.testing.assert_array_equal(free.value - here.value, 0.25)
    assert constants(node(renorm=False), [X], {name: WEIGHTS[name] for name in list(WEIGHTS)[:2]}) == {}


def test_a_mask_hides_steps_from_the_statistics() -> None:
    spec = layer("BatchNormalization")
    params, own = spec.complete(node().params), {name: np.array([value]) for name, value in HELD.items()}
    x, mask = np.array([[[0.0], [4.0], [100.0]]]), np.array([[True, True, False]])
    assert spec.masked is not None
    (found,) = spec.masked(params, [x], own, [mask], True)
    np.testing.assert_allclose(found.value.ravel(), [-0.25, 0.75, 24.75], rtol=1e-6)


def test_weights_after_a_step_by_hand() -> None:
    params = layer("BatchNormalization").complete({**node().params, "momentum": 0.75, "renorm_momentum": 0.5})
    before = {name: np.array([value]) for name, value in HELD.items()}
    nothing = np.zeros(1)
    found = after_call(params, Evaluation(np.array([5.0]), nothing), Evaluation(np.array([1.0]), nothing), before)
    values = {name: float(item.value[0]) for name, item in found.items()}
    assert values == {
        "moving_mean": 7.0, "moving_stddev": 8.0, "moving_variance": 64.0, "renorm_mean": 1.0, "renorm_stddev": 4.5,
    }  # fmt: skip


def test_float32_stays_within_the_bound_where_the_correction_cancels() -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(0, 1, (64, 3)) + 300).astype(np.float32)
    weights = {name: np.full(3, value, np.float32) for name, value in WEIGHTS.items()}
    truth = evaluate_node(node(epsilon=1e-3), [x], weights, training=True)[0]
    mean, variance = x.mean(0), np.square(x - x.mean(0)).mean(0)
    deviation = np.sqrt(variance + np.float32(1e-3))
    own = (x - mean) / deviation * (deviation / np.float32(4)) + (mean - np.float32(1)) / np.float32(4)
    assert error_units(own, truth, "float32").max() < K
    assert error_units(own * np.float32(1.001), truth, "float32").max() > K


@pytest.mark.parametrize("clipping", [{"rmax": 1.0, "rmin": 2.0}, {"dmax": -1.0}, {"r": 1.0}, [1.0], {"rmax": "much"}])
def test_clippings_that_rule_themselves_out(clipping: Any) -> None:
    spec = layer("BatchNormalization")
    with pytest.raises(ShapeError, match="`renorm_clipping`.*Received: renorm_clipping="):
        spec.shape(spec.complete({"renorm": True, "renorm_clipping": clipping}), [(2, 3)])


def test_weights_are_in_the_order_of_the_layer() -> None:
    spec = layer("BatchNormalization")
    found = spec.weights(spec.complete({"renorm": True}), [(None, 4)])
    assert list(found)[3:] == ["moving_variance", "moving_stddev", "renorm_mean", "renorm_stddev"]
    assert not any(found[name].trainable for name in list(found)[2:])


@pytest.mark.torch
@pytest.mark.onnxruntime
def test_it_is_written_out_for_torch_and_onnx() -> None:
    rng = np.random.default_rng(3)
    own = layer("BatchNormalization")
    cases = []
    for clipping in next(p for p in own.parameters if p.name == "renorm_clipping").valid:
        build = GraphBuilder()
        x = build.input("x", (4, 3))
        graph = build.build(build.add("BatchNormalization", x, name="n", renorm=True, renorm_clipping=clipping))
        inputs = {"x": rng.normal(1, 2, (5, 4, 3)).astype(np.float32)}
        cases.append(Case(graph, Procedure(training=True), inputs, weights=draw_weights(graph, rng)))
    targets = ["torch:eager", "onnxruntime"]
    with open_runner(targets) as runner:
        pairs = [(case, target) for case in cases for target in targets]
        for (case, target), outcome in zip(pairs, runner.run_pairs(pairs), strict=True):
            assert outcome.completed, outcome.failure
            truth = evaluate_node(case.subject.nodes[0], [case.inputs["x"]], case.weights, training=True)[0]
            assert error_units(outcome.outputs["n"], truth, "float32").max() < K, (target, case.subject.nodes[0])
