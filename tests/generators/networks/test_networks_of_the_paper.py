"""Generated networks as the paper has them: reductions, ``--plain``, ``--unit``, and what of it all was run."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.generators.networks.choices import reads_integers
from tensorparity.generators.networks.coverage import NetworkCoverage
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.generators.networks.palettes import DATA
from tensorparity.generators.networks.support import why_unsupported
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.reference.evaluate import evaluate, infer_shapes

RESHAPING = {"Reshape", "Cropping1D", "ZeroPadding1D"}
GIVES_INTEGERS = {"CategoryEncoding", "Discretization", "HashedCrossing", "Hashing", "IntegerLookup"}


def made(seed=0, count=40, **settings):
    generator = NetworkGenerator(seed, NetworkSettings(**settings))
    return [generator.next() for _ in range(count)]


@pytest.fixture(scope="module")
def plain():
    return made(max_vertices=8, varied=False, steered=False, count=60)


@pytest.fixture(scope="module")
def unit():
    return made(unit=True, data=("mnist", "sine-wave"), count=80)


def sizes_at_reductions(networks):
    """Elements of an instance before and after the end of every reduction cell."""
    for network in networks:
        shapes = {name: found[0] for name, found in infer_shapes(network.case.subject, 2).items()}
        for end in network.structure.reducing:
            (before,) = network.structure.predecessors[end]
            given, gives = (shapes.get(network.vertices[vertex]) for vertex in (before, end))
            if given is not None and gives is not None:
                yield math.prod(given[1:]), math.prod(gives[1:])


@pytest.mark.parametrize("layers", [(), ("Add",), ("Conv2DTranspose", "Resizing"), ("Dense", "Embedding")])
def test_a_reduction_cell_makes_its_input_smaller(layers):
    found = list(sizes_at_reductions(made(layers=layers, max_vertices=12, count=40)))
    assert len(found) > 8
    assert all(after < before or before == 1 for before, after in found)


def test_reductions_are_made_by_layers_that_downsample():
    networks = made(max_vertices=12, count=40)
    ops = [
        next((node.op for node in network.case.subject.nodes if node.name == network.vertices[end]), "")
        for network in networks
        for end in network.structure.reducing
    ]
    downsampling = [op for op in ops if "Pool" in op or "Crop" in op or "Conv" in op or op == "Resizing"]
    assert len(downsampling) > 0.6 * len(ops) > 10  # others were loud and are scaled behind, or were cropped


@pytest.mark.parametrize("layers", [("Add",), ("Dot",), ("Attention", "Concatenate")])
@pytest.mark.parametrize("varied", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_layers_that_read_several_tensors_are_enough(layers, varied, whole):
    networks = made(layers=layers, varied=varied, unit=not whole, max_vertices=6, count=12)
    used = {name for network in networks for name in network.layers}
    assert used == set(layers)
    assert {len(network.case.inputs) for network in networks} == {1} or varied


def test_a_plain_network_has_one_input_and_one_output(plain):
    assert {len(network.case.inputs) for network in plain} == {1}
    assert {len(network.case.subject.outputs) for network in plain} == {1}
    assert all(array.dtype.kind == "f" for network in plain for array in network.case.inputs.values())
    assert not any(node.call for network in plain for node in network.case.subject.nodes)


def test_plain_networks_hold_nothing_but_chosen_layers_reshaping_and_the_end_that_the_loss_needs(plain):
    for network in plain:
        graph = network.case.subject
        others = [node.op for node in graph.nodes]
        for name in network.layers:
            others.remove(name)
        ends = {"Activation", "UnitNormalization"} if graph.nodes[-1].name == graph.outputs[0].node else set()
        ints = {"Rescaling"} if GIVES_INTEGERS & set(network.layers) else set()
        merges = {"Add"}  # where no layer that merges was found to fit
        assert set(others) <= RESHAPING | ends | ints | merges
        assert sum(name in ends for name in others) <= 1


def test_plain_inputs_are_normally_distributed_and_windows_are_the_catalogues():
    networks = made(varied=False, steered=False, layers=("AveragePooling1D", "MaxPooling2D"), max_vertices=6, count=40)
    values = np.concatenate([a.ravel() for n in networks if n.data == "palette" for a in n.case.inputs.values()])
    assert abs(values.mean()) < 0.1
    assert 0.9 < values.std() < 1.1
    for network in networks:
        for node in network.case.subject.nodes:
            if "pool_size" in node.params:
                valid = next(p.valid for p in layer(node.op).parameters if p.name == "pool_size")
                assert node.params["pool_size"] in valid


def test_plain_networks_are_not_spared_what_a_target_lacks():
    settings = {"layers": ("Conv1D", "Conv2D"), "max_vertices": 6, "count": 60}

    def share(networks):
        nodes = [node for network in networks for node in network.case.subject.nodes if node.op.startswith("Conv")]
        return sum(bool(why_unsupported(n.op, layer(n.op).complete(n.params), 4)) for n in nodes) / len(nodes)

    assert share(made(varied=False, steered=False, **settings)) > 2 * share(made(**settings))


def test_plain_networks_cannot_read_integers():
    with pytest.raises(UsageError, match="Embedding"):
        NetworkGenerator(0, NetworkSettings(layers=("Embedding",), varied=False))
    assert reads_integers("Embedding")
    assert not reads_integers("Dense")


def test_a_unit_network_is_one_layer_with_reshaping_around_it(unit):
    for network in unit:
        graph = network.case.subject
        assert len(network.layers) == 1
        others = [node.op for node in graph.nodes]
        others.remove(network.layers[0])
        ints = {"Rescaling"} if network.layers[0] in GIVES_INTEGERS else set()
        assert set(others) <= RESHAPING | ints
    assert len({network.layers for network in unit}) > 40


def test_a_unit_network_has_the_shapes_and_the_task_of_its_data_set(unit):
    assert {network.data for network in unit} == {"mnist", "sine-wave"}
    for network in unit:
        data, case = DATA[network.data], network.case
        if not reads_integers(network.layers[0]):
            assert case.subject.inputs[0].shape == data.shape
        shape = infer_shapes(case.subject, 2)[case.subject.outputs[0].node][0]
        assert shape[-1] == data.outputs
    assert len({network.case.procedure.loss.name for network in unit}) > 8


def test_a_unit_networks_loss_is_finite_without_an_activation_before_it(unit):
    for network in unit:
        loss = network.case.procedure.loss
        assert "from_logits" not in loss.params or loss.params["from_logits"]
        if not network.case.procedure.training:
            values = evaluate(network.case.subject, network.case.inputs, network.case.weights)
            node = network.case.subject.node(network.case.subject.outputs[0].node)
            assert np.isfinite(values[node.key][0].value).all()


def test_coverage_is_told_what_was_run():
    generator = NetworkGenerator(1, NetworkSettings(max_vertices=6))
    networks = [generator.next() for _ in range(8)]
    told = NetworkCoverage(layer_names())
    told.add(networks[0].uses)
    assert set(told.layers) == {use.layer for use in networks[0].uses} <= set(networks[0].layers)
    assert len(told.layers) < len(generator.coverage.layers)
    for network in networks[1:]:
        told.add(network.uses)
    generated = generator.coverage.layers  # with what no output turned out to depend on
    assert len(generated) - 2 <= len(told.layers) <= len(generated)
    assert set(told.missing()) >= set(generator.coverage.missing())


def test_uses_are_of_layers_that_are_in_the_graph():
    for network in made(max_vertices=8, count=60):
        ops = [node.op for node in network.case.subject.nodes]
        for use in network.uses:
            ops.remove(use.layer)
            assert all(name == use.layer for name, _, _ in use.entries)
            assert all(after == use.layer for _, after in use.pairs)
