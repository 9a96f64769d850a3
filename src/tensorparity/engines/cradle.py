"""CRADLE: models across targets, judged by whole outputs and then by their layers.

In a campaign the models are the zoo's with calibrated weights, so that it trains nothing and needs no network; they
are gone through one by one, what is quick first, so that a budget can end it after any of them. ``compare`` is the same technique on one model of the user's.
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
#: Who judges whole models, unless the user chose somebody else.
_ORACLE = "parity"


class CradleEngine:
    """One case is one architecture of the zoo with weights and inputs of its own seed."""

    name = "cradle"
    #: A model is on its way while another is judged.
    ahead = 1

    def __init__(self, setup: Setup) -> None:
        self._seed = setup.seed
        self._asked = 0
        self._inconsistent: Counter[str] = Counter()

    def ask(self) -> Sequence[Ask]:
        names = list(ARCHITECTURES)
        case = self._case(names[self._asked % len(names)], self._asked)
        self._asked += 1
        return [Ask(case, oracles=(_ORACLE,))]

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
