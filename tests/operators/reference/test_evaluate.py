from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.errors import DataError
from tensorparity.core.graph import GraphBuilder
from tensorparity.operators.reference.evaluate import (
    calibrate,
    declare_weights,
    draw_weights,
    evaluate,
    evaluate_node,
    infer_shapes,
)
from tensorparity.operators.spec import ShapeError


def small_network(activation="softmax"):
    builder = GraphBuilder("small")
    x = builder.input("x", (8, 8, 3))
    y = builder.add("Conv2D", x, name="conv", filters=4, kernel_size=3, padding="same")
    y = builder.add("BatchNormalization", y, name="bn")
    y = builder.add("Activation", y, name="act", activation="relu")
    y = builder.add("Add", y, y, name="twice")
    y = builder.add("GlobalAveragePooling2D", y, name="pool")
    y = builder.add("Dense", y, name="logits", units=5, activation=activation)
    return builder.build(y)


@pytest.fixture
def batch():
    return {"x": np.random.default_rng(5).normal(2, 3, (6, 8, 8, 3)).astype(np.float32)}


def test_shapes_by_name():
    shapes = infer_shapes(small_network(), 6)
    assert shapes["x"] == ((6, 8, 8, 3),)
    assert shapes["conv"] == ((6, 8, 8, 4),)
    assert shapes["logits"] == ((6, 5),)
    assert infer_shapes(small_network(), None)["pool"] == ((None, 4),)


def test_a_node_that_does_not_fit_is_named():
    builder = GraphBuilder()
    x = builder.input("x", (4,))
    graph = builder.build(builder.add("Conv2D", x, name="conv", filters=1, kernel_size=1))
    with pytest.raises(ShapeError, match=r"node 'conv' \(Conv2D\): .*Received: "):
        infer_shapes(graph, 1)


def test_weights_by_layer_in_order():
    declared = declare_weights(small_network())
    assert list(declared) == [
        "conv/kernel",
        "conv/bias",
        "bn/gamma",
        "bn/beta",
        "bn/moving_mean",
        "bn/moving_variance",
        "logits/kernel",
        "logits/bias",
    ]


def test_drawn_weights_switch_no_term_off():
    graph = small_network()
    weights = draw_weights(graph, np.random.default_rng(0))
    again = draw_weights(graph, np.random.default_rng(0))
    for key, spec in declare_weights(graph).items():
        assert weights[key].shape == spec.shape
        assert weights[key].dtype == np.float32
        assert np.all(weights[key] != 0)
        np.testing.assert_array_equal(weights[key], again[key])
        if spec.role in ("scale", "variance"):
            assert np.all(weights[key] > 0)


def test_a_shared_layer_is_drawn_once_and_evaluated_twice():
    builder = GraphBuilder()
    x = builder.input("x", (3,))
    first = builder.add("Dense", x, name="d", units=3)
    graph = builder.build(builder.add("Dense", first, again="d"))
    weights = draw_weights(graph, np.random.default_rng(0))
    assert list(weights) == ["d/kernel", "d/bias"]
    found = evaluate(graph, {"x": np.ones((1, 3))}, weights)
    assert list(found) == ["d#0", "d#1"]
    once = found["d#0"][0].value @ weights["d/kernel"].astype(float) + weights["d/bias"]
    np.testing.assert_allclose(found["d#1"][0].value, once)


def test_a_layer_shared_by_inputs_that_do_not_agree_is_refused():
    builder = GraphBuilder()
    x = builder.input("x", (3,))
    first = builder.add("Dense", x, name="d", units=4)
    with pytest.raises(ShapeError, match="shared"):
        declare_weights(builder.build(builder.add("Dense", first, again="d")))


def test_the_whole_is_its_nodes_one_by_one(batch):
    graph = small_network()
    weights = draw_weights(graph, np.random.default_rng(0))
    found = evaluate(graph, batch, weights)
    for node in graph.nodes:
        inputs = [found[f"{ref.node}#0"][0].value if ref.node != "x" else batch["x"] for ref in node.inputs]
        np.testing.assert_array_equal(evaluate_node(node, inputs, weights)[0].value, found[node.key][0].value)


