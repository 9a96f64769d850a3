"""The reference under a policy: casts at the layer's boundary, and a bound that knows them."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np

from tensorparity.core.graph import Node, Ref
from tensorparity.core.policies import policy_named
from tensorparity.core.verdict import Kind
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.oracles.measure.backward import layer_function
from tensorparity.oracles.measure.diagnose import accusation_of, blame
from tensorparity.oracles.measure.isolated_nodes import with_dtypes
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

DENSE = Node("dense", "Dense", (Ref("x"),), {"units": 3})


def numbers():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 5)).astype(np.float32)
    return x, {"dense/kernel": rng.standard_normal((5, 3)).astype(np.float32), "dense/bias": np.ones(3, np.float32)}


def test_inputs_and_weights_are_cast_before_they_are_used():
    x, weights = numbers()
    (truth,) = evaluate_node(DENSE, [x], weights, dtype="mixed_float16")
    cast = {name: array.astype(np.float16).astype(np.float64) for name, array in weights.items()}
    expected = x.astype(np.float16).astype(np.float64) @ cast["dense/kernel"] + cast["dense/bias"]
    np.testing.assert_allclose(truth.value, expected, rtol=1e-12)


def test_a_layer_that_computes_in_float32_throughout_is_as_right():
    x, weights = numbers()
    for name, dtype in (("mixed_float16", np.float16), ("mixed_bfloat16", ml_dtypes.bfloat16)):
        (truth,) = evaluate_node(DENSE, [x], weights, dtype=name)
        wide = (x @ weights["dense/kernel"] + weights["dense/bias"]).astype(dtype)
        assert error_units(wide, truth, policy_named(name).compute).max() <= K


def test_the_bound_of_half_is_no_excuse_for_a_lost_bias():
    x, weights = numbers()
    (truth,) = evaluate_node(DENSE, [x], weights, dtype="mixed_float16")
    wrong = (x @ weights["dense/kernel"]).astype(np.float16)
    assert error_units(wrong, truth, "float16").max() > 10 * K


def test_float32_is_what_it_was():
    x, weights = numbers()
    (plain,), (named,) = (evaluate_node(DENSE, [x], weights, dtype=dtype) for dtype in (None, "float32"))
    np.testing.assert_array_equal(plain.value, named.value)
    np.testing.assert_array_equal(plain.kappa, named.kappa)


def test_the_derivative_is_taken_where_the_casts_have_led():
    x, weights = numbers()
    cotangent = np.ones((2, 3), np.float16)
    policy = policy_named("mixed_float16")
    function = layer_function(DENSE, [x], weights, cotangent, training=False, policy=policy)
    assert {array.dtype.name for array in function.arguments.values()} == {"float16"}


def test_another_dtype_than_the_policy_s_is_wrong_whatever_the_values():
    answers = {"keras:one": [np.ones(1, np.float32)], "keras:two": [np.ones(1, np.float16)]}
    errors = with_dtypes(NodeErrors(DENSE, dict.fromkeys(answers, 0.0)), answers, "mixed_float16", traits=TRAITS)
    assert dict(errors.dtypes) == {"keras:one": "float32"}
    klass, suspects = blame(errors, dict.fromkeys(answers, "keras"))
    assert klass is not None
    assert suspects == ("keras:one",)


def test_wrong_numbers_of_others_come_before_the_dtype_of_one():
    answers = {"keras:one": [np.ones(1, np.float32)], "keras:two": [np.ones(1, np.float64)]}
    wrong = NodeErrors(DENSE, dict.fromkeys(answers, 1e4))
    errors = with_dtypes(wrong, answers, "float32", traits=TRAITS)
    assert not errors.dtypes
    accusation = accusation_of(*blame(errors, dict.fromkeys(answers, "keras")), [errors])
    assert accusation.kind is Kind.INCONSISTENCY
    assert accusation.diagnosis.suspects == ("keras",)
    alone = with_dtypes(replace(wrong, errors={"keras:one": 0.0, "keras:two": 1e4}), answers, "float32", traits=TRAITS)
    assert dict(alone.dtypes) == {"keras:two": "float64"}, "its numbers are wrong by its dtype, for all we know"


def test_all_alike_and_far_from_the_reference_is_nobody_s_fault_in_half():
    errors = {"keras:one": 100.0, "keras:two": 100.0}
    families = dict.fromkeys(errors, "keras")
    assert blame(NodeErrors(DENSE, errors), families)[1] == ("keras",)
    assert blame(NodeErrors(DENSE, errors, rough=True), families) == (None, ())
