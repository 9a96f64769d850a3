"""One call of a public function, against its reference."""

from __future__ import annotations

from ..core.oracle import Seen
from .base import Asking
from .by_pairs import by_pairs
from .by_reference import by_reference
from .case_oracle import CaseOracle, Outcomes
from .references import references
from .said import Said


class CallOracle(CaseOracle):
    """Where the catalogue has no reference, the targets are held against each other."""

    name = "call"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Said]:
        yield from ()
        truth = references(seen.case)
        return by_reference(seen, outcomes, truth) if truth else by_pairs(outcomes)
