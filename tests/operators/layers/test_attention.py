from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

QUERY = np.array([[[1.0, 0.0], [0.0, 2.0]]])
VALUE = np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])


def run(op, params, *inputs, call=None, **weights):
    named = {f"a/{name.replace('__', '/')}": np.asarray(value, dtype=float) for name, value in weights.items()}
    refs = tuple(Ref(f"x{index}") for index in range(len(inputs)))
    node = Node("a", op, refs, params, call_params=call or {})
    return [item.value for item in evaluate_node(node, inputs, named)]


def softmax(scores):
    powers = np.exp(np.asarray(scores) - np.max(scores))
    return powers / powers.sum()


def test_dot_product_by_hand():
    (found,) = run("Attention", {}, QUERY, VALUE)
    expected = [softmax([1, 3, 5]) @ VALUE[0], softmax([4, 8, 12]) @ VALUE[0]]
    np.testing.assert_allclose(found[0], expected)


def test_scale_multiplies_the_product():
    (found,) = run("Attention", {"use_scale": True}, QUERY, VALUE, scale=0.5)
    np.testing.assert_allclose(found[0, 0], softmax([0.5, 1.5, 2.5]) @ VALUE[0])


def test_concat_by_hand():
    params = {"use_scale": True, "score_mode": "concat"}
    (found,) = run("Attention", params, QUERY, VALUE, scale=0.5, concat_score_weight=3.0)
    scores = [3 * sum(math.tanh(0.5 * (q + k)) for q, k in zip(QUERY[0, 0], row, strict=True)) for row in VALUE[0]]
    np.testing.assert_allclose(found[0, 0], softmax(scores) @ VALUE[0])


def test_additive_by_hand():
    (found,) = run("AdditiveAttention", {}, QUERY, VALUE, scale=[2.0, -1.0])
    scores = [2 * math.tanh(1 + row[0]) - math.tanh(0 + row[1]) for row in VALUE[0]]
    np.testing.assert_allclose(found[0, 0], softmax(scores) @ VALUE[0])


def test_a_causal_mask_hides_later_keys_and_scores_are_an_output():
    call = {"use_causal_mask": True, "return_attention_scores": True}
    found, scores = run("Attention", {}, QUERY, VALUE, call=call)
    np.testing.assert_array_equal(found[0, 0], VALUE[0, 0])
    assert scores[0, 0].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(scores[0, 1], [*softmax([4, 8]), 0.0])


def test_the_key_decides_and_the_value_is_passed_on():
    key = np.array([[[100.0, 0.0], [0.0, 100.0], [-9.0, -9.0]]])
    (found,) = run("Attention", {}, QUERY, VALUE, key)
    np.testing.assert_allclose(found, VALUE[:, :2])


def heads(size, count, inner):
    rng = np.random.default_rng(3)
    shapes = {"query": (size, count, inner), "key": (size, count, inner), "value": (size, count, inner)}
    weights = {f"{name}__kernel": rng.normal(size=shape) for name, shape in shapes.items()}
    return {**weights, "attention_output__kernel": rng.normal(size=(count, inner, size))}


def test_one_head_is_attention_between_projections():
    weights = heads(2, 1, 3)
    (found,) = run("MultiHeadAttention", {"num_heads": 1, "key_dim": 3, "use_bias": False}, QUERY, VALUE, **weights)
    query, key, value = (
        x @ weights[f"{n}__kernel"][:, 0] for x, n in ((QUERY, "query"), (VALUE, "key"), (VALUE, "value"))
    )
    (inner,) = run("Attention", {}, query / math.sqrt(3), value, key)
    np.testing.assert_allclose(found, inner @ weights["attention_output__kernel"][0])


def test_heads_add_up():
    weights = heads(2, 2, 3)
    params = {"num_heads": 2, "key_dim": 3, "use_bias": False}
    (both,) = run("MultiHeadAttention", params, QUERY, VALUE, **weights)
    parts = []
    for head in range(2):
        own = {name: weight[:, head : head + 1] for name, weight in weights.items() if not name.startswith("att")}
        own["attention_output__kernel"] = weights["attention_output__kernel"][head : head + 1]
        parts.append(run("MultiHeadAttention", {**params, "num_heads": 1}, QUERY, VALUE, **own)[0])
    np.testing.assert_allclose(both, parts[0] + parts[1])


def test_grouped_queries_share_keys_and_values():
    weights = heads(2, 4, 3)
    for name in ("key__kernel", "value__kernel"):
        weights[name] = weights[name][:, [0, 0, 1, 1]]
    (many,) = run("MultiHeadAttention", {"num_heads": 4, "key_dim": 3, "use_bias": False}, QUERY, VALUE, **weights)
    for name in ("key__kernel", "value__kernel"):
        weights[name] = weights[name][:, [0, 2]]
    params = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2, "use_bias": False}
    np.testing.assert_allclose(run("GroupQueryAttention", params, QUERY, VALUE, **weights)[0], many)


def test_a_sliding_window_of_one_passes_the_own_value():
    weights = heads(2, 1, 3)
    params = {"num_heads": 1, "key_dim": 3, "use_bias": False, "sliding_window": 1}
    (found,) = run("MultiHeadAttention", params, QUERY, VALUE, **weights)
    expected = VALUE[:, :2] @ weights["value__kernel"][:, 0] @ weights["attention_output__kernel"][0]
    np.testing.assert_allclose(found, expected)


