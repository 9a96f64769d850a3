"""Muffin in a campaign: generated networks, one training step each. ``fuzz`` is the same engine alone."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.case import Case
from ..core.verdict import Verdict
from ..generators.networks.networks import Network, NetworkGenerator, NetworkSettings


class MuffinEngine:
    """A round is a handful of networks; what they are depends on the seed and on those before them."""

    name = "muffin"
    round_size = 8

    def __init__(self, seed: int, settings: NetworkSettings | None = None) -> None:
        self.generator = NetworkGenerator(seed, settings)

    def propose(self, round_index: int) -> Sequence[Case]:
        return [network.case for network in self.networks()]

    def networks(self) -> list[Network]:
        """The networks of the next round, with what they were made of."""
        return [self.generator.next() for _ in range(self.round_size)]

    def learn(self, round_index: int, verdicts: Sequence[Sequence[Verdict]]) -> None:
        """Coverage alone steers; a fitness of verdicts would have it revisit what is known to be wrong."""
