"""Every architecture of the zoo, without any library."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.operators.reference.evaluate import declare_weights, evaluate, infer_shapes
from tensorparity.zoo.entries import ARCHITECTURES, ZOO, find_entry
from tensorparity.zoo.weights import calibrated_weights, sample_inputs


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
class TestEveryArchitecture:
    def test_its_shapes_fit_together(self, name: str) -> None:
        graph = ARCHITECTURES[name]()
        shapes = infer_shapes(graph, 3)
        assert set(shapes) == {item.name for item in graph.inputs} | {node.name for node in graph.nodes}
        assert shapes[graph.outputs[0].node][0][0] == 3

    def test_calibrated_weights_are_complete_and_their_outputs_finite(self, name: str) -> None:
        graph = ARCHITECTURES[name]()
        weights = calibrated_weights(graph, seed=1)
        assert {key: array.shape for key, array in weights.items()} == {
            key: spec.shape for key, spec in declare_weights(graph).items()
        }
        inputs = sample_inputs(graph, np.random.default_rng(0), 2)
        key = graph.node(graph.outputs[0].node).key
        (output,) = evaluate(graph, inputs, weights, keep=[key])[key]
        assert np.isfinite(output.value).all()
        assert np.ptp(output.value, axis=0).max() > 0.02, "the output must depend on the input"


def test_the_papers_models_are_there() -> None:
    wanted = ["LeNet-1", "LeNet-4", "LeNet-5", "ResNet-20", "VGG-16", "MobileNetV2", "DaveOrig", "DaveNormInit"]
    wanted += ["DaveDropout", "SimpleRNN", "LSTM", "GRU", "Transformer"]
    assert {find_entry(name).name for name in wanted} <= set(ZOO)
    assert len({find_entry(name).name for name in wanted}) == len(wanted)


def test_an_unknown_name_lists_those_that_exist() -> None:
    with pytest.raises(UsageError, match=r"no model 'lenet6' in the zoo \(did you mean lenet5\?\); there are lenet1"):
        find_entry("lenet6")


def test_calibrated_weights_follow_the_seed() -> None:
    graph = ARCHITECTURES["lenet1"]()
    first, again, other = (calibrated_weights(graph, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert any(not np.array_equal(first[key], other[key]) for key in first)