def test_weights_in_the_order_of_the_layer():
    spec = layer("MultiHeadAttention")
    params = spec.complete({"num_heads": 2, "key_dim": 3, "value_dim": 5, "use_gate": True})
    weights = spec.weights(params, [(None, 4, 6), (None, 7, 8)])
    assert [name for name in weights if name.endswith("kernel")] == [
        f"{name}/kernel" for name in ("query", "key", "gate", "value", "attention_output")
    ]
    assert weights["value/kernel"].shape == (8, 2, 5)
    assert weights["attention_output/bias"].shape == (6,)


@pytest.mark.parametrize(
    ("op", "params", "shapes", "words"),
    [
        ("Attention", {"score_mode": "x"}, [(1, 2, 3), (1, 4, 3)], "`score_mode`"),
        ("Attention", {}, [(1, 2, 3), (1, 4, 5)], "one size"),
        ("Attention", {}, [(1, 2, 3), (2, 4, 3)], "batch"),
        ("Attention", {}, [(1, 2, 3), (1, 4, 5), (1, 5, 3)], "as many keys"),
        ("MultiHeadAttention", {"num_heads": 0, "key_dim": 1}, [(1, 2, 3), (1, 4, 3)], "`num_heads`"),
        ("MultiHeadAttention", {"num_heads": 1, "key_dim": 1, "output_shape": -1}, [(1, 2, 3)] * 2, "`output_shape`"),
        (
            "MultiHeadAttention",
            {"num_heads": 1, "key_dim": 1, "sliding_window": 2},
            [(1, 7, 3), (1, 4, 3)],
            "`sliding_window`",
        ),
        (
            "GroupQueryAttention",
            {"head_dim": 1, "num_query_heads": 3, "num_key_value_heads": 2},
            [(1, 2, 3)] * 2,
            "`num_key_value_heads`",
        ),
    ],
)
def test_what_does_not_fit_is_refused(op, params, shapes, words):
    spec = layer(op)
    with pytest.raises(ShapeError, match=f"{words}.*Received: "):
        spec.shape(spec.complete(params), shapes)


def test_an_undeclared_argument_of_the_call_is_refused():
    with pytest.raises(ShapeError, match="`attention_mask` of the call"):
        run("Attention", {}, QUERY, VALUE, call={"attention_mask": True})


def _plain_heads(params, *inputs, call=None):
    """One head of size 1, all kernels ones: what is attended over is a softmax of products."""
    ones = {f"{name}__kernel": np.ones((1, 1, 1)) for name in ("query", "key", "value", "attention_output")}
    return run(
        "MultiHeadAttention", {"num_heads": 1, "key_dim": 1, "use_bias": False, **params}, *inputs, call=call, **ones
    )


@pytest.mark.parametrize(("axes", "axis"), [(1, 1), ((2,), 2), (-2, 2)])
def test_attention_along_one_axis_is_one_for_each_place_of_the_others(axes, axis):
    rng = np.random.default_rng(0)
    query, value = rng.normal(size=(2, 3, 4, 1)), rng.normal(size=(2, 3, 4, 1))
    found, scores = _plain_heads({"attention_axes": axes}, query, value, call={"return_attention_scores": True})
    assert scores.shape == ((2, 4, 1, 3, 3) if axis == 1 else (2, 3, 1, 4, 4))
    for place in range(query.shape[3 - axis]):
        q, v = (x.take(place, 3 - axis) for x in (query, value))
        (alone,) = _plain_heads({}, q, v)
        np.testing.assert_allclose(found.take(place, 3 - axis), alone)
    np.testing.assert_allclose(scores.sum(-1), 1.0)


@pytest.mark.parametrize("axes", [None, (1, 2)])
def test_attention_over_all_axes_is_that_of_one_long_sequence(axes):
    rng = np.random.default_rng(1)
    query, value = rng.normal(size=(2, 3, 4, 1)), rng.normal(size=(2, 5, 2, 1))
    found, scores = _plain_heads({"attention_axes": axes}, query, value, call={"return_attention_scores": True})
    alone, flat = _plain_heads(
        {}, query.reshape(2, 12, 1), value.reshape(2, 10, 1), call={"return_attention_scores": True}
    )
    np.testing.assert_array_equal(found, alone.reshape(2, 3, 4, 1))
    assert scores.shape == (2, 1, 3, 4, 5, 2)
    np.testing.assert_array_equal(scores, flat.reshape(scores.shape))


@pytest.mark.parametrize(
    ("params", "shapes", "words"),
    [
        ({"attention_axes": 2}, [(2, 3, 4), (2, 3, 4)], "between the batch and the features"),
        ({"attention_axes": 0}, [(2, 3, 4), (2, 3, 4)], "between the batch and the features"),
        ({"attention_axes": 1}, [(2, 3, 4, 5), (2, 3, 6, 5)], "along axis 2"),
        ({"attention_axes": 1}, [(2, 3, 4, 5), (2, 3, 5)], "of one rank"),
        ({"attention_axes": 1}, [(2, 3, 4, 5), (2, 6, 4, 5), (2, 7, 4, 5)], "as many keys as values"),
        ({"use_causal_mask": True}, [(2, 3, 4, 5), (2, 3, 4, 5)], "several axes"),
        ({"sliding_window": 2}, [(2, 3, 4, 5), (2, 3, 4, 5)], "several axes"),
        ({}, [(2, 3), (2, 3)], "rank 3"),
    ],
)
def test_axes_that_do_not_fit_are_refused(params, shapes, words):
    spec = layer("MultiHeadAttention")
    with pytest.raises(ShapeError, match=words):
        spec.shape(spec.complete({"num_heads": 2, "key_dim": 3, **params}), shapes)
