"""What an engine promises, and the table of those that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..core.case import Case
from ..core.registry import Registry
from ..core.verdict import Verdict


class Engine(Protocol):
    """Proposes cases in rounds of fixed size.

    Round k depends only on the seed and on the verdicts of earlier rounds, told in case order. An
    engine keeps no clock, starts no process and draws only from generators made of its seed.
    """

    name: str
    round_size: int

    def propose(self, round_index: int) -> Sequence[Case]:
        """The cases of a round, always ``round_size`` of them."""
        ...

    def learn(self, round_index: int, verdicts: Sequence[Sequence[Verdict]]) -> None:
        """The verdicts of a round, one sequence per case; time-outs and flaky outcomes are left out."""
        ...


class EngineFactory(Protocol):
    def __call__(self, seed: int) -> Engine: ...


ENGINES: Registry[EngineFactory] = Registry(
    "engine",
    {
        "cradle": "tensorparity.engines.cradle:CradleEngine",
        "muffin": "tensorparity.engines.muffin:MuffinEngine",
        "predoo": "tensorparity.engines.predoo.turns:Turns",
    },
)
