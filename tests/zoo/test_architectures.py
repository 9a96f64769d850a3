"""The zoo's models: graphs that infer, evaluate and name what exists."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.operators.evaluate import declare_weights, evaluate, infer_shapes
from tensorparity.zoo.architectures import ARCHITECTURES, architecture
from tensorparity.zoo.weights import calibrated


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
class TestEveryArchitecture:
    def test_gives_ten_probabilities(self, name: str) -> None:
        graph = architecture(name)
        assert graph.name == name
        assert infer_shapes(graph, 2)[graph.outputs[0].node] == ((2, 10),)

    def test_is_the_same_every_time(self, name: str) -> None:
        assert architecture(name) == architecture(name)

    def test_calibrated_weights_are_complete_and_follow_the_seed(self, name: str) -> None:
        graph = architecture(name)
        one, same, other = (calibrated(graph, seed) for seed in (1, 1, 2))
        assert set(one) == set(declare_weights(graph))
        assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in one.values())
        assert all(np.array_equal(one[key], same[key]) for key in one)
        assert any(not np.array_equal(one[key], other[key]) for key in one)

    def test_calibrated_outputs_depend_on_the_inputs(self, name: str) -> None:
        graph = architecture(name)
        (item,) = graph.inputs
        shape = (4, *(size or 1 for size in item.shape))
        inputs = {item.name: np.random.default_rng(5).standard_normal(shape).astype(np.float32)}
        output = evaluate(graph, inputs, calibrated(graph, 0), keep=["predictions#0"])["predictions#0"][0].value
        np.testing.assert_allclose(output.sum(axis=1), 1.0)
        assert np.ptp(output, axis=0).max() > 0.05


def test_what_the_faults_need_occurs() -> None:
    """Each of the three planted faults has a layer that it changes."""
    resnet, inception = architecture("resnet20"), architecture("inception-block")
    strided = [node for node in resnet.nodes if node.op == "Conv2D" and node.params["strides"] == [2, 2]]
    assert all(node.params["padding"] == "same" for node in strided)
    assert len(strided) == 4
    assert any(node.op == "BatchNormalization" for node in resnet.nodes)
    assert [n.params["padding"] for n in inception.nodes if n.op == "AveragePooling2D"] == ["same"]


def test_an_unknown_name_lists_those_that_exist() -> None:
    with pytest.raises(UsageError, match="no model 'lenet6' in the zoo; there are inception-block, lenet5, resnet20"):
        architecture("lenet6")
