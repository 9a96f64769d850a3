"""CRADLE: models across targets, judged by whole outputs and then by their layers.

In a campaign the models are the zoo's with calibrated weights, so that it trains nothing and needs no network; a round
is the whole zoo, what is quick first. ``compare`` is the same technique on one model of the user's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..core.case import Case
from ..core.engine import Ask, Result
from ..core.jsontext import Json
from ..core.oracle import Setup
from ..zoo.entries import ARCHITECTURES
from ..zoo.weights import calibrated, sample_inputs

_INSTANCES = 8


class CradleEngine:
    """One case is one architecture of the zoo with weights and inputs of its own seed."""

    name = "cradle"
    ahead = 0

    def __init__(self, setup: Setup) -> None:
        self._seed = setup.seed
        self._asked = 0
        self._inconsistent: Counter[str] = Counter()

    def ask(self) -> Sequence[Ask]:
        first = self._asked
        self._asked += len(ARCHITECTURES)
        return [Ask(self._case(name, first + place)) for place, name in enumerate(ARCHITECTURES)]

    def tell(self, results: Sequence[Result]) -> None:
        """The zoo is gone through in order, whatever was found; inconsistent pairs are counted."""
        for result in results:
            self._inconsistent.update("|".join(verdict.targets) for verdict in result.verdicts if verdict.failed)

    def tables(self) -> Mapping[str, Json]:
        """Table II: by pair of targets, how many models are inconsistent."""
        return {"inconsistencies": dict(self._inconsistent)} if self._inconsistent else {}

    def _case(self, name: str, index: int) -> Case:
        graph = ARCHITECTURES[name]()
        rng = np.random.default_rng([self._seed, 0xC7AD1E, index])
        inputs = sample_inputs(graph, rng, _INSTANCES)
        seed = int(rng.integers(2**31))
        return Case(graph, inputs=inputs, weights=calibrated(graph, seed), seed=seed)
