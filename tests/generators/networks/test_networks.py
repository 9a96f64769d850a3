"""Generated networks: the templates' promises, coverage, determinism, and that they are what the catalogue accepts."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.procedure import Goal
from tensorparity.generators.networks import structure
from tensorparity.generators.networks.coverage import NetworkCoverage
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.generators.networks.palettes import SHAPES, factorized_shape
from tensorparity.generators.networks.structure import cells, chain_with_skips, draw_structure
from tensorparity.generators.networks.support import hopeless, hopeless_behind_mask, why_unsupported
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.losses.catalogue import LOSSES
from tensorparity.operators.losses.spec import AXIS
from tensorparity.operators.reference.evaluate import declare_weights, evaluate, infer_shapes


@pytest.mark.parametrize("seed", range(40))
def test_a_structure_has_one_source_one_sink_and_nothing_isolated(seed):
    structure = draw_structure(np.random.default_rng(seed))
    successors = structure.successors()
    assert [v for v, sources in enumerate(structure.predecessors) if not sources] == [0]
    assert [v for v, readers in enumerate(successors) if not readers] == [structure.size - 1]
    assert all(source < vertex for vertex, sources in enumerate(structure.predecessors) for source in sources)
    assert 1 <= structure.size <= 30


def test_both_templates_come_up_equally_often():
    rng = np.random.default_rng(0)
    drawn = [draw_structure(rng).template for _ in range(600)]
    assert 250 < drawn.count("chain") < 350


@pytest.mark.parametrize("most", [1, 2, 3, 5, 30])
def test_either_template_has_any_size_up_to_the_greatest(most):
    rng = np.random.default_rng(0)
    drawn = [draw_structure(rng, max_vertices=most) for _ in range(900)]
    chains = {structure.size for structure in drawn if structure.template == "chain"}
    of_cells = {structure.size for structure in drawn if structure.template == "cells"}
    assert chains == set(range(1, most + 1))
    assert of_cells == set(range(min(most, 2), most + 1))


def test_a_chain_without_skips_is_among_them_and_so_are_skips():
    found = [chain_with_skips(np.random.default_rng(seed), 6) for seed in range(50)]
    assert any(all(len(sources) <= 1 for sources in s.predecessors) for s in found)
    assert any(len(sources) > 2 for s in found for sources in s.predecessors)


def test_about_half_of_the_cells_reduce_and_end_in_a_vertex_that_reads_one_tensor():
    found = [cells(np.random.default_rng(seed), 3) for seed in range(200)]
    assert 250 < sum(len(structure.reducing) for structure in found) < 350
    assert all(len(structure.predecessors[end]) == 1 for structure in found for end in structure.reducing)


def test_cells_of_one_structure_may_differ():
    # without reductions a cell ends where the next begins: at a vertex that all later ones come after
    def parts(structure):
        readers = structure.successors()
        ends = [v for v in range(structure.size) if all(r <= v for u in range(v) for r in readers[u])]
        spans = zip(ends, ends[1:], strict=False)
        return {tuple(tuple(s - a for s in structure.predecessors[v]) for v in range(a + 1, b + 1)) for a, b in spans}

    found = [cells(np.random.default_rng(seed), 3) for seed in range(60)]
    assert any(len([part for part in parts(structure) if len(part) > 2]) > 1 for structure in found)


def test_selection_is_proportional_to_one_over_count_plus_one():
    coverage = NetworkCoverage(["Dense", "ReLU"], steered=False)
    coverage.layers.update({"Dense": 9})
    rng = np.random.default_rng(0)
    drawn = [coverage.choose_layer(rng, ["Dense", "ReLU"], ()) for _ in range(2200)]
    assert abs(drawn.count("Dense") / 2200 - 0.1 / 1.1) < 0.02


def test_every_layer_and_most_values_are_used():
    generator = NetworkGenerator(0, NetworkSettings(max_vertices=12))
    for _ in range(150):
        generator.next()
    covered = generator.coverage.to_json()
    assert covered["pairs"]["used"] <= covered["pairs"]["declared"]
    assert covered["layers"]["declared"] == len(layer_names())
    # no model survives an Equalization or a RandomCrop: they are drawn rarely
    assert covered["layers"]["used"] >= len(layer_names()) - 2
    assert covered["values"]["used"] > 0.6 * covered["values"]["declared"]


@pytest.fixture(scope="module")
def networks():
    generator = NetworkGenerator(3, NetworkSettings(max_vertices=10))
    return [generator.next() for _ in range(40)]


def _inner(loss):
    return AXIS in LOSSES[loss.name].parameters and loss.params.get("axis") == 1


def test_networks_are_accepted_by_the_shape_rules_and_stay_finite(networks):
    for network in networks:
        case = network.case
        shapes = infer_shapes(case.subject, len(next(iter(case.inputs.values()))))
        assert {name: spec.shape for name, spec in declare_weights(case.subject).items()} == {
            name: array.shape for name, array in case.weights.items()
        }
        assert set(case.inputs) == {item.name for item in case.subject.inputs}
        assert set(case.labels) == {ref.node for ref in case.subject.outputs}
        whole = all(np.isfinite(array).all() for array in case.inputs.values())
        assert whole or network.template == "edges"
        if whole and not case.procedure.training:
            values = evaluate(case.subject, case.inputs, case.weights)
            outputs = [values[case.subject.node(ref.node).key][0].value for ref in case.subject.outputs]
            assert all(np.isfinite(output).all() for output in outputs)
        loss = case.procedure.loss
        rank = 3 if loss.name == "CTC" or _inner(loss) else 2  # sequences of classes, or positions of them
        for ref in case.subject.outputs:
            assert len(shapes[ref.node][0]) == rank


def test_every_node_leads_to_an_output(networks):
    for network in networks:
        graph = network.case.subject
        needed = {ref.node for ref in graph.outputs}
        for node in reversed(graph.nodes):
            assert node.name in needed
            needed.update(ref.node for ref in node.inputs)


def test_networks_differ_in_what_they_exercise(networks):
    procedures = [network.case.procedure for network in networks]
    assert {procedure.training for procedure in procedures} == {True, False}
    assert all(procedure.goal is Goal.UPDATE for procedure in procedures)
    assert len({procedure.loss.name for procedure in procedures}) > 3
    graphs = [network.case.subject for network in networks]
    assert any(len(graph.inputs) > 1 for graph in graphs)
    assert any(len(graph.outputs) > 1 for graph in graphs)
    assert any(node.call for graph in graphs for node in graph.nodes)


def test_a_network_of_edges_gives_every_layer_an_input_of_its_own():
    generator = NetworkGenerator(0, NetworkSettings(max_vertices=4))
    found = [network for network in (generator.next() for _ in range(120)) if network.template == "edges"]
    assert found
    for network in found:
        read = [ref.node for node in network.case.subject.nodes for ref in node.inputs if ref.node.startswith("x")]
        assert len(network.layers) >= 6
        assert len(read) == len(set(read)) == len(network.case.inputs)
    assert any(np.unique(array).size < array.size for network in found for array in network.case.inputs.values())


def test_some_windows_are_as_large_as_what_they_slide_over():
    pools = ("AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
    generator = NetworkGenerator(0, NetworkSettings(layers=pools, max_vertices=6))
    filling = 0
    for _ in range(20):
        graph = generator.next().case.subject
        shapes = infer_shapes(graph, 2)
        for node in graph.nodes:
            if node.op in pools and node.params.get("data_format") != "channels_first":
                size = node.params["pool_size"]
                given = shapes[node.inputs[0].node][0] if node.inputs[0].node in shapes else None
                filling += given is not None and list(given[1:-1]) == (size if isinstance(size, list) else [size])
    assert filling > 2


def test_some_heads_are_as_good_as_sure():
    generator = NetworkGenerator(1, NetworkSettings(max_vertices=3))
    ends = 0
    for _ in range(500):
        graph = generator.next().case.subject
        by_name = {node.name: node for node in graph.nodes}
        before = by_name.get(by_name[graph.outputs[0].node].inputs[0].node)
        ends += before is not None and before.op == "Rescaling" and before.params.get("scale") == 64.0
    assert ends


def test_no_layer_that_draws_is_trained(networks):
    for network in networks:
        if network.case.procedure.training:
            assert not any(layer(n.op).draws(layer(n.op).complete(n.params)) for n in network.case.subject.nodes)


def test_the_same_seed_gives_the_same_networks():
    digests = []
    for _ in range(2):
        generator = NetworkGenerator(5, NetworkSettings(max_vertices=8))
        digests.append([generator.next().case.digest for _ in range(6)])
    assert digests[0] == digests[1]


def test_only_the_layers_asked_for_are_chosen():
    generator = NetworkGenerator(0, NetworkSettings(layers=("Dense", "Add"), max_vertices=6))
    used = {name for _ in range(20) for name in generator.next().layers}
    assert used == {"Dense", "Add"}


def test_some_entries_are_counted_by_weights():
    generator = NetworkGenerator(3, NetworkSettings(layers=("CategoryEncoding",), unit=True, goal=Goal.FORWARD))
    nodes = [node for _ in range(40) for node in generator.next().case.subject.nodes]
    counts = [len(node.inputs) for node in nodes if node.op == "CategoryEncoding"]
    assert set(counts) == {1, 2}


def test_factorized_shapes_keep_the_number_of_elements():
    for elements in (1, 7, 24, 120, 1024):
        for rank in (2, 3, 5):
            shape = factorized_shape(np.random.default_rng(elements), elements, rank)
            assert shape is None or (int(np.prod(shape)) == elements and len(shape) == rank - 1)
    assert factorized_shape(np.random.default_rng(0), 997, 3) is None


def test_what_is_known_not_to_run():
    spec = layer("RMSNormalization")
    assert hopeless("RMSNormalization", spec.complete({"axis": 1}), 3)
    assert not hopeless("RMSNormalization", spec.complete({"axis": (-2, -1)}), 3)
    assert not hopeless("RMSNormalization", spec.complete({"axis": 1}), 2)
    mel = layer("MelSpectrogram").complete({"sequence_stride": 2})
    assert [bool(hopeless("MelSpectrogram", mel, 2, samples)) for samples in (5, 6)] == [True, False]
    assert hopeless("Equalization", {}, 4)
    heads = layer("MultiHeadAttention").complete({"num_heads": 1, "key_dim": 1, "use_causal_mask": True})
    doomed = [hopeless("MultiHeadAttention", {**heads, "attention_axes": axes}, 4) for axes in (1, 2, -2, None)]
    assert [bool(reason) for reason in doomed] == [False, True, True, True]
    assert not hopeless("MultiHeadAttention", heads, 3)
    contraction = {"equation": "abc,bd->adc", "output_shape": (3, None)}
    for axes, doomed in (("c", True), ("d", False), (None, False)):
        assert (
            bool(hopeless("EinsumDense", layer("EinsumDense").complete({**contraction, "bias_axes": axes}), 3))
            == doomed
        )
    assert [bool(hopeless_behind_mask("BatchNormalization", rank)) for rank in (3, 4)] == [False, True]
    hashing = layer("Hashing").complete({"num_bins": 3, "output_mode": "one_hot"})
    assert [bool(hopeless("Hashing", hashing, 2, size)) for size in (None, 2, 1)] == [True, True, False]
    transposed = layer("Conv2DTranspose").complete({"filters": 1, "kernel_size": 2, "dilation_rate": 2})
    assert why_unsupported("Conv2DTranspose", transposed, 4)


def test_the_papers_sizes(monkeypatch):
    """Section 4.4: at most 5 cells and 30 vertices."""
    rng = np.random.default_rng(0)
    counts = []

    def counted(generator, count, max_vertices):
        counts.append(count)
        return cells(generator, count, max_vertices)

    monkeypatch.setattr(structure, "cells", counted)
    chains = [draw_structure(rng).size for _ in range(1200)]
    assert set(counts) == {1, 2, 3, 4, 5}
    assert max(chains) == 30


@pytest.fixture(scope="module")
def of_the_paper():
    generator = NetworkGenerator(2, NetworkSettings(max_vertices=8, steered=False, varied=False))
    return [generator.next() for _ in range(40)]


def test_the_in_degree_decides_between_single_and_multiple_input_layers(of_the_paper):
    several = 0
    for network in of_the_paper:
        nodes = {node.name: node for node in network.case.subject.nodes}
        for vertex, sources in enumerate(network.structure.predecessors):
            node = nodes.get(network.vertices[vertex])
            if node is None or vertex in network.structure.reducing:
                continue
            single = layer(node.op).arity[0] == 1
            assert single == (len(sources) == 1), (node.op, sources)
            several += len(sources) > 1
    assert several > 10


def test_what_a_multiple_input_layer_reads_has_one_random_shape(of_the_paper):
    foreign = shapes_seen = 0
    for network in of_the_paper:
        graph = network.case.subject
        shapes = {name: group[0] for name, group in infer_shapes(graph, 2).items()}
        shapes.update({item.name: (2, *item.shape) for item in graph.inputs})
        for vertex, sources in enumerate(network.structure.predecessors):
            node = next((node for node in graph.nodes if node.name == network.vertices[vertex]), None)
            if node is None or len(sources) < 2 or layer(node.op).arity[0] == 1:
                continue
            read = {tuple(shapes[ref.node][1:]) for ref in node.inputs}
            assert len(read) == 1
            assert read <= {shape for drawn in SHAPES.values() for shape in drawn}
            shapes_seen += 1
            foreign += not read & {tuple(shapes[network.vertices[source]][1:]) for source in sources}
    assert shapes_seen > 10
    assert foreign > shapes_seen / 2, "mostly none of the inputs' own"
