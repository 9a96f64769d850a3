"""Where the nodes of a data flow stand: layered drawing after Sugiyama, folded into columns like a text.

Ranks by longest path, order by medians, coordinates by weighted medians under the order's constraints.
A network is a hundred times deeper than wide, so its ranks are cut where few edges cross and set side by
side until the whole fits a screen. All is deterministic, and a thousand nodes take well under a second.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

Point = tuple[int, int]
Size = tuple[int, int]

_SWEEPS = 6
_BETWEEN = 26  # two nodes of one rank
_LANE = 14  # the width that a passing edge takes in a rank
_GAP = 34  # two ranks, at least
_MOST_GAP = 150
_GUTTER = 60  # two columns
_STRIP = 8  # two edges on their way to the next column
_SCREEN = (1040.0, 560.0)
_MOST_COLUMNS = 16
#: How much an edge wants to be straight, by how many of its ends are passing edges.
_STRAIGHT = (4.0, 1.0, 12.0)


@dataclass(frozen=True, slots=True)
class Hop:
    """The way of an edge from the foot of a column to the head of the next: down to, along, up to."""

    bottom: int
    gutter: int
    top: int


@dataclass(frozen=True, slots=True)
class Route:
    """An edge: one run of points per column it passes, and a hop between two runs."""

    source: int
    target: int
    runs: tuple[tuple[Point, ...], ...]
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Centres of the vertices, and the edges between them."""

    width: int
    height: int
    places: tuple[Point, ...]
    routes: tuple[Route, ...]


def draw(inputs: Sequence[Sequence[int]], sizes: Sequence[Size]) -> Drawing:
    """Lay out a graph given by what flows into each vertex; vertices come in the order of the flow."""
    edges = [(source, target) for target, given in enumerate(inputs) for source in dict.fromkeys(given)]
    ranks = _ranks(inputs)
    levels = _Levels(ranks, edges)
    levels.sort()
    widths = [size[0] for size in sizes] + [_LANE] * levels.passing
    across = _coordinates(levels, widths)
    heights = [max((sizes[v][1] for v in level if v < len(sizes)), default=0) for level in levels.ranks]
    return _Folding(levels, across, widths, heights).drawing(sizes, edges)


def _ranks(inputs: Sequence[Sequence[int]]) -> list[int]:
    """The longest way from any source; what costs no edge length by it moves down to where it is used."""
    ranks: list[int] = []
    outputs: list[list[int]] = [[] for _ in inputs]
    for vertex, given in enumerate(inputs):
        ranks.append(1 + max((ranks[source] for source in given), default=-1))
        for source in given:
            outputs[source].append(vertex)
    for vertex in reversed(range(len(ranks))):
        used = outputs[vertex]
        if used and len(set(inputs[vertex])) <= len(set(used)):
            ranks[vertex] = min(ranks[target] for target in used) - 1
    return ranks


class _Levels:
    """Vertices by rank; an edge over several ranks passes each by a vertex of its own, shared per source."""

    def __init__(self, ranks: Sequence[int], edges: Sequence[tuple[int, int]]) -> None:
        self.ranks: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
        for vertex, rank in enumerate(ranks):
            self.ranks[rank].append(vertex)
        self.real = len(ranks)
        self.passing = 0
        self.rank_of = list(ranks)
        self.above: list[list[int]] = [[] for _ in ranks]
        self.below: list[list[int]] = [[] for _ in ranks]
        trunks: dict[tuple[int, int], int] = {}
        self.ways = [self._way(source, target, trunks) for source, target in edges]
        self._place = {vertex: index for level in self.ranks for index, vertex in enumerate(level)}

    def _way(self, source: int, target: int, trunks: dict[tuple[int, int], int]) -> list[int]:
        way = [source]
        for rank in range(self.rank_of[source] + 1, self.rank_of[target]):
            passing = trunks.get((source, rank))
            if passing is None:
                passing = trunks[source, rank] = self._pass(rank)
                self._join(way[-1], passing)
            way.append(passing)
        self._join(way[-1], target)
        return [*way, target]

    def _pass(self, rank: int) -> int:
        self.passing += 1
        self.ranks[rank].append(len(self.rank_of))
        self.rank_of.append(rank)
        self.above.append([])
        self.below.append([])
        return len(self.rank_of) - 1

    def _join(self, upper: int, lower: int) -> None:
        self.below[upper].append(lower)
        self.above[lower].append(upper)

    def spine(self) -> set[int]:
        """One longest way through the graph: a vertex of every rank, as few of them passing as can be."""
        length = [0] * len(self.rank_of)
        for level in self.ranks:
            for vertex in level:
                length[vertex] = (vertex < self.real) + max((length[v] for v in self.above[vertex]), default=0)
        way = [max(self.ranks[-1], key=length.__getitem__)] if self.ranks else []
        while way and self.above[way[-1]]:
            way.append(max(self.above[way[-1]], key=length.__getitem__))
        return set(way)

    def sort(self) -> None:
        """Order each rank by the medians of its neighbours, down and up in turn; the fewest crossings win."""
        best, fewest = [list(level) for level in self.ranks], self._crossings()
        for sweep in range(2 * _SWEEPS):
            upward = sweep % 2 == 1
            for level in reversed(self.ranks) if upward else self.ranks:
                self._sort_level(level, self.below if upward else self.above)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(level) for level in self.ranks], crossings
        self.ranks = best

    def _sort_level(self, level: list[int], neighbours: Sequence[Sequence[int]]) -> None:
        place = self._place

        def median(vertex: int) -> float:
            found = sorted(place[other] for other in neighbours[vertex])
            middle = len(found) // 2
            if not found:
                return float(place[vertex])
            return float(found[middle]) if len(found) % 2 else (found[middle - 1] + found[middle]) / 2

        level.sort(key=median)
        for index, vertex in enumerate(level):
            place[vertex] = index

    def _crossings(self) -> int:
        place, total = self._place, 0
        for level in self.ranks:
            seen: list[int] = []
            for vertex in level:
                ends = sorted(place[other] for other in self.below[vertex])
                total += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return total


