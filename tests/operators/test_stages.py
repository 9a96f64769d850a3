"""What each layer says of the stages it takes part in, against what its weights and its reference do."""

from __future__ import annotations

import pytest

from tensorparity.core.procedure import Goal
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.page import example_weights
from tensorparity.operators.spec import FLOATS, STAGES

ATTEMPTS = 30
#: Have weights only with parameters other than the defaults.
WEIGHTS_ON_DEMAND = {"Attention"}


@pytest.mark.parametrize("name", layer_names())
def test_stages_and_dtypes_are_known_words_in_order(name: str):
    spec = layer(name)
    assert spec.stages == tuple(stage for stage in STAGES if stage in spec.stages)
    assert "inference" in spec.stages
    assert spec.dtypes == tuple(dtype for dtype in FLOATS if dtype in spec.dtypes)
    assert "float32" in spec.dtypes
    assert not (spec.random and "training" in spec.stages)


@pytest.mark.parametrize("name", layer_names())
def test_who_is_updated_has_weights_that_are_trained(name: str):
    trained = any(weight.trainable for _, weight in example_weights(layer(name)))
    assert ("update" in layer(name).stages) == (trained or name in WEIGHTS_ON_DEMAND)


def test_who_has_no_gradient_does_not_move_with_its_input():
    """The two kinds of layers without one: those that read whole numbers, and those that step."""
    still = {name for name in layer_names() if "backward" not in layer(name).stages}
    assert still == {
        "CategoryEncoding", "ContrastLimitedAdaptiveHistogramEqualization", "Discretization",
        "HashedCrossing", "Hashing", "IntegerLookup",
    }  # fmt: skip


def test_a_layer_that_cannot_train_is_in_no_training_network():
    def used(*, training: bool) -> bool:
        settings = NetworkSettings(layers=("SpectralNormalization", "Dense"), training=training, goal=Goal.FORWARD)
        generator = NetworkGenerator(0, settings)
        graphs = [generator.next().case.subject for _ in range(ATTEMPTS)]
        return any(node.op == "SpectralNormalization" for graph in graphs for node in graph.nodes)

    assert used(training=False)
    assert not used(training=True)


@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_what_lacks_a_dtype_is_seldom_drawn_in_it(policy: str):
    def share(name: str) -> float:
        settings = NetworkSettings(layers=(name,), unit=True, goal=Goal.FORWARD, policies=(policy,))
        generator = NetworkGenerator(0, settings)
        graphs = [generator.next().case.subject for _ in range(ATTEMPTS)]
        return sum(any(node.op == name for node in graph.nodes) for graph in graphs) / ATTEMPTS

    assert share("MaxPooling3D") < 0.4 < share("MaxPooling2D")