def test_keep_says_what_comes_back(batch):
    graph = small_network()
    weights = draw_weights(graph, np.random.default_rng(0))
    kept = evaluate(graph, batch, weights, keep=["logits#0"])
    assert list(kept) == ["logits#0"]
    np.testing.assert_array_equal(kept["logits#0"][0].value, evaluate(graph, batch, weights)["logits#0"][0].value)


def test_missing_and_misshapen_arrays_are_named(batch):
    graph = small_network()
    weights = draw_weights(graph, np.random.default_rng(0))
    with pytest.raises(DataError, match="input 'x' is missing"):
        evaluate(graph, {}, weights)
    with pytest.raises(DataError, match="weight 'bn/beta' of node 'bn' is missing"):
        evaluate(graph, batch, {key: value for key, value in weights.items() if key != "bn/beta"})
    with pytest.raises(DataError, match="'conv/bias': expected shape"):
        evaluate(graph, batch, {**weights, "conv/bias": np.zeros(9)})


def test_calibration_normalizes_every_batch_normalization(batch):
    graph = small_network()
    weights = draw_weights(graph, np.random.default_rng(0))
    calibrated = calibrate(graph, weights, batch)
    found = evaluate(graph, batch, {**calibrated, "bn/gamma": np.ones(4), "bn/beta": np.zeros(4)})["bn#0"][0].value
    np.testing.assert_allclose(found.mean(axis=(0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(found.std(axis=(0, 1, 2)), 1, rtol=1e-2)
    assert {key: value.dtype for key, value in calibrated.items()} == dict.fromkeys(weights, np.dtype(np.float32))
    np.testing.assert_array_equal(calibrated["conv/kernel"], weights["conv/kernel"])


def test_calibration_gives_logits_of_unit_spread(batch):
    weights = calibrate(small_network(), draw_weights(small_network(), np.random.default_rng(0)), batch)
    logits = evaluate(small_network(activation=None), batch, weights)["logits#0"][0].value
    assert np.std(logits) == pytest.approx(1.0, rel=1e-5)
    assert np.all(weights["logits/bias"] != 0)


def test_calibration_leaves_a_layer_that_is_called_twice_alone():
    builder = GraphBuilder()
    x = builder.input("x", (3,))
    first = builder.add("Dense", x, name="d", units=3)
    graph = builder.build(builder.add("Dense", first, again="d"))
    weights = draw_weights(graph, np.random.default_rng(0))
    calibrated = calibrate(graph, weights, {"x": np.random.default_rng(0).normal(size=(4, 3))})
    np.testing.assert_array_equal(calibrated["d/kernel"], weights["d/kernel"])


def test_non_finite_inputs_are_answers():
    builder = GraphBuilder()
    x = builder.input("x", (3,))
    graph = builder.build(builder.add("Activation", x, name="a", activation="softmax"))
    found = evaluate(graph, {"x": np.array([[np.nan, 1.0, np.inf]])}, {})
    assert np.isnan(found["a#0"][0].value).all()


def test_calibration_leaves_a_recurrent_layer_alone():
    builder = GraphBuilder()
    x = builder.input("x", (5,), "int32")
    y = builder.add("Embedding", x, name="rows", input_dim=7, output_dim=3)
    graph = builder.build(builder.add("LSTM", y, name="lstm", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    inputs = {"x": np.random.default_rng(0).integers(0, 7, (4, 5)).astype(np.int32)}
    calibrated = calibrate(graph, weights, inputs)
    for key in ("lstm/lstm_cell/kernel", "rows/embeddings"):
        np.testing.assert_array_equal(calibrated[key], weights[key])
    assert evaluate(graph, inputs, weights)["lstm#0"][0].value.shape == (4, 2)


@pytest.mark.parametrize("mask_zero", [True, False])
def test_a_mask_counts_where_a_layer_can_see_it(mask_zero: bool) -> None:
    build = GraphBuilder("masks")
    x = build.add("Embedding", build.input("ids", (2,), "int32"), input_dim=3, output_dim=1, mask_zero=mask_zero)
    graph = build.build(build.add("GlobalAveragePooling1D", x, name="mean"))
    table = {"embedding_1/embeddings": np.array([[10.0], [1.0], [2.0]])}
    (mean,) = evaluate(graph, {"ids": np.array([[0, 2]])}, table)["mean#0"]
    assert mean.value.tolist() == [[2.0 if mask_zero else 6.0]]
