"""CRADLE in a campaign: the zoo's models with calibrated weights, across the targets.

``compare`` is the same technique on one model of the user's. Here the models are seeded, so that a
hunt trains nothing and needs no network. A round is the whole zoo, what is quick first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.case import Case
from ..core.verdict import Verdict
from ..zoo.entries import ARCHITECTURES
from ..zoo.weights import calibrated, sample_inputs

_INSTANCES = 8


class CradleEngine:
    """One case is one architecture of the zoo with weights and inputs of its own seed."""

    name = "cradle"
    round_size = len(ARCHITECTURES)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def propose(self, round_index: int) -> Sequence[Case]:
        first = round_index * self.round_size
        return [self._case(name, first + position) for position, name in enumerate(ARCHITECTURES)]

    def learn(self, round_index: int, verdicts: Sequence[Sequence[Verdict]]) -> None:
        """The zoo is gone through in order, whatever was found."""

    def _case(self, name: str, index: int) -> Case:
        graph = ARCHITECTURES[name]()
        rng = np.random.default_rng([self._seed, 0xC7AD1E, index])
        inputs = sample_inputs(graph, rng, _INSTANCES)
        seed = int(rng.integers(2**31))
        return Case(graph, inputs=inputs, weights=calibrated(graph, seed), seed=seed)
