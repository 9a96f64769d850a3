"""Variants: networks that stay valid, keep what they can of their weights, or have one wrong value."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.generators.mutation.variants import Variant, invalid_variant, valid_variant, variant_with_value
from tensorparity.generators.mutation.wrong_values import HUGE, wrong_values
from tensorparity.operators.reference.evaluate import declare_weights, draw_weights, infer_shapes
from tensorparity.operators.refused import refused_value
from tensorparity.operators.spec import Parameter
from tensorparity.zoo.entries import ZOO

NAMES = ("lenet5", "lstm5-imdb", "transformer")


def model(name: str) -> tuple[LayerGraph, dict[str, Array]]:
    graph = ZOO[name].build()
    return graph, draw_weights(graph, np.random.default_rng(0))


def variants(name: str, count: int = 6) -> list[Variant]:
    graph, weights = model(name)
    return [valid_variant(graph, weights, np.random.default_rng([1, n]), f"{name}-{n}") for n in range(count)]


@pytest.mark.parametrize("name", NAMES)
class TestValid:
    def test_they_are_valid_and_give_the_same_outputs(self, name: str) -> None:
        graph, _ = model(name)
        wanted = infer_shapes(graph, None)[graph.outputs[0].node]
        for variant in variants(name):
            assert refused_value(variant.graph) is None
            assert infer_shapes(variant.graph, None)[graph.outputs[0].node] == wanted

    def test_most_layers_have_another_value(self, name: str) -> None:
        for variant in variants(name):
            assert variant.changed >= len(variant.graph.nodes) // 3

    def test_weights_fit_and_are_the_trained_ones_where_they_can_be(self, name: str) -> None:
        _, weights = model(name)
        for variant in variants(name):
            declared = declare_weights(variant.graph)
            assert set(variant.weights) == set(declared)
            for key, array in variant.weights.items():
                assert array.shape == declared[key].shape
                if key in weights and weights[key].shape == array.shape:
                    assert array.tobytes() == weights[key].tobytes()

    def test_the_seed_decides(self, name: str) -> None:
        one, other = (variants(name, 2) for _ in range(2))
        assert [v.graph for v in one] == [v.graph for v in other]
        assert one[0].graph.nodes != one[1].graph.nodes


def test_indices_of_the_data_stay_valid() -> None:
    for variant in variants("lstm5-imdb"):
        assert variant.graph.nodes[0].params["input_dim"] >= 5000


@pytest.fixture(scope="module")
def found() -> list[Variant]:
    graph, weights = model("lenet5")
    made = [invalid_variant(graph, weights, np.random.default_rng([2, n]), f"v{n}") for n in range(30)]
    return [variant for variant in made if variant is not None]


class TestInvalid:
    def test_one_value_is_wrong_and_it_is_refused(self, found: list[Variant]) -> None:
        graph, _ = model("lenet5")
        assert len(found) == 30
        for variant in found:
            assert variant.invalid is not None
            layer, parameter, value = variant.invalid
            refused = refused_value(variant.graph)
            assert refused is not None
            assert refused.node.layer == layer
            before = {node.layer: dict(node.params) for node in graph.nodes}
            after = {node.layer: dict(node.params) for node in variant.graph.nodes}
            changed = [
                (name, key)
                for name, own in after.items()
                for key in {**own, **before[name]}
                if repr(own.get(key, "absent")) != repr(before[name].get(key, "absent"))
            ]
            assert changed == [(layer, parameter)]
            assert repr(after[layer][parameter]) == repr(value)

    def test_nothing_stands_behind_the_wrong_layer(self, found: list[Variant]) -> None:
        for variant in found:
            assert variant.invalid is not None
            assert variant.graph.outputs[0].node == variant.graph.nodes[-1].name == variant.invalid[0]

    def test_many_kinds_of_wrong_values_come(self, found: list[Variant]) -> None:
        values = {repr(variant.invalid[2]) for variant in found if variant.invalid}
        assert len(values) > 8


def test_every_kind_of_wrong_value_is_there() -> None:
    size = wrong_values(Parameter("units", None, (1, 3), (0, -1), required=True), 3)
    assert size[:2] == [0, -1]
    assert None in size
    assert HUGE in size
    assert "3" in size
    assert [3] * 5 in size
    assert any(value != value for value in size), "NaN"
    assert "" in wrong_values(Parameter("padding", "valid", ("valid", "same")), "same")
    assert None not in wrong_values(Parameter("activation", None, (None, "relu")), "relu")


def test_a_huge_size_of_the_output_is_no_wrong_value_but_a_question_of_memory() -> None:
    for op, name in (("UpSampling1D", "size"), ("AdaptiveAveragePooling1D", "output_size")):
        build = GraphBuilder()
        graph = build.build(build.add(op, build.input("x", (4, 2)), name="grown", **{name: 2}))
        assert variant_with_value(graph, graph.nodes[0], name, HUGE, {}, "grown") is None
    build = GraphBuilder()
    graph = build.build(build.add("MaxPooling1D", build.input("x", (4, 2)), name="pool", pool_size=2))
    assert variant_with_value(graph, graph.nodes[0], "pool_size", HUGE, {}, "pooled") is not None


def test_what_stands_for_a_truth_value_has_the_weights_that_python_makes_of_it() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (4,)), name="dense", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    for value, names in (("yes", {"dense/kernel", "dense/bias"}), (None, {"dense/kernel"})):
        wrong = variant_with_value(graph, graph.nodes[0], "use_bias", value, weights, "wrong")
        assert wrong is not None
        assert set(wrong.weights) == names
