"""Only when fused: cut points, moved by bisection until no shorter stretch differs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.base import Asking, run_steps
from tensorparity.oracles.measure.fusion import _first
from tensorparity.reporting.words import sentence

from ..running import stretch_on

TARGET = "fake:b"


def chain(length: int) -> Case:
    build = GraphBuilder("chain")
    x = build.input("x", (3,))
    for index in range(length):
        x = build.add(("Dense", "ELU")[index % 2], x, name=f"n{index}", **({"units": 3} if index % 2 == 0 else {}))
    return case_of(build.build(x))


def case_of(graph: LayerGraph) -> Case:
    inputs = {"x": np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, np.random.default_rng(1)))


def wrong(output: Array) -> Array:
    return output + np.float32(1.0)


def has(*names: str) -> Any:
    return lambda graph: set(names) <= {node.name for node in graph.nodes}


@pytest.mark.parametrize(("first", "last"), [(0, 1), (7, 8), (3, 6), (18, 19), (0, 19)])
def test_the_two_layers_that_must_stand_together(fake_runner: Any, first: int, last: int) -> None:
    runner = fake_runner(whole={TARGET: wrong}, fuses=has(f"n{first}", f"n{last}"))
    stretch = stretch_on(runner, chain(20), TARGET)
    assert stretch is not None
    assert [node.name for node in stretch.nodes] == [f"n{index}" for index in range(first, last + 1)]
    assert stretch.checks <= 3 + 2 * math.ceil(math.log2(20))
    assert len(runner.ran) == stretch.checks + 1  # and the run layer by layer


def test_what_flowed_in_becomes_the_input(fake_runner: Any) -> None:
    case = chain(6)
    runner = fake_runner(whole={TARGET: wrong}, fuses=has("n3", "n4"))
    stretch = stretch_on(runner, case, TARGET)
    assert stretch is not None
    traced = fake_runner()._nodes(case, TARGET, healthy=True)
    np.testing.assert_array_equal(stretch.case.inputs["n2"], traced["n2#0"])
    assert set(stretch.case.weights) == {"n4/kernel", "n4/bias"}
    assert stretch.api == "keras.layers.ELU+keras.layers.Dense"
    assert "n3, n4 (2 layers" in sentence(stretch.evidence)


def test_a_branch_that_only_stands_by_is_left_out(fake_runner: Any) -> None:
    build = GraphBuilder()
    x = build.input("x", (3,))
    left = build.add("ELU", x, name="left")
    aside = build.add("ELU", x, name="aside")
    right = build.add("Dense", left, name="right", units=3)
    graph = build.build(build.add("Add", right, aside, name="sum"))
    stretch = stretch_on(fake_runner(whole={TARGET: wrong}, fuses=has("left", "right")), case_of(graph), TARGET)
    assert stretch is not None
    assert [node.name for node in stretch.nodes] == ["left", "right"]


def test_nothing_to_cut_where_the_graph_itself_is_right(fake_runner: Any) -> None:
    assert stretch_on(fake_runner(), chain(4), TARGET) is None


def test_a_target_that_cannot_be_traced(fake_runner: Any) -> None:
    assert stretch_on(fake_runner(raising={TARGET: ["n2"]}), chain(4), TARGET) is None


@given(st.integers(1, 60).flatmap(lambda high: st.tuples(st.just(high), st.integers(1, high))))
def test_bisection_finds_the_first(bounds: tuple[int, int]) -> None:
    high, answer = bounds
    asked: list[int] = []

    def holds(number: int) -> Asking[bool]:
        yield from ()
        asked.append(number)
        return number >= answer

    assert run_steps(None, _first(1, high, holds)) == answer  # type: ignore[arg-type]
    assert len(asked) <= math.ceil(math.log2(high)) + 1
