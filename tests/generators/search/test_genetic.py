"""A search of one model: what is an output, what are genes, and the case that a generation is."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.errors import UsageError
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.generators.search.exposed import expose, without_embeddings
from tensorparity.generators.search.genetic import LEVELS, Bounds, Search, SearchSettings
from tensorparity.operators.reference.evaluate import draw_weights, evaluate

SMALL = SearchSettings(size=6, parents=2)


@pytest.fixture(scope="module")
def graph() -> LayerGraph:
    build = GraphBuilder("small")
    x = build.add("Dense", build.input("x", (4,)), name="hidden", units=3, activation="relu")
    return build.build(build.add("Dense", x, name="last", units=2, activation="softmax"))


@pytest.fixture(scope="module")
def weights(graph: LayerGraph) -> dict[str, Array]:
    return draw_weights(graph, np.random.default_rng(0))


X = {"x": np.ones((3, 4), np.float32)}


def text_model() -> LayerGraph:
    build = GraphBuilder("text")
    x = build.add("Embedding", build.input("tokens", (5,), dtype="int32"), name="words", input_dim=9, output_dim=3)
    x = build.add("LSTM", x, name="recurrent", units=2)
    return build.build(build.add("Softmax", build.add("Dense", x, name="logits", units=2), name="classes"))


def test_a_softmax_in_the_last_layer_is_taken_apart(graph: LayerGraph, weights: dict[str, Array]) -> None:
    model = expose(graph, weights)
    assert (model.label, model.watched) == ("last_activated", "last")
    values = evaluate(model.graph, X, weights)
    assert np.allclose(values["last_activated#0"][0].value, evaluate(graph, X, weights)["last#0"][0].value)
    assert values["last#0"][0].value.sum() != pytest.approx(3.0)


def test_the_logits_are_what_the_last_softmax_reads() -> None:
    found = text_model()
    model = expose(found, {})
    assert (model.label, model.watched) == ("classes", "logits")


def test_any_layer_can_be_the_fitness(graph: LayerGraph, weights: dict[str, Array]) -> None:
    assert expose(graph, weights, "hidden").watched == "hidden"
    with pytest.raises(UsageError, match="hidden, last"):
        expose(graph, weights, "nobody")


def test_the_genes_of_a_text_are_the_embedded_values() -> None:
    graph = text_model()
    weights = draw_weights(graph, np.random.default_rng(0))
    tokens = {"tokens": np.array([[1, 2, 3, 4, 5]], np.int32)}
    cut, left, inputs = without_embeddings(graph, weights, tokens)
    assert [item.name for item in cut.inputs] == ["words"]
    assert inputs["words"].tolist() == weights["words/embeddings"][[[1, 2, 3, 4, 5]]].tolist()
    assert not any(name.startswith("words/") for name in left)
    before, after = evaluate(graph, tokens, weights), evaluate(cut, inputs, left)
    assert np.allclose(before["classes#0"][0].value, after["classes#0"][0].value)


def test_an_embedding_that_hides_indices_stays() -> None:
    build = GraphBuilder("masked")
    x = build.input("tokens", (5,), dtype="int32")
    x = build.add("Embedding", x, name="words", input_dim=9, output_dim=3, mask_zero=True)
    graph = build.build(build.add("LSTM", x, name="recurrent", units=2))
    assert without_embeddings(graph, {}, {"tokens": np.zeros((1, 5), np.int32)})[0] is graph


@pytest.mark.parametrize("level", LEVELS)
def test_a_generation_is_one_case_with_a_row_per_individual(
    level: str, graph: LayerGraph, weights: dict[str, Array]
) -> None:
    search = Search(expose(graph, weights), X, level, SMALL, 0)
    case = search.next_case()
    population = case.procedure.population
    assert len(case.inputs["x"]) == (1 if level == "weight" else 6)
    assert (population is None) == (level == "input")
    if population is not None:
        assert len(population) == 6
        assert case.parents["last/kernel"].shape == (1, *weights["last/kernel"].shape)
    search.tell([float(place) for place in range(6)])
    assert len(search.next_case().inputs["x"]) == (1 if level == "weight" else 4)


@pytest.mark.parametrize("level", LEVELS)
def test_an_individual_is_a_case_with_all_of_its_numbers(
    level: str, graph: LayerGraph, weights: dict[str, Array]
) -> None:
    search = Search(expose(graph, weights), X, level, SMALL, 0)
    case = search.next_case()
    alone = search.individual(2)
    assert alone.subject is graph
    assert alone.procedure.population is None
    row = case.inputs["x"][2 if level != "weight" else 0]
    assert alone.inputs["x"].tolist() == [row.tolist()]
    if case.procedure.population is not None:
        made = case.procedure.population.chromosome(case.parents, 2, weights)
        assert alone.weights["last/kernel"].tobytes() == made["last/kernel"].tobytes()
    else:
        assert alone.weights["last/kernel"] is weights["last/kernel"]


def test_bounds_hold(graph: LayerGraph, weights: dict[str, Array]) -> None:
    bounds = Bounds({"x": (0.0, 1.5)}, dict.fromkeys(weights, (-0.1, 0.1)))
    search = Search(expose(graph, weights), X, "input+weight", SearchSettings(size=6, parents=2, scale=9.0), 0, bounds)
    for _ in range(3):
        case = search.next_case()
        assert case.inputs["x"].min() >= 0.0
        assert case.inputs["x"].max() <= 1.5
        assert all(np.abs(search.individual(1).weights[name]).max() <= 0.1 + 1e-7 for name in weights)
        search.tell([1.0] * len(search.evolution.children))


def test_what_has_no_genes_is_refused() -> None:
    graph = text_model()
    weights = draw_weights(graph, np.random.default_rng(0))
    with pytest.raises(UsageError, match="nothing to search"):
        Search(expose(graph, weights), {"tokens": np.zeros((1, 5), np.int32)}, "input", SMALL, 0)


def test_a_search_climbs(graph: LayerGraph, weights: dict[str, Array]) -> None:
    """Towards large logits, by the reference alone: every generation is at least as good as the last."""
    search = Search(expose(graph, weights), X, "input", SearchSettings(size=16, parents=4, scale=1.0), 0)
    for _ in range(6):
        case = search.next_case()
        assert isinstance(case.subject, LayerGraph)
        logits = evaluate(case.subject, case.inputs, case.weights)["last#0"][0].value
        search.tell(list(np.ptp(logits, axis=1)))
    values = [value for _, value in search.points]
    assert values == sorted(values)
    assert values[-1] > 2 * values[0]
