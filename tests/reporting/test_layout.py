"""The drawing of a data flow: nothing overlaps, everything flows downwards, a thousand nodes take no time."""

from __future__ import annotations

import time
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorparity.reporting.layout import Drawing, draw

SIZE = (190, 58)

CHAIN = [[i - 1] if i else [] for i in range(60)]
RESIDUAL = [[], [0], [1], [2, 0], [3], [4], [5, 3]]
TWO_INPUTS = [[], [0], [1], [2], [], [3, 4]]
SHARED = [[], [0], [1], [0, 1, 2], [0, 3], [0, 4]]
FLOWS = {
    "chain": CHAIN,
    "residual": RESIDUAL,
    "two inputs": TWO_INPUTS,
    "shared": SHARED,
    "alone": [[]],
    "apart": [[], []],
}


def cells(count: int) -> list[list[int]]:
    flow: list[list[int]] = [[], [0]]
    ends = [0, 1]
    while len(flow) < count:
        tips = []
        for branch in range(5):
            tip = ends[-1 - branch % 2]
            for _ in range(3):
                flow.append([tip])
                tip = len(flow) - 1
            tips.append(tip)
        flow.append([*tips, ends[-2]])
        ends.append(len(flow) - 1)
    return flow


def boxes(drawing: Drawing) -> list[tuple[float, float, float, float]]:
    return [(x - SIZE[0] / 2, y - SIZE[1] / 2, x + SIZE[0] / 2, y + SIZE[1] / 2) for x, y in drawing.places]


def check(flow: list[list[int]]) -> Drawing:
    drawing = draw(flow, [SIZE] * len(flow))
    placed = boxes(drawing)
    for one, other in combinations(placed, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for left, top, right, bottom in placed:
        assert min(left, top) >= -1
        assert right <= drawing.width + 1
        assert bottom <= drawing.height + 1
    assert {(r.source, r.target) for r in drawing.routes} == {(s, t) for t, given in enumerate(flow) for s in given}
    for route in drawing.routes:
        assert len(route.runs) == len(route.hops) + 1
        x, y = drawing.places[route.source]
        assert route.runs[0][0] == (x, y + SIZE[1] // 2)
        x, y = drawing.places[route.target]
        assert route.runs[-1][-1] == (x, y - SIZE[1] // 2)
        for run in route.runs:
            assert all(above[1] <= below[1] for above, below in pairwise(run))
    return drawing


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS.keys())
def test_boxes_and_edges_stand_where_they_should(flow: list[list[int]]) -> None:
    check(flow)


@st.composite
def flows(draw_from: st.DrawFn) -> list[list[int]]:
    count = draw_from(st.integers(1, 30))
    return [draw_from(st.lists(st.integers(0, i - 1), max_size=4)) if i else [] for i in range(count)]


@settings(deadline=None, max_examples=60)
@given(flows())
def test_any_flow_can_be_drawn(flow: list[list[int]]) -> None:
    check(flow)


def test_no_edge_runs_over_a_box() -> None:
    drawing = check(cells(150))
    for route in drawing.routes:
        for run in route.runs:
            for (x0, y0), (x1, y1) in pairwise(run):
                for left, top, right, bottom in boxes(drawing):
                    crosses = left < min(x0, x1) and max(x0, x1) < right and y0 < bottom - 1 and y1 > top + 1
                    assert not crosses, (route.source, route.target)


def test_a_deep_network_is_folded_into_columns() -> None:
    drawing = draw(CHAIN, [SIZE] * len(CHAIN))
    columns = {x for x, _ in drawing.places}
    assert 3 <= len(columns) <= 8
    assert 1 < drawing.width / drawing.height < 4
    assert sum(len(route.hops) for route in drawing.routes) == len(columns) - 1


def test_a_short_one_is_not() -> None:
    drawing = draw(CHAIN[:4], [SIZE] * 4)
    assert len({x for x, _ in drawing.places}) == 1


def test_columns_break_where_few_edges_cross() -> None:
    """Blocks with a way around them: a cut inside a block severs two ways, one between blocks leaves one source."""
    flow: list[list[int]] = [[]]
    for _ in range(12):
        start = len(flow) - 1
        flow += [[start], [start + 1], [start + 2], [start + 3], [start + 4, start]]
    drawing = draw(flow, [SIZE] * len(flow))
    hops = [route for route in drawing.routes if route.hops]
    assert hops
    assert {route.source % 5 for route in hops} == {0}


def test_a_late_input_stands_near_its_use() -> None:
    drawing = draw(TWO_INPUTS, [SIZE] * len(TWO_INPUTS))
    assert drawing.places[4][1] == drawing.places[3][1]


def test_the_same_flow_gives_the_same_drawing() -> None:
    flow = cells(300)
    assert draw(flow, [SIZE] * len(flow)) == draw(flow, [SIZE] * len(flow))


def test_a_thousand_nodes_take_little_time() -> None:
    """CPU time, since the machine may be busy with something else."""
    flow = cells(1300)
    assert sum(map(len, flow)) > 1600
    began = time.process_time()
    draw(flow, [SIZE] * len(flow))
    assert time.process_time() - began < 2


def test_nothing_can_be_drawn_too() -> None:
    assert draw([], []) == Drawing(0, 0, (), ())
