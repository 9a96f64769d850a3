"""Values and shapes at the edges: which come up, where they do not, and that what is made of them can be judged."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.generators.networks import networks as generation
from tensorparity.generators.networks.choices import takes_edges
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.generators.networks.palettes import EDGES, draw_edge_shape, draw_values
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.losses.catalogue import LOSSES
from tensorparity.operators.reference.evaluate import evaluate
from tensorparity.operators.spec import Domain, no_weights

NORMAL = np.finfo(np.float32)


def drawn(style, shape=(40, 40)):
    return draw_values(np.random.default_rng(0), shape, Domain(), style)


def test_infinities_of_both_signs_among_numbers():
    values = drawn("infinite")
    assert 0.05 < np.isposinf(values).mean() < 0.2
    assert 0.05 < np.isneginf(values).mean() < 0.2
    assert not np.isnan(values).any()


def test_numbers_whose_exponentials_and_squares_overflow_up_to_the_greatest():
    sizes = np.abs(drawn("huge"))
    assert np.isfinite(sizes).all()
    for least, most in ((80, 110), (1e19, 1e20), (3e38, NORMAL.max)):
        assert ((sizes >= least) & (sizes <= most)).any()


def test_numbers_whose_squares_underflow_but_none_that_some_libraries_take_for_zero():
    sizes = np.abs(drawn("tiny"))
    assert sizes[sizes > 0].min() < 3 * NORMAL.tiny
    assert sizes[sizes > 0].min() >= NORMAL.tiny


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_every_axis_but_that_of_the_batch_may_be_empty(rank):
    rng = np.random.default_rng(0)
    shapes = [draw_edge_shape(rng, rank, "empty") for _ in range(200)]
    assert {shape.index(0) for shape in shapes if 0 in shape} == set(range(rank - 1))
    assert any(0 not in shape for shape in shapes)
    assert not any(0 in draw_edge_shape(rng, rank, "huge") for _ in range(50))


def test_integers_are_at_times_only_the_ends_of_what_is_allowed():
    rng = np.random.default_rng(0)
    drawn = [set(draw_values(rng, (30,), Domain("int32", 2, 900), "normal").tolist()) for _ in range(60)]
    ends = [values for values in drawn if values == {2, 899}]
    assert 5 < len(ends) < 30
    assert all(2 <= value < 900 for values in drawn for value in values)


def test_layers_that_nothing_could_be_judged_of_are_not_among_them():
    assert not takes_edges("UpSampling2D", "infinite")
    assert takes_edges("UpSampling2D", "few")
    assert not takes_edges("AveragePooling2D", "huge")
    assert takes_edges("MaxPooling2D", "huge")
    assert not takes_edges("MaxPooling2D", "empty")
    assert not takes_edges("Dense", "huge")
    assert takes_edges("Dense", "nan")
    assert takes_edges("Maximum", "empty")
    assert all(sum(takes_edges(name, style) for name in layer_names()) > 20 for style in EDGES)


@pytest.fixture(scope="module")
def networks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_EDGES", 1.0)
        generator = NetworkGenerator(0, NetworkSettings(data=("palette",)))
        return [generator.next() for _ in range(60)]


def test_networks_of_every_kind_of_edges_are_made(networks):
    arrays = [array for network in networks for array in network.case.inputs.values()]
    assert any(np.isnan(array).any() for array in arrays)
    assert any(np.isinf(array).any() for array in arrays)
    assert any(not array.size for array in arrays)
    sizes = np.abs(np.concatenate([array.ravel() for array in arrays if np.isfinite(array).all()]))
    assert sizes.max() > 3e38
    assert 0 < sizes[sizes > 0].min() < 3 * NORMAL.tiny
    assert all(len(network.layers) > 8 for network in networks)


def test_what_is_huge_is_scaled_by_a_normal_number(networks):
    scales = [abs(n.params["scale"]) for w in networks for n in w.case.subject.nodes if n.op == "Rescaling"]
    assert NORMAL.tiny < min(scales) < 1e-30


def test_what_may_be_no_number_ends_in_a_loss_that_takes_any_value(networks):
    for network in networks:
        if not all(np.isfinite(array).all() for array in network.case.inputs.values()):
            assert network.case.procedure.loss.params.get("from_logits", True)
            assert LOSSES[network.case.procedure.loss.name].predictions not in ("chances", "positive", "unit")


def test_edges_are_an_eighth_of_all_networks_and_none_of_the_plain_ones():
    generator = NetworkGenerator(0, NetworkSettings(max_vertices=2, data=("palette",)))
    found = [generator.next().template for _ in range(320)]
    assert 24 < found.count("edges") < 58
    plain = NetworkGenerator(0, NetworkSettings(max_vertices=2, data=("palette",), varied=False))
    assert "edges" not in {plain.next().template for _ in range(60)}


def test_no_sum_of_huge_numbers_overflows_on_the_way():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_EDGES", 1.0)
        patch.setattr(generation, "EDGES", ("huge",))
        generator = NetworkGenerator(1, NetworkSettings(data=("palette",), policies=("float32",)))
        cases = [generator.next().case for _ in range(10)]
    sums = 0
    for case in cases:
        values = evaluate(case.subject, case.inputs, case.weights, training=case.procedure.training)
        for node in (node for node in case.subject.nodes if node.op == "Add" and len(node.inputs) > 2):
            terms = [values[case.subject.node(ref.node).key][ref.index].value for ref in node.inputs]
            size = np.sum([np.abs(np.where(np.isfinite(term), term, 0.0)) for term in terms], axis=0)
            assert (size < NORMAL.max).all()
            sums += 1
    assert sums > 3


def test_every_layer_has_had_nan_before_any_has_had_many():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_EDGES", 1.0)
        patch.setattr(generation, "EDGES", ("nan",))
        generator = NetworkGenerator(0, NetworkSettings(data=("palette",), policies=("float32",), training=False))
        for _ in range(14):
            generator.next()
    plain = [
        n for n in layer_names() if takes_edges(n, "nan") and layer(n).weights is no_weights and layer(n).arity[0] == 1
    ]
    counts = [generator.coverage.edges["nan", name] for name in plain]
    assert sum(count == 0 for count in counts) <= len(plain) / 10
    assert np.median(counts) >= 2
