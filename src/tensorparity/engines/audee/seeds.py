"""Seed models: what is mutated, with its weights and the inputs that it is tried on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Arrays
from ...core.graph import LayerGraph
from ...zoo.entries import ARCHITECTURES
from ...zoo.weights import calibrated_weights, sample_inputs

#: In a hunt, which trains nothing: inputs that are drawn, and variants of every architecture.
_INSTANCES = 8
#: Architectures whose variants take seconds to make and minutes to compile come last.
_SALT = 0xA0DEE


@dataclass(frozen=True)
class SeedModel:
    """A model that is mutated.

    Args:
        inputs: all instances there are, stacked.
        classifies: its answers are classes, so that Definition 2 has something to say.
    """

    name: str
    graph: LayerGraph
    weights: Arrays
    inputs: Arrays

    @property
    def instances(self) -> int:
        return min((len(array) for array in self.inputs.values()), default=0)

    def at_most(self, count: int) -> SeedModel:
        return replace(self, inputs={name: array[:count] for name, array in self.inputs.items()})


def zoo_seeds(seed: int) -> Iterator[SeedModel]:
    """The architectures of the zoo with calibrated weights, what is quick first, and again with other weights."""
    names = list(ARCHITECTURES)
    index = 0
    while True:
        graph = ARCHITECTURES[names[index % len(names)]]()
        rng = np.random.default_rng([seed, _SALT, index])
        inputs = sample_inputs(graph, rng, _INSTANCES)
        weights = calibrated_weights(graph, int(rng.integers(2**31)))
        yield SeedModel(names[index % len(names)], graph, weights, inputs)
        index += 1
