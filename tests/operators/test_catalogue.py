"""What holds for every layer of the catalogue."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorparity.core.errors import UsageError
from tensorparity.core.jsontext import canonical, parse
from tensorparity.operators.catalogue import has_layer, layer, layer_names
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import ShapeError


def test_names():
    assert len(layer_names()) >= 105
    assert has_layer("Conv2D")
    assert not has_layer("Lambda")
    with pytest.raises(UsageError, match="unknown layer 'Lambda'"):
        layer("Lambda")


@pytest.mark.parametrize("name", layer_names())
def test_declaration_is_complete(name):
    spec = layer(name)
    assert spec.name == name
    assert spec.api == f"keras.layers.{name}"
    assert spec.formula
    for parameter in (*spec.parameters, *spec.call_parameters):
        assert parameter.valid, parameter
        assert parameter.required or parameter.default in parameter.valid, parameter
        assert not any(value in parameter.valid for value in parameter.invalid), parameter
        parse(canonical([parameter.default, *parameter.valid, *parameter.invalid]))  # all JSON


@pytest.mark.parametrize("name", layer_names())
def test_invalid_values_are_refused(name, draw_example):
    spec = layer(name)
    example = draw_example(name, np.random.default_rng(0))
    for parameter in spec.parameters:
        for value in parameter.invalid:
            with pytest.raises(ShapeError, match=f"{parameter.name}.*Received: "):
                spec.shape({**example.params, parameter.name: value}, example.shapes)


@pytest.mark.parametrize("name", layer_names())
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_shape_rule_is_the_shape_of_the_reference(name, draw_example, seed):
    example = draw_example(name, np.random.default_rng(seed))
    evaluations = evaluate_node(example.node, example.inputs, example.weights)
    promised = layer(name).shape(example.params, example.shapes)
    assert [evaluation.value.shape for evaluation in evaluations] == list(promised)
    for evaluation in evaluations:
        assert evaluation.value.dtype == np.float64
        assert np.broadcast_shapes(evaluation.kappa.shape, evaluation.value.shape) == evaluation.value.shape
        assert np.all(evaluation.kappa >= 0)


@pytest.mark.parametrize("name", layer_names())
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_batch_size_may_be_unknown(name, draw_example, seed):
    example = draw_example(name, np.random.default_rng(seed))
    known = layer(name).shape(example.params, example.shapes)
    unknown = layer(name).shape(example.params, [(None, *shape[1:]) for shape in example.shapes])
    assert unknown == tuple((None, *shape[1:]) for shape in known)


#: Activations whose formula subtracts: their result may be nothing but rounding, also where it is the largest.
CANCELLING = ("hard_shrink", "soft_shrink", "sparse_plus", "squareplus", "tanh_shrink")
#: Layers whose largest output may be the logarithm of nothing but rounding.
LOGARITHMS = ("MelSpectrogram",)


@pytest.mark.parametrize("name", layer_names())
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rounding_the_true_value_is_below_k_and_a_per_mille_is_above(name, draw_example, seed):
    example = draw_example(name, np.random.default_rng(seed))
    for truth in evaluate_node(example.node, example.inputs, example.weights):
        rounded = truth.value.astype(np.float32)
        assert error_units(rounded, truth, "float32").max(initial=0.0) <= 1.0
        largest = np.abs(truth.value) >= np.abs(truth.value).max(initial=0.0) * 0.999
        cancels = example.params.get("activation") in CANCELLING or name in LOGARITHMS
        if np.abs(truth.value).max(initial=0.0) > 0 and not cancels:
            wrong = error_units((truth.value * 1.001).astype(np.float32), truth, "float32")
            assert wrong[largest].min() > K


def test_no_library_is_imported():
    code = (
        "import sys\n"
        "from tensorparity.operators import catalogue, known_classes\n"
        "from tensorparity.operators.losses import catalogue as losses\n"
        "from tensorparity.operators.optimizers import catalogue as optimizers\n"
        "from tensorparity.operators.reference import evaluate\n"
        "[catalogue.layer(name) for name in catalogue.layer_names()]\n"
        "assert not {'keras', 'tensorflow', 'torch', 'jax', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
