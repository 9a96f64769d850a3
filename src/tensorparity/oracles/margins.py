"""How near each input of a classifier is to another label: what a search for another label begins with."""

from __future__ import annotations

from typing import ClassVar

from ..core.case import ApiCall
from ..core.graph import LayerGraph
from ..core.oracle import Judged, Seen, Setup
from ..core.verdict import Judgement, Verdict
from .measure.individuals import outputs_looked_at, outputs_of_file, row_margins

#: The oracle's name, and its measure: by target, one number per row.
MARGINS = "margins"


class Margins:
    """Measures, and decides nothing."""

    settings: ClassVar[tuple[str, ...]] = ()

    only_measures = True

    name = MARGINS

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        subject = seen.case.subject
        if isinstance(subject, ApiCall):
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, "only models have labels"),))
        names = outputs_looked_at(subject) if isinstance(subject, LayerGraph) else outputs_of_file(seen.own)
        done = {target: outcome.outputs for target, outcome in seen.own.items() if outcome.completed and names}
        found = {}
        for target, outputs in done.items():
            margins = row_margins(outputs[names[0]], outputs[names[1]])  # type: ignore[index]
            if margins is not None:
                found[target] = margins.tolist()
        return Judged((Verdict(Judgement.PASS, seen.targets, "measured"),), measures={MARGINS: found} if found else {})
