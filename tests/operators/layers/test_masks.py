"""Masks by hand: what each layer makes of one, and what it hands on."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.procedure import Recipe
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.layers.nested import serialized_layer
from tensorparity.operators.losses.catalogue import evaluate_loss
from tensorparity.operators.masks_and_states import MasksAndStates, layer_of
from tensorparity.operators.reference.evaluate import evaluate, evaluate_node
from tensorparity.operators.spec import ShapeError, no_masks

#: Steps 1, 2 and 4; the second is hidden in the first row, the first and the last in the second.
X = np.array([[[1.0], [0.0], [4.0]], [[0.0], [2.0], [0.0]]])
#: A running sum with a factor of ten: every step shows in a digit of its own.
TENS = {"kernel": [[1.0]], "recurrent_kernel": [[10.0]]}


def masked(op, params, weights=(), x=X, call_params=None):
    """A layer behind Masking: its outputs and the mask of the first."""
    build = GraphBuilder()
    hidden = build.add("Masking", build.input("x", x.shape[1:]))
    node = Node("l", op, (hidden,), params, call_params=call_params or {})
    graph = build.build(hidden)
    beside, named = MasksAndStates(), {f"l/{name}": np.asarray(value, float) for name, value in dict(weights).items()}
    value = evaluate(graph, {"x": x}, {}, beside=beside)["masking_1#0"][0].value
    found = evaluate_node(node, [value], named, beside=beside)
    return [item.value for item in found], beside.mask_of(Ref("l"))


def simple(**params):
    named = {f"simple_rnn_cell/{name}": value for name, value in TENS.items()}
    return masked("SimpleRNN", {"units": 1, "activation": None, "use_bias": False, **params}, named)


# Recurrent layers


def test_a_hidden_step_leaves_the_state_and_repeats_the_output():
    (steps, state), mask = simple(return_sequences=True, return_state=True)
    assert steps[..., 0].tolist() == [[1.0, 1.0, 14.0], [0.0, 2.0, 2.0]]
    assert state.tolist() == [[14.0], [2.0]]
    assert mask.tolist() == [[True, False, True], [False, True, False]]


def test_the_last_output_is_the_last_that_counts_and_has_no_mask():
    for zeroed in (False, True):  # "only used when return_sequences is True"
        (last,), mask = simple(zero_output_for_mask=zeroed)
        assert last.tolist() == [[14.0], [2.0]]
        assert mask is None


def test_hidden_steps_of_a_sequence_can_be_zeros():
    (steps,), _ = simple(return_sequences=True, zero_output_for_mask=True)
    assert steps[..., 0].tolist() == [[1.0, 0.0, 14.0], [0.0, 2.0, 0.0]]


def test_backwards_the_mask_turns_with_the_steps():
    (steps,), _ = simple(return_sequences=True, go_backwards=True)
    assert steps[..., 0].tolist() == [[4.0, 4.0, 41.0], [0.0, 2.0, 2.0]]
    (steps,), _ = simple(return_sequences=True, go_backwards=True, zero_output_for_mask=True, unroll=True)
    assert steps[..., 0].tolist() == [[4.0, 0.0, 41.0], [0.0, 2.0, 0.0]]


def test_bidirectional_zeroes_what_is_hidden_both_ways():
    inner = serialized_layer("SimpleRNN", "r", units=1, activation=None, use_bias=False, return_sequences=True)
    ways = {f"{way}_r/simple_rnn_cell/{name}": value for way in ("forward", "backward") for name, value in TENS.items()}
    (steps,), mask = masked("Bidirectional", {"layer": inner}, ways)
    assert steps.tolist() == [[[1.0, 41.0], [0.0, 0.0], [14.0, 4.0]], [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]]
    assert mask.tolist() == [[True, False, True], [False, True, False]]


def test_a_stack_of_cells_holds_all_of_its_states():
    cells = [
        serialized_layer("SimpleRNNCell", name, units=1, activation=None, use_bias=False)
        for name in ("first", "second")
    ]
    stack = serialized_layer("StackedRNNCells", "stack", cells=cells)
    weights = {f"stack/{cell}/{name}": value for cell in ("first", "second") for name, value in TENS.items()}
    (steps, *states), _ = masked("RNN", {"cell": stack, "return_sequences": True, "return_state": True}, weights)
    assert steps[..., 0].tolist() == [[1.0, 1.0, 24.0], [0.0, 2.0, 2.0]]  # 14 + 10 * 1
    assert [state[:, 0].tolist() for state in states] == [[14.0, 2.0], [24.0, 2.0]]


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_hiding_steps_is_leaving_them_out(op):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 5, 2))
    node = Node("l", op, (Ref("x"),), {"units": 3, "return_state": True})
    declared = layer(op).weights(layer(op).complete(node.params), [(1, 5, 2)])
    weights = {name: rng.normal(size=spec.shape) for name, spec in declared.items()}
    shown = [0, 2, 3]
    hidden = x * np.isin(np.arange(5), shown)[None, :, None]
    found, _ = masked(op, node.params, weights, hidden)
    wanted = evaluate_node(node, [x[:, shown]], {f"l/{name}": value for name, value in weights.items()})
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other.value)


def test_convlstm_takes_a_mask_of_steps_only():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1, 3, 4, 1))
    params = {"filters": 2, "kernel_size": 2, "padding": "same"}
    declared = layer("ConvLSTM1D").weights(layer("ConvLSTM1D").complete(params), [x.shape])
    weights = {name: rng.normal(size=spec.shape) for name, spec in declared.items()}
    assert layer("ConvLSTM1D").masked is not None
    complete, mask = layer("ConvLSTM1D").complete(params), np.array([[True, False, True]])
    (found,) = layer("ConvLSTM1D").masked(complete, [x], weights, [mask], False)
    (wanted,) = layer("ConvLSTM1D").reference(complete, [x[:, [0, 2]]], weights)
    np.testing.assert_array_equal(found.value, wanted.value)
    with pytest.raises(ShapeError, match="a mask of shape"):
        layer("ConvLSTM1D").masked(complete, [x], weights, [np.ones((1, 3, 4), bool)], False)


# Other readers


def test_the_mean_is_of_the_steps_that_count():
    (mean,), mask = masked("GlobalAveragePooling1D", {})
    assert mean.tolist() == [[2.5], [2.0]]
    assert mask is None


def test_batch_normalization_learns_from_what_counts_and_normalizes_all():
    x = np.array([[[1.0], [3.0], [8.0]]])
    mask = np.array([[True, True, False]])
    spec = layer("BatchNormalization")
    params, weights = spec.complete({"epsilon": 0.0}), {"gamma": np.array([2.0]), "beta": np.array([5.0])}
    weights |= {"moving_mean": np.array([1.0]), "moving_variance": np.array([4.0])}
    assert spec.masked is not None
    (trained,) = spec.masked(params, [x], weights, [mask], True)
    np.testing.assert_allclose(trained.value.ravel(), [3.0, 7.0, 17.0], rtol=1e-6)  # mean 2, variance 1
    (inferred,) = spec.masked(params, [x], weights, [mask], False)
    assert inferred.value.ravel().tolist() == [5.0, 7.0, 12.0]


def test_softmax_gives_nothing_to_what_is_hidden():
    spec = layer("Softmax")
    assert spec.masked is not None
    shown = np.array([[True, False, True]])
    (found,) = spec.masked(spec.complete({}), [np.array([[0.0, 9.0, 0.0]])], {}, [shown], False)
    assert found.value.tolist() == [[0.5, 0.0, 0.5]]
    with pytest.raises(ShapeError, match="broadcasts"):
        spec.masked(spec.complete({}), [np.zeros((2, 3, 4))], {}, [np.ones((2, 3), bool)], False)


def test_attention_hides_values_and_silences_queries():
    query, value = np.zeros((1, 2, 1)), np.array([[[1.0], [2.0], [30.0]]])
    spec = layer("Attention")
    assert spec.masked is not None
    masks = [np.array([[True, False]]), np.array([[True, True, False]])]
    result, shares = spec.masked(spec.complete({"return_attention_scores": True}), [query, value], {}, masks, False)
    assert result.value.tolist() == [[[1.5], [0.0]]]
    assert shares.value.tolist() == [[[0.5, 0.5, 0.0]] * 2]
    with pytest.raises(ShapeError, match="sees a key"):
        spec.masked(spec.complete({}), [query, value], {}, [None, np.zeros((1, 3), bool)], False)


@pytest.mark.parametrize("op", ["MultiHeadAttention", "GroupQueryAttention"])
def test_heads_hide_keys(op):
    spec = layer(op)
    sizes = {"MultiHeadAttention": {"num_heads": 1, "key_dim": 1}}.get(
        op, {"head_dim": 1, "num_query_heads": 1, "num_key_value_heads": 1}
    )
    params = spec.complete({**sizes, "use_bias": False})
    query, value = np.ones((1, 2, 1)), np.array([[[1.0], [2.0], [3.0]]])
    weights = {name: np.ones(w.shape) for name, w in spec.weights(params, [query.shape, value.shape]).items()}
    assert spec.masked is not None
    (found,) = spec.masked(params, [query, value], weights, [None, np.array([[True, False, False]])], False)
    assert found.value.ravel().tolist() == [1.0, 1.0]
    with pytest.raises(ShapeError, match="sees a key"):  # a hidden query sees none
        spec.masked(params, [query, value], weights, [np.array([[True, False]]), None], False)


# What is handed on

ONE, OTHER = np.array([[True, False, False]]), np.array([[True, False, True]])


@pytest.mark.parametrize("op", ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"])
def test_merges_show_what_any_input_shows(op):
    x = np.zeros((1, 3, 2))
    assert layer(op).masks({}, [x, x], [ONE, OTHER])[0].tolist() == [[True, False, True]]
    assert layer(op).masks({}, [x, x], [ONE, None]) == ()


def test_concatenate_takes_no_mask_for_all_shown():
    x = np.zeros((1, 3, 2))
    rule = layer("Concatenate").masks
    assert rule({"axis": -1}, [x, x], [ONE, OTHER])[0].tolist() == [[True, False, True]]
    assert rule({"axis": 1}, [x, x], [ONE, None])[0].tolist() == [[True, False, False, True, True, True]]
    assert rule({"axis": 1}, [x, x], [None, None]) == ()


def test_masks_are_made_of_values():
    assert layer("Masking").masks({"mask_value": 1.0}, [np.array([[[1.0, 1.0], [1.0, 0.0]]])], [ONE])[0].tolist() == [
        [False, True]
    ]
    rule = layer("Embedding").masks
    assert rule({"mask_zero": True}, [np.array([[0, 2]])], [None])[0].tolist() == [[False, True]]
    assert rule({"mask_zero": False}, [np.array([[0, 2]])], [None]) == ()
    assert layer("ReversibleEmbedding").masks({"mask_zero": True, "reverse": True}, [np.zeros((1, 2))], [None]) == ()


def test_most_layers_drop_a_mask():
    dropping = {name for name in layer_names() if layer(name).masks is no_masks}
    assert {"Conv1D", "Flatten", "GlobalAveragePooling1D", "RMSNormalization", "Reshape", "EinsumDense"} <= dropping
    assert not {"Dense", "LayerNormalization", "Dropout", "TimeDistributed", "LSTM", "Identity"} & dropping


def test_a_loss_is_of_what_counts():
    labels, predictions = np.zeros((1, 3, 1)), np.array([[[1.0], [5.0], [3.0]]])
    mean, total = Recipe("MeanAbsoluteError"), Recipe("MeanAbsoluteError", {"reduction": "sum"})
    assert evaluate_loss(mean, labels, predictions, OTHER).value == 2.0
    assert evaluate_loss(total, labels, predictions, OTHER).value == 4.0
    assert evaluate_loss(mean, labels, predictions, np.zeros((1, 3), bool)).value == 0.0
    with pytest.raises(ShapeError):
        evaluate_loss(mean, labels, predictions, np.ones((1,), bool))


def test_the_one_layer_behind_masks():
    build = GraphBuilder()
    hidden = build.add("Masking", build.input("x", (3, 1)))
    rnn = build.add("LSTM", hidden, name="l", units=1)
    assert layer_of(build.build(rnn)).op == "LSTM"
    assert layer_of(build.build(build.add("Dense", rnn, units=1))) is None


def test_what_is_hidden_is_no_factor_and_no_extreme():
    a, b = np.array([[[2.0], [3.0], [4.0]]]), np.array([[[5.0], [7.0], [1.0]]])
    found = {}
    for op in ("Multiply", "Maximum", "Minimum"):
        assert layer(op).masked is not None
        found[op] = layer(op).masked({}, [a, b], {}, [ONE, OTHER], False)[0].value.ravel().tolist()
    assert found == {"Multiply": [10.0, 0.0, 1.0], "Maximum": [5.0, 3.0, 1.0], "Minimum": [2.0, 3.0, 1.0]}
    (half,) = layer("Multiply").masked({}, [a, b], {}, [ONE, None], False)
    assert half.value.ravel().tolist() == [10.0, 7.0, 1.0]
