"""The engine ``tiny``: a dense layer and a ReLU, or the layer of this package, on numbers that grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tensorparity.plugin import Ask, Case, GraphBuilder, Judgement, Result, Setup

_ROUND = 4
#: The case of a round that has the layer of this package, on numbers of one size.
_HALVE, _SIZE = 2, 8.0


class TinyEngine:
    """Four cases a round; the numbers of a round are twice as large as those of the last one that nobody failed."""

    name = "tiny"
    ahead = 0
    #: Others are refused with a usage error.
    settings: ClassVar[tuple[str, ...]] = ("scale",)

    def __init__(self, setup: Setup) -> None:
        self._seed = setup.seed
        self._scale = float(setup.settings.get("scale", 1.0))
        self._asked = self._failed = 0

    def ask(self) -> Sequence[Ask]:
        """The next round; by the oracle of this package at every other case."""
        cases = [self._case(self._asked + place) for place in range(_ROUND)]
        self._asked += _ROUND
        return [Ask(case, oracles=("nonnegative",) if place % 2 else ()) for place, case in enumerate(cases)]

    def tell(self, results: Sequence[Result]) -> None:
        failed = [any(v.judgement is Judgement.FAIL for v in result.verdicts) for result in results]
        self._failed += sum(failed)
        self._scale *= 1.0 if any(failed[:_HALVE] + failed[_HALVE + 1 :]) else 2.0

    def tables(self) -> Mapping[str, object]:
        return {"asked": self._asked, "failed": self._failed, "scale": self._scale}

    def _case(self, index: int) -> Case:
        rng = np.random.default_rng([self._seed, index])
        build = GraphBuilder(f"tiny{index}")
        if index % _ROUND == _HALVE:
            graph = build.build(build.add("TinyHalve", build.input("x", (3,)), name="halve"))
            return Case(graph, inputs=_inputs(rng, _SIZE), seed=index)
        dense = build.add("Dense", build.input("x", (3,)), name="dense", units=4)
        graph = build.build(build.add("ReLU", dense, name="relu"))
        weights = {
            "dense/kernel": rng.standard_normal((3, 4)).astype(np.float32),
            "dense/bias": rng.standard_normal(4).astype(np.float32),
        }
        return Case(graph, inputs=_inputs(rng, self._scale), weights=weights, seed=index)


def _inputs(rng: np.random.Generator, scale: float) -> dict[str, np.ndarray]:
    return {"x": (scale * rng.standard_normal((2, 3))).astype(np.float32)}
