"""A whole model file, forward: exporters apart, else the targets in pairs."""

from __future__ import annotations

from ..core.oracle import Seen
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from .base import Asking
from .by_pairs import by_pairs
from .case_oracle import CaseOracle, Outcomes
from .measure.exporters import outputs_apart
from .measure.fusion import AMPLIFIED, relative_difference
from .statements import BY_VOTE, Statement, convicts
from .subjects import exporters_of


class FileOracle(CaseOracle):
    """Runtimes that agree with each other on the exported file, and not with the original, accuse the exporter."""

    name = "file"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        yield from ()
        apart = outputs_apart(outcomes, exporters_of(seen), relative_difference, AMPLIFIED, seen.traits)
        if apart is None:
            return by_pairs(outcomes)
        return convicts(Suspicion(Kind.INCONSISTENCY, apart.diagnosis(AMPLIFIED), seen.case, tuple(outcomes)), BY_VOTE)
