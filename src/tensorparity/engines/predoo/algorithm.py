"""Algorithm 1 of the paper, with many inputs to a call.

The corpus is a queue. What is picked is not put back; what raises the largest error so far is added at the end; an
empty corpus is refilled with new seeds. Because additions go to the end, the inputs that stand in the queue can be
evaluated together, and the order of events is that of the paper's loop, input by input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.errors import DataError
from ...core.jsontext import Json
from ...generators.inputs.operators import inside
from ...operators.functions.spec import Operator, Sizes
from .batch import InputBatch, shared_arrays

#: Section 3.2: the constant that is added to all elements comes from [0, theta].
THETAS = (1e-4, 1e-6, 1e-8)
#: Section 4.1.
GROUPS = 20
#: How often parameters are drawn until an operator can be applied several times with them.
_DRAWS = 100

#: How the error of an input is measured for guidance: not at all, by its largest element, by the sum of all.
STRATEGIES = ("random", "linf", "l1")
MODES = ("input_mode", "op_mode", "default")


def seeds_for(total: int) -> int:
    """The size of a corpus, which the paper leaves open: the inputs of one group, 1000 of 20,000.

    What is added is picked after the seeds, so a corpus as large as all inputs would never be guided.
    """
    return max(1, total // GROUPS)


class PaperSearch:
    """Proposes inputs by Algorithm 1; ask for batches, tell the error of every input.

    Args:
        strategy: ``random`` adds nothing to the corpus: each input is independent of the others.
        total: tn, after which the search ends.
        size: seeds of a corpus.
        times: how often in a row the operator is applied.
        params: the other parameters; by default they are drawn anew for every candidate.
        given: those of them that are not drawn.
    """

    def __init__(
        self,
        operator: Operator,
        shape: Sizes,
        strategy: str,
        total: int,
        rng: np.random.Generator,
        *,
        size: int,
        times: int = 1,
        params: Mapping[str, Json] | None = None,
        given: Mapping[str, Json] | None = None,
    ) -> None:
        self._operator, self._shape, self._strategy = operator, shape, strategy
        self._total, self._rng, self._size, self._fixed = total, rng, size, params
        self._times: dict[str, Json] = {"times": times} if times > 1 else {}
        self._repeats, self._given = times, dict(given or {})
        self._corpus: deque[dict[str, Array]] = deque()
        self._shared: dict[str, dict[str, Array]] = {}
        self._asked: list[dict[str, Array]] = []
        self.proposed = 0
        self.refills = 0
        self.best = 0.0

    @property
    def done(self) -> bool:
        return self.proposed >= self._total

    def ask(self, most: int) -> list[InputBatch]:
        """The next inputs of the queue, at most so many, grouped by their parameters."""
        rows: list[dict[str, Array]] = []
        params: list[dict[str, Json]] = []
        whole = max(len(THETAS), most - most % len(THETAS))  # a candidate is not cut at the end of a batch
        most = min(whole, self._total - self.proposed)
        while len(rows) < most:
            if not self._corpus:
                if rows and self._strategy != "random":
                    break  # what these inputs add comes before new seeds; at random nothing is added
                self._refill()
            candidate = self._corpus.popleft()
            chosen = self._params()
            for mutated in self._mutated(candidate)[: most - len(rows)]:
                rows.append(mutated)
                params.append(chosen)
        self.proposed += len(rows)
        self._asked = rows
        return self._grouped(rows, params)

    def tell(self, errors: Array) -> None:
        """The guiding error of every input that was asked, in order; NaN for one that raised an exception."""
        for row, error in zip(self._asked, errors.tolist(), strict=True):
            if error > self.best:
                self.best = error
                if self._strategy != "random":
                    self._corpus.append(row)

    def _refill(self) -> None:
        """Seeds from the standard normal, in the shape given."""
        self.refills += 1
        sizes = self._operator.sizes({}, self._shape)
        stacked = [operand for operand in self._operator.operands if operand.stacked]
        drawn = {
            operand.name: inside(self._rng.standard_normal((self._size, *sizes[operand.name])), operand)
            for operand in stacked
        }
        self._corpus.extend({name: array[row] for name, array in drawn.items()} for row in range(self._size))

    def _mutated(self, candidate: dict[str, Array]) -> list[dict[str, Array]]:
        """One input per theta: the candidate, and one constant on all its elements."""
        deltas = [self._rng.uniform(0.0, theta) for theta in THETAS]
        return [{name: array + delta for name, array in candidate.items()} for delta in deltas]

    def _params(self) -> dict[str, Json]:
        """Drawn for every candidate, again where the operator cannot be applied to its own output with these."""
        if self._fixed is not None:
            return {**self._fixed, **self._times}
        for _ in range(_DRAWS):
            drawn = {item.name: item.valid[self._rng.integers(len(item.valid))] for item in self._operator.parameters}
            fitting = self._operator.repeated({**drawn, **self._given}, self._shape, self._repeats)
            if not isinstance(fitting, str):
                return {**self._operator.significant(fitting), **self._times}
        raise DataError(f"{self._operator.name} cannot be applied {self._repeats} times: {fitting}")

    def _grouped(self, rows: Sequence[dict[str, Array]], params: Sequence[dict[str, Json]]) -> list[InputBatch]:
        groups: dict[str, list[int]] = {}
        for place, chosen in enumerate(params):
            groups.setdefault(repr(sorted(chosen.items())), []).append(place)
        return [self._batch(rows, params[places[0]], key, places) for key, places in groups.items()]

    def _batch(
        self, rows: Sequence[dict[str, Array]], params: dict[str, Json], key: str, places: list[int]
    ) -> InputBatch:
        stacked = {name: np.stack([rows[place][name] for place in places]) for name in rows[places[0]]}
        if key not in self._shared:
            sizes = self._operator.sizes(params, self._shape)
            rng = np.random.default_rng([len(key), *key.encode()])  # the same kernel for equal parameters
            self._shared[key] = dict(shared_arrays(self._operator, sizes, rng, "float64"))
        arrays = {operand.name: {**stacked, **self._shared[key]}[operand.name] for operand in self._operator.operands}
        return InputBatch(params, arrays, tuple(places))


def grouped_largest(errors: Array, groups: int = GROUPS) -> list[float]:
    """le_g, the largest error of each group in chronological order (section 4.1); NaN counts for nothing."""
    parts = np.array_split(np.asarray(errors, dtype=np.float64), groups)
    return [float(np.nanmax(part)) if np.isfinite(part).any() else 0.0 for part in parts]