def _coordinates(levels: _Levels, widths: Sequence[int]) -> list[float]:
    """Across the flow: every vertex as near to the median of its neighbours as its rank's order allows.

    The longest way through the graph stands still, or the whole would drift sideways with its depth.
    """
    across = [0.0] * len(widths)
    spine = levels.spine()
    spacing = [_distances(level, widths, levels.real) for level in levels.ranks]
    for level, gaps in zip(levels.ranks, spacing, strict=True):
        reach = sum(gaps)
        for vertex, place in zip(level, accumulate(gaps), strict=True):
            across[vertex] = place - reach / 2
    for neighbours, upward in [(levels.above, False), (levels.below, True)] * _SWEEPS:
        order = list(zip(levels.ranks, spacing, strict=True))
        for level, gaps in reversed(order) if upward else order:
            wanted = [
                0.0 if vertex in spine else _wanted_place(vertex, neighbours[vertex], across, levels.real)
                for vertex in level
            ]
            weights = [1e6 if vertex in spine else (12.0 if vertex >= levels.real else 1.0) for vertex in level]
            for vertex, place in zip(level, _separate(wanted, weights, gaps), strict=True):
                across[vertex] = place
    return across


def _distances(level: Sequence[int], widths: Sequence[int], real: int) -> list[float]:
    """Distance of each vertex to the one before it."""
    gaps = [0.0]
    for left, right in pairwise(level):
        free = _BETWEEN if left < real and right < real else _BETWEEN / 2
        gaps.append((widths[left] + widths[right]) / 2 + free)
    return gaps


def _wanted_place(vertex: int, neighbours: Sequence[int], across: Sequence[float], real: int) -> float:
    """The weighted median of the neighbours; its own place where there are none."""
    if not neighbours:
        return across[vertex]
    weighted = sorted((across[other], _STRAIGHT[(vertex >= real) + (other >= real)]) for other in neighbours)
    half, passed = sum(weight for _, weight in weighted) / 2, 0.0
    for index, (place, weight) in enumerate(weighted):
        passed += weight
        if passed == half:
            return (place + weighted[index + 1][0]) / 2
        if passed > half:
            return place
    return weighted[-1][0]


