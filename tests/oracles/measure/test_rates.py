"""CRADLE's introduction rate, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.oracles.measure.rates import EPSILON, deviation, introduction_rate, localization_map


def diamond() -> LayerGraph:
    """One layer, two parallel ones, and their sum."""
    build = GraphBuilder()
    stem = build.add("Dense", build.input("x", (2,)), name="stem", units=2)
    left, right = build.add("ReLU", stem, name="left"), build.add("Dense", stem, name="right", units=2)
    return build.build(build.add("Add", left, right, name="sum"))


def hidden(**deltas: float) -> tuple[dict[str, Array], dict[str, Array]]:
    """Two traces that deviate by so much in each layer."""
    a = {f"{name}#0": np.zeros((1, 2), np.float32) for name in deltas}
    b = {f"{name}#0": np.full((1, 2), delta, np.float32) for name, delta in deltas.items()}
    return a, b


def test_smoothing_is_the_papers() -> None:
    assert EPSILON == 1e-7


@pytest.mark.parametrize(
    ("own", "before", "rate"),
    [
        (0.5, [0.25], 0.25 / (0.25 + 1e-7)),
        (0.25, [0.5], -0.25 / (0.5 + 1e-7)),
        (0.5, [], 0.5 / 1e-7),
        (0.5, [0.0], 0.5 / 1e-7),
        (0.0, [0.0], 0.0),
        (0.5, [0.125, 0.25], 0.25 / (0.25 + 1e-7)),
    ],
)
def test_rate_by_hand(own: float, before: list[float], rate: float) -> None:
    assert introduction_rate(own, before) == pytest.approx(rate, rel=1e-12)


def test_deviation_is_the_mean_absolute_difference() -> None:
    assert deviation(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 1.0, 5.0]])) == 1.0
    assert deviation(np.zeros((1, 0)), np.zeros((1, 0))) == 0.0
    assert deviation(np.zeros((1, 2)), np.zeros((1, 3))) == float("inf")


def test_map_takes_the_largest_inbound_deviation() -> None:
    layers = {layer.name: layer for layer in localization_map(diamond(), *hidden(stem=0, left=0.5, right=1, sum=2), {})}
    assert list(layers) == ["stem", "left", "right", "sum"]
    assert layers["sum"].deviation == 2.0
    assert layers["sum"].rate == pytest.approx((2 - 1) / (1 + 1e-7))
    assert layers["left"].rate == pytest.approx(0.5 / 1e-7)
    assert layers["stem"].rate == 0.0


def test_only_rates_strictly_above_the_third_quartile_are_highlighted() -> None:
    layers = localization_map(diamond(), *hidden(stem=0, left=0.5, right=1, sum=2), {})
    assert [layer.name for layer in layers if layer.highlighted] == ["right"]
    equal = localization_map(diamond(), *hidden(stem=0, left=0, right=0, sum=0), {})
    assert not any(layer.highlighted for layer in equal)


def test_a_layer_without_trace_is_listed_without_figures() -> None:
    layers = {layer.name: layer for layer in localization_map(diamond(), *hidden(stem=1, sum=2), {"right#0": 3.5})}
    assert (layers["right"].deviation, layers["right"].rate, layers["right"].isolated_error) == (None, None, 3.5)
    assert layers["sum"].rate == pytest.approx(1 / (1 + 1e-7))  # what flows into a layer without trace flows on


def test_nothing_traced_before_counts_as_no_deviation() -> None:
    layers = {layer.name: layer for layer in localization_map(diamond(), *hidden(sum=2), {})}
    assert layers["sum"].rate == pytest.approx(2 / 1e-7)


@pytest.mark.parametrize(
    ("own", "before", "rate"),
    [(np.nan, [0.5], np.inf), (np.nan, [], np.inf), (np.inf, [np.nan], 0.0), (0.5, [0.1, np.nan], -1.0)],
    ids=["introduced", "in the first layer", "passed on", "lost again"],
)
def test_a_nan_has_its_place_by_the_limits_of_the_equation(own: float, before: list[float], rate: float) -> None:
    assert introduction_rate(own, before) == rate


def test_the_layer_that_introduces_a_nan_is_highlighted_and_no_other_for_it() -> None:
    layers = localization_map(diamond(), *hidden(stem=1, left=1, right=np.nan, sum=np.nan), {})
    assert [layer.name for layer in layers if layer.highlighted] == ["stem", "right"]
    assert [layer.name for layer in localization_map(diamond(), *hidden(stem=np.nan), {}) if layer.highlighted] == [
        "stem"
    ]


def test_the_border_is_the_third_quartile() -> None:
    # rates 1 to 5 of layers that read nothing traced: the third quartile is 4, and what equals it is not above it
    build = GraphBuilder()
    x = build.input("x", (2,))
    names = [f"layer{number}" for number in range(1, 6)]
    outputs = [build.add("ReLU", x, name=name) for name in names]
    graph = build.build(build.add("Add", *outputs, name="sum"))
    layers = localization_map(graph, *hidden(**{name: place for place, name in enumerate(names, start=1)}), {})
    assert [layer.name for layer in layers if layer.highlighted] == ["layer5"]


def test_nan_in_a_trace_hides_no_other_layer() -> None:
    a, b = hidden(stem=0, left=0.5, right=1, sum=2)
    b["left#0"] = np.full((1, 2), np.nan, np.float32)
    layers = {layer.name: layer for layer in localization_map(diamond(), a, b, {})}
    assert [name for name, layer in layers.items() if layer.highlighted] == ["left", "right"]
    assert layers["sum"].rate == -1.0


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (np.array([1 + 1j, 0], np.complex64), np.array([1 + 2j, 0], np.complex64), 0.5),
        (np.array([2**60, 0]), np.array([2**60 + 1, 0]), 0.5),
        (np.array([True, False]), np.array([False, False]), 0.5),
        (np.array(["a", "b"]), np.array(["a", "c"]), 0.5),
        (np.array([np.inf, 1.0]), np.array([np.inf, 2.0]), 0.5),
    ],
)
def test_deviation_of_every_dtype(a: Array, b: Array, expected: float) -> None:
    assert deviation(a, b) == expected
    assert deviation(a, a) == 0.0
