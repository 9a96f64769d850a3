"""Populations of weights in real libraries: every individual gives what its case gives alone, with its own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import GraphBuilder
from tensorparity.core.runner import run_case
from tensorparity.generators.search.exposed import expose
from tensorparity.generators.search.genetic import Search, SearchSettings
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.runner import RunnerSettings, open_runner

TARGETS = (
    pytest.param("keras:tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("keras:jax", marks=pytest.mark.jax),
    pytest.param("keras:torch", marks=pytest.mark.torch),
    pytest.param("torch:eager", marks=pytest.mark.torch),
)


@pytest.mark.parametrize("target", TARGETS)
def test_an_individual_alone_gives_what_it_gives_in_its_population(target: str) -> None:
    build = GraphBuilder("small")
    x = build.add("Conv2D", build.input("x", (6, 6, 2)), name="conv", filters=3, kernel_size=3, activation="relu")
    x = build.add("BatchNormalization", x, name="norm")
    logits = build.add("Dense", build.add("Flatten", x, name="flat"), name="logits", units=3)
    graph = build.build(build.add("Softmax", logits, name="classes"))
    rng = np.random.default_rng(0)
    weights = draw_weights(graph, rng)
    inputs = {"x": rng.standard_normal((1, 6, 6, 2)).astype(np.float32)}
    with open_runner([target], RunnerSettings(cache=None)) as runner:
        for level in ("weight", "input+weight"):
            search = Search(expose(graph, weights), inputs, level, SearchSettings(size=4, parents=2), 1)
            for _ in range(2):  # the second generation has two parents
                together = run_case(runner, search.next_case())[target]
                assert together.completed, together.failure
                count = len(search.evolution.children)
                assert together.outputs["logits"].shape == (count, 3)
                for place in range(count):
                    alone = run_case(runner, search.individual(place))[target]
                    own = together.outputs["classes"][place]
                    assert np.allclose(alone.outputs["classes"][0], own, atol=1e-5)
                apart = np.abs(together.outputs["logits"] - together.outputs["logits"][:1]).max(axis=1)
                assert (apart[1:] > 0).all(), "individuals have weights of their own"
                search.tell([float(place) for place in range(count)])


@pytest.mark.onnxruntime
def test_a_runtime_of_files_says_that_it_runs_none() -> None:
    build = GraphBuilder("small")
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="d", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    search = Search(
        expose(graph, weights), {"x": np.ones((1, 2), np.float32)}, "weight", SearchSettings(size=4, parents=2), 1
    )
    with open_runner(["onnxruntime"], RunnerSettings(cache=None)) as runner:
        outcome = run_case(runner, search.next_case())["onnxruntime"]
    assert outcome.status.value == "unsupported"
    assert outcome.failure is not None
    assert "another file" in outcome.failure.message