def _separate(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones that keep order and gaps (pool adjacent violators)."""
    offsets = list(accumulate(gaps))
    pools: list[tuple[float, float, int]] = []
    for place, weight, offset in zip(wanted, weights, offsets, strict=True):
        pool = (place - offset, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, mass, count = pools.pop()
            total = mass + pool[1]
            pool = ((mean * mass + pool[0] * pool[1]) / total, total, count + pool[2])
        pools.append(pool)
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=True)]


class _Folding:
    """Ranks cut into columns, and everything moved to its place."""

    def __init__(self, levels: _Levels, across: Sequence[float], widths: Sequence[int], heights: Sequence[int]) -> None:
        self._levels = levels
        self._across = across
        self._widths = widths
        self._heights = heights
        self._gaps = [self._gap(level) for level in levels.ranks]
        self._cost = [sum(bool(levels.below[v]) for v in level) for level in levels.ranks]
        self._starts = self._best_cuts()
        self._column = [
            column
            for column, (start, end) in enumerate(pairwise([*self._starts, len(heights)]))
            for _ in range(start, end)
        ]

    def _gap(self, level: Sequence[int]) -> int:
        """Wider where edges have far to go sideways."""
        far = max((abs(self._across[v] - self._across[w]) for v in level for w in self._levels.below[v]), default=0.0)
        return round(min(_MOST_GAP, _GAP + 0.1 * far))

    def _best_cuts(self) -> list[int]:
        """The number of columns that shows the whole at the largest scale; fewer, if as good."""
        best: list[int] = [0] if self._heights else []
        largest = 0.0
        for columns in range(1, min(_MOST_COLUMNS, len(self._heights)) + 1):
            starts = self._cuts(columns)
            ends = [*starts[1:], len(self._heights)]
            width = sum(high - low + _GUTTER for low, high in map(self._extent, starts, ends))
            height = max(map(self._length, starts, ends))
            scale = min(1.0, _SCREEN[0] / width, _SCREEN[1] / height)
            if scale > 1.05 * largest:
                best, largest = starts, scale
        return best

    def _cuts(self, columns: int) -> list[int]:
        """First ranks of columns of about equal length; near the ideal cut, the one that fewest edges cross."""
        tops = list(accumulate((h + g for h, g in zip(self._heights, self._gaps, strict=True)), initial=0))
        ideal = tops[-1] / columns
        starts = [0]
        for column in range(1, columns):
            near = [r for r in range(starts[-1] + 1, len(self._heights)) if abs(tops[r] - column * ideal) < 0.2 * ideal]
            if near:
                starts.append(min(near, key=lambda r: (self._cost[r - 1], abs(tops[r] - column * ideal))))
        return starts

    def _extent(self, start: int, end: int) -> tuple[float, float]:
        vertices = [v for level in self._levels.ranks[start:end] for v in level]
        low = min(self._across[v] - self._widths[v] / 2 for v in vertices)
        high = max(self._across[v] + self._widths[v] / 2 for v in vertices)
        return low, high

    def _length(self, start: int, end: int) -> int:
        return sum(self._heights[start:end]) + sum(self._gaps[start : end - 1])

    def drawing(self, sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> Drawing:
        if not sizes:
            return Drawing(0, 0, (), ())
        self._place()
        places = tuple((self._x[v], self._y[self._levels.rank_of[v]]) for v in range(len(sizes)))
        routes = tuple(self._route(edge, way, sizes) for edge, way in zip(edges, self._levels.ways, strict=True))
        return Drawing(self._width, self._bottom + self._margin(), places, routes)

    def _place(self) -> None:
        ends = [*self._starts[1:], len(self._heights)]
        self._hops = self._all_hops()
        self._x = [0] * len(self._across)
        self._y = [0] * len(self._heights)
        self._gutters: list[int] = []
        left, top = 0.0, self._margin()
        self._bottom = top + max(map(self._length, self._starts, ends))
        for column, (start, end) in enumerate(zip(self._starts, ends, strict=True)):
            low, high = self._extent(start, end)
            y = top
            for rank in range(start, end):
                self._y[rank] = y + self._heights[rank] // 2
                y += self._heights[rank] + self._gaps[rank]
                for vertex in self._levels.ranks[rank]:
                    self._x[vertex] = round(left + self._across[vertex] - low)
            self._gutters.append(round(left + high - low + _GUTTER / 2))
            left += high - low + _GUTTER + _STRIP * len(self._hops[column])
        self._width = round(left - _GUTTER)

    def _margin(self) -> int:
        """Room above and below the columns for edges on their way to the next."""
        most = max((len(hops) for hops in self._hops), default=0)
        return _GAP + _STRIP * most if most else 0

    def _all_hops(self) -> list[dict[int, int]]:
        """Per column, the lane of each vertex in its last rank that goes on in the next; the rightmost turns first."""
        hops: list[dict[int, int]] = []
        for start in [*self._starts[1:], 0]:
            last = self._levels.ranks[start - 1] if start else []
            leaving = [v for v in reversed(last) if self._levels.below[v]]
            hops.append({vertex: lane for lane, vertex in enumerate(leaving)})
        return hops

    def _route(self, edge: tuple[int, int], way: Sequence[int], sizes: Sequence[Size]) -> Route:
        runs: list[list[Point]] = [[]]
        hops: list[Hop] = []
        for index, vertex in enumerate(way):
            rank = self._levels.rank_of[vertex]
            half = (sizes[vertex][1] if vertex < len(sizes) else self._heights[rank]) // 2
            if index and self._column[rank] != self._column[rank - 1]:
                hops.append(self._hop(way[index - 1]))
                runs.append([])
            if index:
                runs[-1].append((self._x[vertex], self._y[rank] - half))
            if index < len(way) - 1:
                runs[-1].append((self._x[vertex], self._y[rank] + half))
        return Route(*edge, tuple(tuple(_without_straight_points(run)) for run in runs), tuple(hops))

    def _hop(self, vertex: int) -> Hop:
        column = self._column[self._levels.rank_of[vertex]]
        lanes = self._hops[column]
        lane = _STRIP * lanes[vertex]
        foot = max(self._y[r] + self._heights[r] // 2 for r in range(len(self._y)) if self._column[r] == column)
        top = self._margin() - _GAP // 2 - _STRIP * (len(lanes) - 1) + lane
        return Hop(foot + _GAP // 2 + lane, self._gutters[column] + lane, top)


def _without_straight_points(run: Sequence[Point]) -> list[Point]:
    """Without the points in the middle of a vertical line."""
    return [
        point
        for index, point in enumerate(run)
        if not 0 < index < len(run) - 1 or not run[index - 1][0] == point[0] == run[index + 1][0]
    ]
