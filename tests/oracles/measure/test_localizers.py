"""One interface over three rules, on a chain whose third layer is wrong and whose fourth makes much of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.place import Place
from tensorparity.core.procedure import Procedure
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.measure.localizers import LOCALIZERS, LocalizedPair, accusations
from tensorparity.oracles.measure.rates import localization_map


def wrong(output: Array) -> Array:
    return output + np.float32(0.5)


@pytest.fixture
def scene(fake_runner: Any) -> LocalizedPair:
    build = GraphBuilder()
    x = build.input("x", (4,))
    for name in ("d0", "d1", "d2", "d3", "d4"):
        x = build.add("Dense", x, name=name, units=4)
    graph: LayerGraph = build.build(x)
    inputs = {"x": np.random.default_rng(0).standard_normal((1, 4)).astype(np.float32)}
    case = Case(graph, Procedure(trace=True), inputs, weights=draw_weights(graph, np.random.default_rng(1)))
    runner = fake_runner(planted={"fake:b": {"d2": wrong}})
    a, b = runner.run_pairs([(case, "fake:a"), (case, "fake:b")])
    layers = localization_map(graph, a.trace.nodes, b.trace.nodes, {"d1#0": 0.4, "d2#0": 1e6, "d3#0": 2.0})
    return LocalizedPair(graph, a, b, layers)


def test_each_rule_accuses_the_wrong_layer_first(scene: LocalizedPair) -> None:
    found = accusations(scene)
    assert set(found) == set(LOCALIZERS) == {"replay", "cradle", "muffin"}
    assert found["replay"] == found["muffin"] == (Place("d2#0"),)
    assert found["cradle"][0] == Place("d2#0")


def test_a_wider_bound_clears(scene: LocalizedPair) -> None:
    wide = LocalizedPair(scene.graph, scene.a, scene.b, scene.layers, limits={"d2#0": 1e7})
    assert accusations(wide)["replay"] == ()


def test_nobody_is_accused_where_nothing_differs(scene: LocalizedPair) -> None:
    layers = localization_map(scene.graph, scene.a.trace.nodes, scene.a.trace.nodes, {})
    assert set(accusations(LocalizedPair(scene.graph, scene.a, scene.a, layers)).values()) == {()}
