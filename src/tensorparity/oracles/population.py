"""A generation of a search: measured, not judged. What fails in it is judged as a case of its own, on one row."""

from __future__ import annotations

from typing import ClassVar

from ..core.case import ApiCall
from ..core.graph import LayerGraph
from ..core.oracle import Judged, Seen, Setup
from ..core.rows import row_count
from ..core.verdict import Judgement, Verdict
from .failures import in_words
from .measure.individuals import measure_rows, outputs_looked_at, outputs_of_file

#: The oracle's name.
POPULATION = "population"


class PopulationOracle:
    """Gives every row's labels, distances and ranges to whoever searches."""

    settings: ClassVar[tuple[str, ...]] = ()

    only_measures = True

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        subject, population = seen.case.subject, seen.case.procedure.population
        if isinstance(subject, ApiCall):
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, "only models have individuals"),))
        rows = len(population) if population else row_count(seen.case)
        names = outputs_looked_at(subject) if isinstance(subject, LayerGraph) else outputs_of_file(seen.own)
        measures = measure_rows(names, seen.own, rows) if names else {}
        left = [in_words(target, outcome) for target, outcome in seen.own.items() if not outcome.completed]
        if left:
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, left[0]),), measures=measures)
        return Judged((Verdict(Judgement.PASS, seen.targets, "measured"),), measures=measures)
