"""The structure of a network before it has layers: Muffin's two templates (section 3.2.1).

Both give a DAG with one vertex of in-degree 0, one of out-degree 0, and none that is isolated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

#: The paper's sizes (section 4.4).
MAX_CELLS = 5
MAX_VERTICES = 30

_SKIP = 0.3  # share of the vertices that a skip connection ends in
_MOST_INPUTS = 4


@dataclass(frozen=True, slots=True)
class Structure:
    """Vertices in topological order.

    Args:
        predecessors: of each vertex, in rising order; the first vertex has none.
        reducing: vertices that have to make their input smaller: the ends of reduction cells.
        template: ``chain`` or ``cells``.
    """

    predecessors: tuple[tuple[int, ...], ...]
    reducing: frozenset[int] = field(default=frozenset())
    template: str = "chain"

    @property
    def size(self) -> int:
        return len(self.predecessors)

    def successors(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.predecessors]
        for vertex, sources in enumerate(self.predecessors):
            for source in sources:
                found[source].append(vertex)
        return tuple(map(tuple, found))


def draw_structure(rng: np.random.Generator, max_cells: int = MAX_CELLS, max_vertices: int = MAX_VERTICES) -> Structure:
    """Lines 3 to 13 of Algorithm 1: either template with the same chance."""
    if rng.random() < 0.5:
        return chain_with_skips(rng, int(rng.integers(1, max_vertices + 1)))
    return cells(rng, int(rng.integers(1, max_cells + 1)), max_vertices)


def chain_with_skips(rng: np.random.Generator, size: int) -> Structure:
    """Each vertex follows the one before it; some also read earlier ones."""
    found: list[tuple[int, ...]] = [()]
    for vertex in range(1, size):
        sources = {vertex - 1}
        while vertex > 1 and len(sources) < _MOST_INPUTS and rng.random() < _SKIP:
            sources.add(int(rng.integers(0, vertex - 1)))
        found.append(tuple(sorted(sources)))
    return Structure(tuple(found))


def cells(rng: np.random.Generator, count: int, max_vertices: int = MAX_VERTICES) -> Structure:
    """Small DAGs one after another, of which every second one, by chance, ends in a reduction.

    The paper leaves open how large a cell is; here all of them together, with the input, have at most ``max_vertices``,
    and there are fewer cells where those are too few. Nothing that reads several tensors makes one smaller, so a
    reduction cell ends in a vertex of in-degree 1.
    """
    found: list[tuple[int, ...]] = [()]
    reducing: set[int] = set()
    count = min(count, max_vertices - 1)
    for _ in range(count):
        entry = len(found) - 1
        size = int(rng.integers(1, (max_vertices - 1) // count + 1))
        reduces = rng.random() < 0.5
        inner = [*random_dag(rng, size), (size - 1,)] if reduces else random_dag(rng, size + 1)
        found += [tuple(entry + source for source in sources) for sources in inner[1:]]
        if reduces:
            reducing.add(len(found) - 1)
    return Structure(tuple(found), frozenset(reducing), "cells")


def random_dag(rng: np.random.Generator, size: int) -> list[tuple[int, ...]]:
    """Predecessors of a DAG with one source, the first vertex, and one sink, the last.

    Every vertex but the last may be read by several others; whoever is read by nobody is read by the last.
    """
    found: list[tuple[int, ...]] = [()]
    unread = {0}
    for vertex in range(1, size - 1):
        count = min(vertex, 1 + int(rng.random() < _SKIP))
        sources = tuple(sorted(int(source) for source in rng.choice(vertex, count, replace=False)))
        unread = (unread - set(sources)) | {vertex}
        found.append(sources)
    if size > 1:
        found.append(tuple(sorted(unread)))
    return found
