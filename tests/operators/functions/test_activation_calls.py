"""Activations called as functions: values by hand, what is declared of them, and what is drawn."""

from __future__ import annotations

import ast
import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg
from tensorparity.core.errors import UsageError
from tensorparity.generators.single_cases.activation_functions import STYLES, activation_case
from tensorparity.operators.functions import named_activations
from tensorparity.operators.functions.activation_calls import ACTIVATIONS
from tensorparity.operators.functions.api import api_known, evaluate_call, formula_of
from tensorparity.operators.functions.declared_calls import significant
from tensorparity.operators.functions.draws import draw_params
from tensorparity.operators.left_out import ACTIVATIONS_LEFT_OUT, NO_ACTIVATIONS

X = np.array([[-3.0, -1.0, -0.5, 0.0], [0.5, 1.0, 2.0, 7.0]])


def call(name: str, x: np.ndarray = X, **params: object) -> np.ndarray:
    return evaluate_call(ApiCall(f"keras.activations.{name}", (ArrayArg("x"),), params), {"x": x}).value


def _gate(x: float) -> float:
    return 1 / (1 + math.exp(-x))


ONE_BY_ONE = [
    ("relu", {"negative_slope": 0.5, "max_value": 2.0, "threshold": 0.25},
     lambda x: 2.0 if x >= 2 else x if x >= 0.25 else 0.5 * (x - 0.25)),
    ("leaky_relu", {"negative_slope": 0.01}, lambda x: x if x > 0 else 0.01 * x),
    ("elu", {"alpha": 2.0}, lambda x: x if x > 0 else 2 * (math.exp(x) - 1)),
    ("celu", {"alpha": 0.25}, lambda x: x if x > 0 else 0.25 * (math.exp(x / 0.25) - 1)),
    ("gelu", {"approximate": True},
     lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    ("squareplus", {"b": 1}, lambda x: (x + math.sqrt(x * x + 1)) / 2),
    ("soft_shrink", {"threshold": 1.0}, lambda x: x - 1 if x > 1 else x + 1 if x < -1 else 0.0),
    ("hard_shrink", {"threshold": 1.0}, lambda x: x if abs(x) > 1 else 0.0),
    ("threshold", {"threshold": 0.5, "default_value": -2.0}, lambda x: x if x > 0.5 else -2.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "by_hand"), ONE_BY_ONE, ids=[item[0] for item in ONE_BY_ONE])
def test_arguments_do_what_the_formula_says(name, params, by_hand):
    expected = [[by_hand(x) for x in row] for row in X.tolist()]
    np.testing.assert_allclose(call(name, **params), expected, rtol=1e-12, atol=1e-14)


def test_an_axis_is_the_one_that_is_asked_for():
    x = np.log([[1.0, 3.0], [3.0, 1.0]])
    np.testing.assert_allclose(call("softmax", x, axis=0), [[0.25, 0.75], [0.75, 0.25]])
    np.testing.assert_allclose(call("log_softmax", x, axis=0), np.log([[0.25, 0.75], [0.75, 0.25]]))
    y = np.array([[2.0, 0.0, 0.1], [0.0, 0.0, 0.2]])
    np.testing.assert_allclose(call("sparsemax", y, axis=0), [[1.0, 0.5, 0.45], [0.0, 0.5, 0.55]])
    np.testing.assert_allclose(call("sparsemax", y[1:], axis=-1), [[4 / 15, 4 / 15, 7 / 15]])
    z = np.arange(4.0).reshape(2, 2)
    np.testing.assert_allclose(call("glu", z, axis=0), [[0.0, _gate(3.0)]])
    np.testing.assert_allclose(call("glu", z), [[0.0], [2.0 * _gate(3.0)]])


def test_what_an_odd_size_is_halved_into_is_not_said():
    with pytest.raises(UsageError, match="even"):
        call("glu", np.ones((2, 3)))


def test_at_its_threshold_relu_may_be_either():
    """Its text damps what is below it, the example in its text what is at it."""
    found = evaluate_call(
        ApiCall("keras.activations.relu", (ArrayArg("x"),), {"threshold": 1.0}), {"x": np.array([1.0, 1.5])}
    )
    assert found.kappa[0] == named_activations.EITHER_SIDE
    assert found.kappa[1] < 10


def test_what_some_libraries_take_for_zero_may_be_on_either_side_of_a_jump():
    found = evaluate_call(
        ApiCall("keras.activations.threshold", (ArrayArg("x"),), {"threshold": 0.0, "default_value": 5.0}),
        {"x": np.array([1e-40, 0.0, 1e-30])},
    )
    assert found.kappa.tolist() == [named_activations.EITHER_SIDE, 0.0, 0.0]
    np.testing.assert_array_equal(found.value[1:], [5.0, 1e-30])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_minus_infinity_leaves_the_bound_of_the_others_finite(name):
    found = evaluate_call(
        ApiCall(f"keras.activations.{name}", (ArrayArg("x"),)), {"x": np.array([[-np.inf, 0.0, 1.0]])}
    )
    assert np.isfinite(found.kappa[0, 1:]).all()
    assert found.kappa[0, 2] > 0


def _public() -> dict[str, list[str]]:
    """The functions of the installed Keras and their arguments, as its source has them: nothing is imported."""
    found = importlib.util.find_spec("keras")
    if found is None or not found.submodule_search_locations:
        pytest.skip("not installed: keras")
    folder = Path(found.submodule_search_locations[0])
    public = ast.parse((folder / "activations/__init__.py").read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name: alias.name
        for node in public.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    source = ast.parse((folder / "src/activations/activations.py").read_text(encoding="utf-8"))
    written = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}
    return {
        name: [argument.arg for argument in written[own].args.args] for name, own in names.items() if own in written
    } | {name: [] for name, own in names.items() if own not in written}


def test_every_public_function_is_declared():
    assert set(_public()) == set(ACTIVATIONS) | set(NO_ACTIVATIONS)
    assert set(ACTIVATIONS) - set(named_activations.NAMES) == set(ACTIVATIONS_LEFT_OUT)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_every_argument_is_declared(name):
    assert _public()[name] == ["x", *(parameter.name for parameter in ACTIVATIONS[name].parameters)]


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_what_is_declared_can_be_asked(name):
    spec = ACTIVATIONS[name]
    assert api_known(spec.api)
    assert formula_of(spec.api) == spec.formula
    for parameter in spec.parameters:
        assert parameter.required or parameter.default in parameter.valid
        assert not any(value in parameter.valid for value in parameter.invalid)
    if not any(parameter.required for parameter in spec.parameters):
        shape = (2, 4)
        x = np.linspace(-2, 2, 8).reshape(shape)
        named = named_activations.glu if name == "glu" else lambda found: named_activations.apply(name, found)
        expected = named(named_activations.Evaluation(x, np.zeros(shape))).value
        np.testing.assert_array_equal(call(name, x), expected)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_a_reference_says_something_in_every_style(name, style):
    spec = ACTIVATIONS[name]
    if spec.along_axis and style in ("empty", "huge"):
        return
    for seed in range(6):
        rng = np.random.default_rng(seed)
        case = activation_case(spec, draw_params(spec.parameters, rng), rng, style=style)
        found = evaluate_call(case.subject, dict(case.inputs))
        x = case.inputs["x"].astype(np.float64)
        assert np.isnan(found.value).any() == np.isnan(x).any()
        if style != "special":
            assert np.isfinite(x).all()
            assert np.isfinite(found.value).all() or name == "exponential"


def test_styles_are_what_they_say():
    rng = np.random.default_rng(0)
    spec = ACTIVATIONS["hard_shrink"]

    def drawn(style: str, name: str = "hard_shrink", dtype: str = "float32") -> np.ndarray:
        cases = [activation_case(ACTIVATIONS[name], {}, rng, style=style, dtype=dtype) for _ in range(20)]
        return np.concatenate([case.inputs["x"].astype(np.float64).ravel() for case in cases])

    edges = drawn("edges")
    assert {0.5, -0.5, 0.0, 1.0} <= set(edges)
    assert set(np.signbit(edges[edges == 0]).tolist()) == {True, False}
    assert np.abs(drawn("huge")).max() > 1e38
    assert np.abs(drawn("huge", dtype="float16")).max() < 65504
    assert (np.abs(drawn("small")) < 1.1e-38).any()
    assert np.isinf(drawn("special")).any()
    assert not np.isnan(drawn("special")).any(), "told by cases: nothing is said of NaN"
    assert np.isnan(drawn("special", "sigmoid")).any()
    infinite = drawn("special", "silu")
    assert np.isposinf(infinite).any()
    assert np.isneginf(infinite).any(), "its limit is 0, and so is its reference"
    ranks = {activation_case(spec, {}, rng).inputs["x"].ndim for _ in range(40)}
    assert ranks == {1, 2, 3, 4}
    dtypes = {activation_case(spec, {}, rng).inputs["x"].dtype.name for _ in range(60)}
    assert dtypes == {"float16", "float32", "float64", "bfloat16"}


def test_arguments_beyond_their_defaults_are_significant():
    assert significant(ApiCall("keras.activations.elu", (), {"alpha": 1.0})) == {}
    assert significant(ApiCall("keras.activations.elu", (), {"alpha": 2.0})) == {"alpha": 2.0}
    given = {"threshold": 0.5, "default_value": 0.0}
    assert significant(ApiCall("keras.activations.threshold", (), given)) == given
    assert significant(ApiCall("keras.ops.softmax", (), {"axis": 1})) == {}
