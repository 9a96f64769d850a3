"""Muffin in a campaign: generated networks, one training step each. ``fuzz`` is the same engine alone."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.case import Case
from ..core.errors import UsageError
from ..core.verdict import Verdict
from ..generators.networks.networks import Network, NetworkGenerator, NetworkSettings
from ..generators.networks.palettes import Samples
from ..zoo.datasets import DATASETS

#: The zoo's name of each of the paper's data sets that can be had without a network.
_IN_THE_ZOO = {
    "mnist": "mnist",
    "fashion-mnist": "fashion-mnist",
    "cifar10": "cifar10",
    "sine-wave": "sine",
    "stock-price": "google-price",
}


class MuffinEngine:
    """A round is a handful of networks; what they are depends on the seed and on those before them.

    Data sets that are asked for by name give real samples where they can be had: by default networks do not depend on
    what else is installed.
    """

    name = "muffin"
    round_size = 8

    def __init__(self, seed: int, settings: NetworkSettings | None = None) -> None:
        samples, self.samples = _samples_of(settings.data if settings else ())
        self.generator = NetworkGenerator(seed, settings, samples)

    def propose(self, round_index: int) -> Sequence[Case]:
        return [network.case for network in self.networks()]

    def networks(self) -> list[Network]:
        """The networks of the next round, with what they were made of."""
        return [self.generator.next() for _ in range(self.round_size)]

    def learn(self, round_index: int, verdicts: Sequence[Sequence[Verdict]]) -> None:
        """Coverage alone steers; a fitness of verdicts would have it revisit what is known to be wrong."""


def _samples_of(names: Sequence[str]) -> tuple[dict[str, Samples], dict[str, str]]:
    """The samples of these data sets, and in words where they are from, or why there are none."""
    found: dict[str, Samples] = {}
    said: dict[str, str] = {}
    for name in names:
        source = DATASETS.get(_IN_THE_ZOO.get(name, ""))
        if source is None:
            said[name] = "by shape alone"
            continue
        try:
            part = source.load().validation
        except UsageError as error:
            said[name] = f"by shape alone: {error}"
            continue
        found[name] = Samples(next(iter(part.inputs.values())), part.labels)
        said[name] = source.origin
    return found, said
