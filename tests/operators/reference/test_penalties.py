"""What layers add to a loss and hold their weights to, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.jsontext import canonical
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.layers.governed import CONSTRAINTS, REGULARIZERS
from tensorparity.operators.reference.constraints import constrained, constraint_on, has_unknown_constraint
from tensorparity.operators.reference.penalties import (
    Factors,
    adds_penalties,
    factors_of,
    has_unknown_penalty,
    output_factors,
    penalty_terms,
    summed,
    weight_factors,
)
from tensorparity.operators.reference.rounding import error_units, exact
from tensorparity.operators.spec import Evaluation, ShapeError

GOVERNED = [name for name in layer_names() if layer(name).governed]


def node(op, **params):
    return Node("n", op, (Ref("x"),), params)


@pytest.mark.parametrize(
    ("value", "factors"),
    [
        (None, Factors()),
        ("l1", Factors(l1=0.01)),
        ("l2", Factors(l2=0.01)),
        ({"class_name": "L1", "config": {"l1": 0.5}}, Factors(l1=0.5)),
        ({"class_name": "L2", "config": {}}, Factors(l2=0.01)),
        ({"class_name": "L1L2", "config": {"l1": 0.5, "l2": 2}}, Factors(0.5, 2.0)),
        ({"module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.5}}, Factors(l2=0.5)),
    ],
)
def test_regularizers_by_name_and_by_configuration(value, factors):
    assert factors_of(value) == factors


@pytest.mark.parametrize(
    "value",
    [
        "l1_l2",
        "lasso",
        {"class_name": "L1", "config": {"l1": "much"}},
        {"class_name": "OrthogonalRegularizer", "config": {}},
    ],
)
def test_what_has_no_formula_is_refused(value):
    with pytest.raises(ShapeError, match="Received"):
        factors_of(value)


def test_a_penalty_by_hand():
    assert Factors(0.5, 2.0).of(np.array([1.0, -3.0])).value.tolist() == [2.5, 19.5]
    assert Factors(l2=1.0).of_output(np.array([[1.0, 2.0], [3.0, 4.0]])).value.tolist() == [[0.5, 2.0], [4.5, 8.0]]


def test_a_graph_adds_penalties_of_weights_once_and_of_outputs_with_every_call():
    build = GraphBuilder()
    x = build.input("x", (2,))
    params = {"units": 2, "kernel_regularizer": "l1", "activity_regularizer": "l2", "use_bias": False}
    first = build.add("Dense", x, name="d", **params, bias_regularizer="l1")
    graph = build.build(build.add("Dense", first, again="d"))
    kernel = np.array([[1.0, -1.0], [2.0, 0.0]])
    outputs = {"d#0": [np.ones((4, 2))], "d#1": [np.full((4, 2), 2.0)]}
    total = summed(penalty_terms(graph, {"d/kernel": kernel}, outputs))
    np.testing.assert_allclose(total.value, 0.01 * 4.0 + 0.01 * (2.0 + 8.0))
    assert total.kappa > 0
    with pytest.raises(ShapeError, match="not known"):
        penalty_terms(graph, {"d/kernel": kernel}, {"d#0": [np.ones((4, 2))]})


def test_activity_regularization_is_divided_by_the_batch():
    assert output_factors(node("ActivityRegularization", l1=0.125)) == Factors(l1=0.125)
    build = GraphBuilder()
    graph = build.build(build.add("ActivityRegularization", build.input("x", (3,)), name="a", l1=0.5))
    (terms,) = penalty_terms(graph, {}, {"a#0": [np.array([[1.0, -2.0, 0.0], [1.0, 0.0, 0.0]])]})
    assert terms.value.sum() == 0.5 * 4.0 / 2


def test_frozen_layers_have_no_penalty_of_their_weights():
    assert weight_factors(node("Dense", units=1, kernel_regularizer="l2")) == {"kernel": Factors(l2=0.01)}
    assert weight_factors(node("Dense", units=1, kernel_regularizer="l2", trainable=False)) == {}


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("ConvLSTM2D", {"kernel_regularizer": "l2"}),
        ("TimeDistributed", {"layer": {"class_name": "Dense", "config": {"kernel_regularizer": "l2"}}}),
        ("TimeDistributed", {"layer": {"class_name": "ActivityRegularization", "config": {"l1": 1.0}}}),
        ("NobodyKnows", {"kernel_regularizer": "l2"}),
    ],
)
def test_a_penalty_that_is_not_declared_is_noticed(op, params):
    assert has_unknown_penalty(node(op, **params))
    assert adds_penalties(node(op, **params))


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("Dense", {"units": 1, "kernel_regularizer": "l2"}),
        ("TimeDistributed", {"layer": {"class_name": "Dense", "config": {"kernel_regularizer": None}}}),
        ("NobodyKnows", {"kernel_regularizer": None}),
    ],
)
def test_what_is_declared_or_absent_is_no_unknown_penalty(op, params):
    assert not has_unknown_penalty(node(op, **params))


# Constraints

W = np.array([[3.0, 0.0], [-4.0, 0.1]])


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (None, W),
        ("non_neg", [[3.0, 0.0], [0.0, 0.1]]),
        ("unit_norm", [[0.6, 0.0], [-0.8, 1.0]]),
        ("max_norm", [[1.2, 0.0], [-1.6, 0.1]]),
        ({"class_name": "MaxNorm", "config": {"max_value": 10.0}}, W),
        ({"class_name": "MinMaxNorm", "config": {"min_value": 1.0, "max_value": 2.0}}, [[1.2, 0.0], [-1.6, 1.0]]),
        ({"class_name": "MinMaxNorm", "config": {"min_value": 1.0, "rate": 0.5}}, [[1.8, 0.0], [-2.4, 0.55]]),
        ({"class_name": "UnitNorm", "config": {"axis": [0, 1]}}, W / np.sqrt(25.01)),
    ],
)
def test_constraints_by_hand(constraint, expected):
    found = constrained(constraint, exact(W))
    np.testing.assert_allclose(found.value, expected, rtol=2e-6)  # Keras adds 1e-7 to a norm


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_bound_of_a_constraint_holds_float32_and_no_per_mille(constraint):
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((7, 4))
    rounded = weight.astype(np.float32).astype(np.float64)
    truth = constrained(constraint, Evaluation(weight, np.abs(weight)))
    got = constrained(constraint, exact(rounded)).value.astype(np.float32)
    assert error_units(got, truth, "float32").max() <= 1.0
    assert error_units((got * 1.001).astype(np.float32), truth, "float32").max() > 16.0


def test_a_norm_whose_squares_underflow_is_not_judged():
    found = constrained("unit_norm", exact(np.full((2, 1), 1e-20)))
    assert np.isinf(found.kappa).all()


def test_an_unknown_constraint_is_noticed():
    with pytest.raises(ShapeError, match="Received"):
        constrained("ball", exact(W))
    with pytest.raises(ShapeError, match="Received"):
        constrained({"class_name": "MaxNorm", "config": {"max_value": "much"}}, exact(W))
    assert constraint_on(node("Dense", units=1, kernel_constraint="non_neg"), "kernel") == "non_neg"
    assert constraint_on(node("Dense", units=1, kernel_constraint="non_neg"), "bias") is None
    assert has_unknown_constraint(node("ConvLSTM2D", kernel_constraint="non_neg"))
    assert not has_unknown_constraint(node("Dense", units=1, kernel_constraint="non_neg"))


# The catalogue


@pytest.mark.parametrize("name", GOVERNED)
def test_every_governed_weight_is_one_of_the_layer(name):
    spec = layer(name)
    params = spec.complete({parameter.name: parameter.valid[0] for parameter in spec.parameters if parameter.required})
    shape = (2, *(4,) * (spec.ranks[-1] - 1))
    if name == "EinsumDense":
        params |= {"bias_axes": "c"}
        shape = (2, 4)
    assert set(spec.governed.values()) <= set(spec.weights(params, [shape]))


@pytest.mark.parametrize("name", GOVERNED)
def test_every_declared_value_has_a_formula_and_is_rare(name):
    for parameter in layer(name).parameters:
        if parameter.name.endswith(("_regularizer", "_constraint")):
            assert parameter.rare
            assert parameter.default is None
            for value in parameter.valid:
                assert canonical(value)
                if parameter.name.endswith("_constraint"):
                    constrained(value, exact(W))
                else:
                    factors_of(value)


def test_the_layers_that_take_them_are_declared():
    assert {"Dense", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D"} <= set(
        GOVERNED
    )
    assert {"EinsumDense", "Embedding", "BatchNormalization", "LayerNormalization", "PReLU"} <= set(GOVERNED)
    assert {"LSTM", "GRU", "SimpleRNN"} <= set(GOVERNED)
    assert len(REGULARIZERS) == 4
    assert len(CONSTRAINTS) == 5


def test_a_term_without_a_factor_takes_no_part_and_overflow_on_the_way_is_not_judged():
    infinite = Factors(l1=0.5).of(np.array([np.inf]))
    assert infinite.value[0] == np.inf
    far = Factors(l2=1e-9).of(np.array([1e20, 1e10]))
    assert np.isinf(far.kappa[0])  # 1e40 is no number of float32, though 1e31 is
    assert np.isfinite(far.kappa[1])
