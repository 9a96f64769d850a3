"""NaN where users are: inputs in the range of the data, weights as trained networks have them (``realistic_bounds``).

A fault that gives NaN there is found and blamed on its layer; one that only a negative variance reaches is not, for
within these bounds there is none. Without bounds that one is found as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.core.runner import run_case
from tensorparity.core.verdict import Kind
from tensorparity.generators.search.bounds import realistic_bounds
from tensorparity.generators.search.exposed import expose
from tensorparity.generators.search.genetic import BOTH, Bounds, Search, SearchSettings
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.measure.individuals import NAN, RANGE, measure_rows, outputs_looked_at
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

FAULTY, RIGHT = "keras:torch", "keras:tensorflow"
TARGETS = (RIGHT, FAULTY)
DATA = (-3.0, 3.0)
GENERATIONS = 25


def network() -> LayerGraph:
    build = GraphBuilder("small")
    x = build.add("Conv2D", build.input("x", (8, 8, 3)), name="conv", filters=8, kernel_size=3, activation="relu")
    x = build.add("BatchNormalization", x, name="norm")
    x = build.add("Dense", build.add("Flatten", x, name="flat"), name="hidden", units=16, activation="relu")
    x = build.add("Dense", x, name="logits", units=4)
    return build.build(build.add("Softmax", x, name="classes"))


def search_of(graph: LayerGraph, seed: int, bounded: bool) -> Search:
    rng = np.random.default_rng(seed)
    weights = draw_weights(graph, rng)
    weights["norm/moving_variance"] = np.geomspace(0.01, 10.0, 8, dtype=np.float32)  # three deviations reach below 0
    bounds = realistic_bounds(graph, weights, {"x": DATA}) if bounded else Bounds()
    inputs = {"x": rng.standard_normal((1, 8, 8, 3)).astype(np.float32)}
    return Search(expose(graph, weights), inputs, BOTH, SearchSettings(size=32, parents=4, scale=0.3), seed, bounds)


def first_nan(runner: LocalRunner, search: Search) -> Case | None:
    """The first individual with a NaN, as a case of its own."""
    for _ in range(GENERATIONS):
        case = search.next_case()
        assert isinstance(case.subject, LayerGraph)
        outcomes = run_case(runner, case, [FAULTY])
        assert outcomes[FAULTY].completed, outcomes[FAULTY].failure
        measures = measure_rows(outputs_looked_at(case.subject), outcomes, len(search.evolution.children))
        nan = [row for row, has in enumerate(measures[NAN][FAULTY]) if has]
        if nan:
            return search.individual(nan[0])
        search.tell(measures[RANGE][FAULTY])
    return None


@pytest.fixture(scope="module")
def softmax() -> Iterator[LocalRunner]:
    with open_runner(TARGETS, planted("softmax-without-max")) as runner:
        yield runner


@pytest.fixture(scope="module")
def batchnorm() -> Iterator[LocalRunner]:
    with open_runner(TARGETS, planted("batchnorm-unsafe-sqrt")) as runner:
        yield runner


def planted(name: str) -> RunnerSettings:
    return RunnerSettings(cache=None, faults={FAULTY: load_fault(name)})


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_fault_that_the_data_can_reach_is_found_and_blamed(softmax: LocalRunner, seed: int) -> None:
    case = first_nan(softmax, search_of(network(), seed, bounded=True))
    assert case is not None
    assert all(low_high(array) for array in case.inputs.values())
    examiner = Examiner(softmax, Setup(seed, TARGETS, traits_of(TARGETS)))
    (found,) = examiner.examine([Ask(case, TARGETS, ("parity",))])
    accused = [s for s in found.judged.suspicions if s.diagnosis.klass is Class.DEFECT]
    assert [(s.kind, s.diagnosis.suspects, s.diagnosis.api) for s in accused] == [
        (Kind.NAN, (FAULTY,), "keras.layers.Softmax")
    ]


def low_high(array: np.ndarray) -> bool:  # type: ignore[type-arg]
    return bool((array >= DATA[0]).all() and (array <= DATA[1]).all())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_only_a_negative_variance_reaches_is_beyond_the_bounds(batchnorm: LocalRunner, seed: int) -> None:
    assert first_nan(batchnorm, search_of(network(), seed, bounded=True)) is None
    anywhere = first_nan(batchnorm, search_of(network(), seed, bounded=False))
    assert anywhere is not None
    assert (anywhere.weights["norm/moving_variance"] < 0).any()
