"""The order is total, has no ties, and says what a reader would say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorparity.core.case import ApiCall, ArrayArg, Case, ModelFile
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.triage.reduction.order import simpler, sort_key, value_cost

VALUES = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 0.1, 1e30, float("nan"), float("inf")])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    if draw(st.booleans()):
        x = np.full(draw(st.integers(1, 3)), draw(VALUES), draw(st.sampled_from(["float32", "float64"])))
        kwargs = draw(st.sampled_from([{}, {"axis": 0}]))
        return Case(ApiCall("keras.ops.sum", (ArrayArg("x"),), kwargs), Procedure(goal=Goal.CALL), inputs={"x": x})
    build = GraphBuilder()
    size = draw(st.integers(1, 3))
    ref = build.input("x", (size,))
    for _ in range(draw(st.integers(1, 3))):
        op = draw(st.sampled_from(["Dense", "ReLU", "Identity"]))
        params = {"units": size} if op == "Dense" else {}
        if op == "Dense" and draw(st.booleans()):
            params["use_bias"] = False
        ref = build.add(op, ref, **params)
    graph = build.build(ref)
    x = np.full((draw(st.integers(1, 2)), size), draw(VALUES), np.float32)
    procedure = draw(st.sampled_from([Procedure(), Procedure(training=True), Procedure(dtype="float16")]))
    weights = draw_weights(graph, np.random.default_rng(draw(st.integers(0, 2))))
    return Case(graph, procedure, inputs={"x": x}, weights=weights)


@given(cases(), cases())
def test_total_and_antisymmetric(a: Case, b: Case) -> None:
    if a.digest == b.digest:
        assert not simpler(a, b)
        assert not simpler(b, a)
    else:
        assert simpler(a, b) != simpler(b, a)


@given(cases(), cases(), cases())
def test_transitive(a: Case, b: Case, c: Case) -> None:
    first, second, third = sorted((a, b, c), key=sort_key)
    assert not simpler(second, first)
    assert not simpler(third, second)
    assert not simpler(third, first)


def dense(units: int = 2, batch: int = 2, **params: object) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="d", units=units, **params))
    weights = draw_weights(graph, np.random.default_rng(0))
    return Case(graph, inputs={"x": np.ones((batch, 3), np.float32)}, weights=weights)


class TestWhatIsSimpler:
    def test_fewer_elements(self) -> None:
        assert simpler(dense(batch=1), dense(batch=2))
        assert simpler(dense(units=1), dense(units=2))

    def test_a_default_before_fewer_elements(self) -> None:
        assert simpler(dense(), dense(use_bias=False))

    def test_plainer_numbers(self) -> None:
        ones = dense()
        odd = replace(ones, inputs={"x": ones.inputs["x"] * np.float32(0.1)})
        assert simpler(ones, odd)

    def test_a_graph_before_a_file(self) -> None:
        file = Case(ModelFile("m.keras", "0" * 64), inputs={"x": np.ones((1, 1), np.float32)})
        assert simpler(dense(), file)

    def test_forward_before_training(self) -> None:
        fit = Procedure(goal=Goal.FIT, steps=2, loss=Recipe("Huber"), optimizer=Recipe("Adam"))
        step = Procedure(goal=Goal.FIT, steps=1, loss=Recipe("Huber"), optimizer=Recipe("Adam"))
        plain = Procedure(goal=Goal.FIT, steps=1, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
        ranked = [Procedure(), plain, step, fit]
        keys = [sort_key(replace(dense(), procedure=procedure)) for procedure in ranked]
        assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("plain", "odd"), [(0.0, 1.0), (1.0, 2.0), (1.0, -1.0), (9.0, 100.0), (2.0, 0.5), (0.5, 0.1), (0.1, float("nan"))]
)
def test_value_cost(plain: float, odd: float) -> None:
    assert value_cost(np.array([plain])) < value_cost(np.array([odd]))
