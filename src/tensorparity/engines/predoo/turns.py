"""Predoo in a campaign: all operators in turn, each time with inputs from another place, or near the worst so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.verdict import Verdict
from ...generators.inputs.operators import fit_to_operand
from ...operators.functions.catalogue import OPERATORS
from ...operators.functions.spec import DTYPES, Operator
from .batch import InputBatch
from .guided import MIXED, GuidedSearch
from .specials import special_batch

_ROWS = 64
#: Half of all cases are in float32, where most of the world computes.
_TURNS = ("float32", "float16", "float32", "bfloat16", "float32", "float64")
#: Those of the search, and NaN with infinities.
_SOURCES = len(MIXED) + 1


class Turns:
    """All operators in turn, without end.

    One case is one operator on 64 stacked inputs in one dtype; NaN and infinities come in cases of their own.
    """

    name = "predoo"
    round_size = 16

    def __init__(self, seed: int) -> None:
        self._seed = seed
        order = np.random.default_rng([seed, 0x9EED00]).permutation(OPERATORS.names())
        self._names = [str(name) for name in order]
        self._asked: list[tuple[str, Case]] = []
        self._worst: dict[str, tuple[float, Arrays]] = {}

    def propose(self, round_index: int) -> Sequence[Case]:
        first = round_index * self.round_size
        self._asked = [self._one(first + position) for position in range(self.round_size)]
        return [case for _, case in self._asked]

    def learn(self, round_index: int, verdicts: Sequence[Sequence[Verdict]]) -> None:
        """Remember the inputs of each operator that came nearest to being wrong."""
        for (key, case), said in zip(self._asked, verdicts, strict=False):
            values = [verdict.measure.value for verdict in said if verdict.measure]
            if _finite(case) and values and max(values) > self._worst.get(key, (0.0, {}))[0]:
                self._worst[key] = (max(values), case.inputs)

    def _one(self, index: int) -> tuple[str, Case]:
        lap, position = divmod(index, len(self._names))
        operator = OPERATORS.get(self._names[position])
        dtypes = [dtype for dtype in _TURNS if dtype in operator.dtypes] or list(DTYPES)
        # Sources and dtypes take turns of different lengths, so that in time all of them meet.
        dtype = dtypes[(lap + lap // _SOURCES + position) % len(dtypes)]
        rng = np.random.default_rng([self._seed, 0x9EED00, index])
        key = f"{operator.name}/{dtype}"
        return key, self._case(operator, dtype, lap + position, rng, key)

    def _case(self, operator: Operator, dtype: str, turn: int, rng: np.random.Generator, key: str) -> Case:
        params = {item.name: item.valid[rng.integers(len(item.valid))] for item in operator.parameters}
        small = [shape for shape in operator.shapes if int(np.prod(shape)) <= 2352] or list(operator.shapes)
        shape = small[rng.integers(len(small))]
        if turn % _SOURCES == len(MIXED):
            special = special_batch(operator, dtype, shape, operator.significant(params), rng, _ROWS // 2)
            return special.case(operator, dtype, seed=int(rng.integers(2**31)))
        source = MIXED[turn % _SOURCES]
        search = GuidedSearch(operator, dtype, shape, operator.significant(params), rng, source=source)
        batch = search.ask(_ROWS)
        return self._beside(operator, dtype, batch, key, rng).case(operator, dtype, seed=int(rng.integers(2**31)))

    def _beside(
        self, operator: Operator, dtype: str, batch: InputBatch, key: str, rng: np.random.Generator
    ) -> InputBatch:
        """A quarter of the inputs are those that did worst, a little moved, where the shapes agree."""
        known = self._worst.get(key)
        if known is None or any(known[1][name].shape != array.shape for name, array in batch.arrays.items()):
            return batch
        arrays = dict(batch.arrays)
        for operand in operator.operands:
            if operand.stacked:
                old = known[1][operand.name].astype(np.float64)
                moved = old * (1 + rng.integers(-4, 5, old.shape) * 2.0**-10)
                moved = fit_to_operand(moved, operand, dtype, middle=operator.accumulates)
                arrays[operand.name] = np.concatenate([moved[: _ROWS // 4], arrays[operand.name][_ROWS // 4 :]])
        return InputBatch(batch.params, arrays, batch.places)


def _finite(case: Case) -> bool:
    return all(np.isfinite(array.astype(np.float64)).all() for array in case.inputs.values())
