"""A search under way: which fitness of which targets it reads, what has failed in it, and whether it is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...core.case import Case
from ...core.engine import Ask, Result
from ...core.jsontext import Json
from ...generators.search.bounds import why_outside
from ...generators.search.genetic import Bounds, Search
from ...oracles.elapsed import ELAPSED
from ...oracles.measure.individuals import DISTANCE, NAN, NO_DISTANCE, OTHER_LABEL, RANGE, pair_name
from ...oracles.population import POPULATION
from .settings import INCONSISTENCY

#: Who judges an individual that failed, on one row, with all of its numbers.
_JUDGE = "parity"
#: Of a generation, how many of those that failed are looked at at least: making their numbers again takes time.
_LOOKED_AT = 8
#: Generations over which those that are judged are spread: what fails for one reason fails in all of a generation.
_SPREAD = 3
#: What becomes of an individual that failed and whose numbers nobody looked at.
UNSEEN = "not looked at"
#: A generation that a target did not complete, with nobody within bounds.
UNFINISHED = "generation not completed"


@dataclass
class SearchRun:
    """One search of one variant for one pair of targets, or for NaN on one.

    Args:
        model: the seed model's name; ``variant`` the network's.
        generations: it ends after so many.
        seconds: it ends once its targets have worked so long on it, the slower one counting; None without a limit.
        spent: how long they have worked; measured where there is a limit, and of searches for NaN (Table 3).
        failed_after: how long they had worked when the first individual failed.
        first_failure: it ends with the first failure.
        bounds: what fails within them is judged, the rest is counted by what lies outside.
        kept: how many are judged at most.
        failures: how many individuals failed so far.
        outside: of them, how many lie out of bounds, by what of them does.
        dropped: those within bounds that are not judged.
        waiting: individuals that failed and have not been judged yet.
    """

    model: str
    variant: str
    goal: str
    targets: tuple[str, ...]
    search: Search
    generations: int
    first_failure: bool = False
    seconds: float | None = None
    bounds: Bounds = field(default_factory=Bounds)
    kept: int = 3
    spent: float = 0.0
    failures: int = 0
    failed_at: int | None = None
    failed_after: float | None = None
    broken: bool = False
    judged: int = 0
    dropped: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    waiting: list[Case] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        ended = self.broken or self.search.generation >= self.generations
        late = self.seconds is not None and self.spent >= self.seconds
        return ended or late or (self.first_failure and self.failures > 0)

    def ask(self) -> Ask:
        """The next generation; its time is told with its result, so that the search ends alike when it is resumed."""
        oracles = (POPULATION,) if self.seconds is None and self.goal == INCONSISTENCY else (POPULATION, ELAPSED)
        return Ask(self.search.next_case(), self.targets, oracles, counted=False)

    def individuals(self) -> list[Ask]:
        """What failed, as cases of their own."""
        asks = [Ask(case, oracles=(_JUDGE,), counted=False) for case in self.waiting]
        self.waiting = []
        return asks

    def tell(self, result: Result) -> None:
        """Select by the fitness of a generation; where a target did not complete it, the search is over."""
        fitness, failed = self._fitness(result)
        self.spent += max((seconds for (seconds,) in result.measures.get(ELAPSED, {}).values()), default=0.0)
        if fitness is None:
            self.broken = True
            self._keep_any()
            return
        self._keep(failed)
        before = self.search.evaluations
        self.search.tell(fitness)
        if failed and self.failed_at is None:
            self.failed_at = before + failed[0] + 1
            self.failed_after = self.spent
        self.failures += len(failed)

    def _fitness(self, result: Result) -> tuple[Sequence[float] | None, list[int]]:
        if self.goal == INCONSISTENCY:
            pair = pair_name(*self.targets)
            distances = result.measures.get(DISTANCE, {}).get(pair)
            labels = result.measures.get(OTHER_LABEL, {}).get(pair, ())
            return distances, [row for row, other in enumerate(labels) if other]
        (target,) = self.targets
        nan = result.measures.get(NAN, {}).get(target, ())
        return result.measures.get(RANGE, {}).get(target), [row for row, has in enumerate(nan) if has]

    def _keep(self, failed: Sequence[int]) -> None:
        """Have some of a generation judged, if they lie within bounds; count the others."""
        most = -(-self.kept // _SPREAD)
        looked = max(most, _LOOKED_AT)
        taken = 0
        for row in failed[:looked]:
            case, cause = self._looked_at(row)
            if cause:
                self.outside[cause] += 1
            elif taken < most and self.judged < self.kept:
                self.waiting.append(case)
                self.judged, taken = self.judged + 1, taken + 1
            else:
                self.dropped += 1
        self.outside[UNSEEN] += len(failed[looked:])

    def _keep_any(self) -> None:
        """Of a generation that was not completed, have the first judged that lies within bounds."""
        for row in range(min(_LOOKED_AT, len(self.search.evolution.children))):
            case, cause = self._looked_at(row)
            if not cause:
                self.waiting.append(case)
                self.judged += 1
                return
        self.outside[UNFINISHED] += 1

    def _looked_at(self, row: int) -> tuple[Case, str]:
        """One of the last generation, and why nobody is to blame for what it shows, if that is so."""
        case = self.search.individual(row)
        return case, why_outside(case, self.search.model.weights, self.bounds)

    def curve(self) -> Json:
        """What a report draws: the best fitness by the number of evaluations."""
        search = self.search
        return {
            "model": self.model,
            "variant": self.variant,
            "level": search.level,
            "goal": self.goal,
            "targets": list(self.targets),
            "strategy": search.settings.strategy,
            "failures": self.failures,
            "failed_at": self.failed_at,
            "judged": self.judged,
            "dropped": self.dropped,
            "outside": {cause: count for cause, count in self.outside.items() if count},
            "curve": [[count, value if value > NO_DISTANCE else 0.0] for count, value in search.points],
        }
