"""The weights of a population, made where they are needed; the host's ``core/population.py`` says what they are.

The two must give the same numbers, on every NumPy: all of them come from ``RandomState``, whose stream is frozen.
"""

import numpy as np

TABLE_SIZE = 1 << 21

_TABLES = {}


def tables(seed):
    """Return uniform and Cauchy numbers of a seed, in float32; the last ones are kept."""
    if seed not in _TABLES:
        _TABLES.clear()
        stream = np.random.RandomState(seed)  # noqa: NPY002 (the stream that never changes)
        uniform = stream.random_sample(TABLE_SIZE).astype(np.float32)
        _TABLES[seed] = uniform, stream.standard_cauchy(TABLE_SIZE).astype(np.float32)
    return _TABLES[seed]


class Chromosome(dict):
    """The genes of one individual by array; ``vector`` holds them all, one array after another by name."""

    vector = None


def chromosomes(population, parents, base):
    """Yield the genes of every individual in turn.

    ``parents`` are stacked, one row per parent; ``base`` is what the genes are in the case itself. All arrays are made
    as one vector, for that is what takes least.
    """
    names = sorted(population["ranges"])
    layout = _Layout(population, names, parents, base)
    for first, second, seed in population["individuals"]:
        yield layout.cut(layout.parents[first] if seed is None else layout.child(first, second, seed))


def grouped(individuals, most):
    """Yield lists of individuals that have at most so many genes together; one by one where a single one has more.

    So it is without genes: there is nothing to hand over at once.
    """
    group = []
    for individual in individuals:
        group.append(individual)
        genes = individual.vector.size
        if not genes or genes * (len(group) + 1) > most:
            yield group
            group = []
    if group:
        yield group


class _Layout(object):
    """Where every array lies in one vector of genes."""

    def __init__(self, population, names, parents, base):
        self.names = names
        self.shapes = [parents[name].shape[1:] for name in names]
        self.sizes = [int(np.prod(shape, dtype=np.int64)) for shape in self.shapes]
        self.total = sum(self.sizes)
        rows = len(parents[names[0]]) if names else 1
        stacked = [np.asarray(parents[name], np.float32).reshape(rows, -1) for name in names]
        self.parents = np.concatenate(stacked, axis=1) if names else np.zeros((1, 0), np.float32)
        self.bits = self.parents.view(np.int32)
        self.room = np.empty((2, self.total), np.int32)
        self.crossover = np.float32(population["crossover"])
        self.tables = tables(population["table"]) if names else None
        ranges = [population["ranges"][name] for name in names]
        self.scales = self._spread(np.float32(bounds[0]) for bounds in ranges)
        self.bounds = [
            (start, size, bounds, np.asarray(base[name], np.float32).reshape(-1))
            for start, size, bounds, name in zip(self._starts(), self.sizes, ranges, names)
            if any(bound is not None for bound in bounds[1:])
        ]

    def _starts(self):
        start = 0
        for size in self.sizes:
            yield start
            start += size

    def _spread(self, values):
        return np.concatenate([np.full(size, value, np.float32) for size, value in zip(self.sizes, values)] or [[]])

    def child(self, first, second, seed):
        stream = np.random.RandomState(seed)  # noqa: NPY002 (the stream that never changes)
        chosen, moved = [int(stream.randint(0, TABLE_SIZE)) for _ in range(2)]
        choice, noise = self.tables
        genes = self.scales * _window(noise, moved, self.total)
        if first == second:
            genes += self.parents[first]
        else:
            genes += self._crossed(first, second, _window(choice, chosen, self.total) < self.crossover)
        for start, size, bounds, base in self.bounds:
            genes[start : start + size] = _within(bounds, genes[start : start + size], base)
        return genes

    def _crossed(self, first, second, kept):
        """Genes of the first parent where they are kept, else of the second.

        Bit by bit: a choice for each number by itself is guessed wrongly half the time, and takes four times as long.
        """
        mask, found = self.room
        np.negative(kept.view(np.int8), out=mask, dtype=np.int32)
        np.bitwise_xor(self.bits[first], self.bits[second], out=found)
        found &= mask
        found ^= self.bits[second]
        return found.view(np.float32)

    def cut(self, vector):
        found = Chromosome()
        found.vector = vector
        for name, start, size, shape in zip(self.names, self._starts(), self.sizes, self.shapes):
            found[name] = vector[start : start + size].reshape(shape)
        return found


def _within(bounds, genes, base):
    _, low, high, reach = bounds
    if reach is not None:
        genes = np.clip(genes, base - np.float32(reach), base + np.float32(reach))
    if low is not None:
        genes = np.maximum(genes, np.float32(low))
    return genes if high is None else np.minimum(genes, np.float32(high))


def _window(table, start, size):
    start %= TABLE_SIZE
    if start + size <= TABLE_SIZE:
        return table[start : start + size]
    parts, left = [table[start:]], size - (TABLE_SIZE - start)
    while left > 0:
        parts.append(table[:left])
        left -= TABLE_SIZE
    return np.concatenate(parts)
