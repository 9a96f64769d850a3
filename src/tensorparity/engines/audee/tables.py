"""What a run of Audee counts: the paper's tables 1 to 3 and figure 4 for the targets of today.

Different inputs on one network are one inconsistency, different weights are different ones (section 3.2): by network
mutation and by input search a network counts once, by weight search every individual counts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.engine import Result
from ...core.jsontext import Json
from ...generators.mutation.variants import Variant
from ...generators.search.bounds import CAUSES
from ...generators.search.genetic import INPUT
from ...oracles.audee_looking import ACCUSED, LABELS, NAN_LAYERS, TOP_RATE
from .searches import UNFINISHED, UNSEEN, SearchRun
from .seeds import SeedModel
from .settings import INCONSISTENCY, NET

#: How the targets take an invalid value: measures of the oracle ``invalid_value``.
REACTIONS = ("refuses", "raises-raw", "accepts", "dies", "hangs")
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass
class VariantFailures:
    """On which pairs a variant gives other labels, and on which targets NaN."""

    pairs: set[tuple[str, str]] = field(default_factory=set)
    nan: set[str] = field(default_factory=set)


class AudeeTally:
    """Counts variants and searches, model by model."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = tuple(targets)
        self._models: dict[str, dict[str, int]] = {}
        self._current = ""
        self._inconsistent: Counter[tuple[str, str, str]] = Counter()
        self._searches: Counter[tuple[str, str, str]] = Counter()
        self._nan_nets: Counter[tuple[str, str]] = Counter()
        self._nan_found: dict[tuple[str, str], list[tuple[int, float]]] = {}
        self._nan_searched: dict[tuple[str, str], Counter[str]] = {}
        self._endings: Counter[tuple[str, str]] = Counter()
        self._reactions: Counter[tuple[str, str]] = Counter()
        self._rates: dict[tuple[str, bool], list[float]] = {}
        self._accused: dict[str, list[list[float]]] = {}
        self._failed: dict[tuple[str, str, str], Counter[str]] = {}
        self.curves: list[Json] = []

    def begin(self, model: SeedModel) -> None:
        """From now on, variants are of this model."""
        self._current = model.name
        layers = len(model.graph.nodes)
        self._models.setdefault(model.name, {"layers": layers, "inputs": model.instances, "valid": 0, "invalid": 0})

    # Counting

    def count_variant(self, variant: Variant, result: Result) -> VariantFailures:
        """Count a valid variant; what failed of it."""
        own = self._models[self._current]
        own["valid"] += 1
        found = VariantFailures(nan=set(result.measures.get(NAN_LAYERS, {})))
        for name, (count, *_) in result.measures.get(LABELS, {}).items():
            if count:
                found.pairs.add(_pair(name))
                self._inconsistent[self._current, name, NET] += 1
        for name, (rate, *_) in result.measures.get(TOP_RATE, {}).items():
            self._rates.setdefault((self._current, _pair(name) in found.pairs), []).append(float(rate))
        for counts in result.measures.get(ACCUSED, {}).values():
            self._accused.setdefault(self._current, []).append([float(count) for count in counts])
        self._nan_nets.update((self._current, target) for target in found.nan)
        ended = ((target, status.value) for target, status in result.endings.items() if status is not None)
        self._endings.update(ended)
        return found

    def count_invalid(self, invalid: tuple[str, str, Json], result: Result) -> None:
        self._models[self._current]["invalid"] += 1
        for reaction in REACTIONS:
            self._reactions.update((target, reaction) for target in result.measures.get(reaction, {}))

    def count_individual(self, run: SearchRun, result: Result) -> None:
        """What became of an individual is the examiner's to say; the tables count what failed in the search."""

    def count_search(self, run: SearchRun) -> None:
        """Count a search that is over."""
        self.curves.append(run.curve())
        failed = self._failed.setdefault((run.model, run.goal, run.search.level), Counter())
        failed.update({"failed": run.failures, "judged": run.judged, "dropped": run.dropped, **run.outside})
        if run.goal == INCONSISTENCY:
            name = "|".join(run.targets)
            self._searches[run.model, name, run.search.level] += 1
            found = min(1, run.failures) if run.search.level == INPUT else run.failures
            self._inconsistent[run.model, name, run.search.level] += found
            return
        (target,) = run.targets
        self._nan_searched.setdefault((run.model, target), Counter())[run.variant] += 1
        if run.failed_at is not None:
            hit = (run.failed_at, run.failed_after or 0.0)
            self._nan_found.setdefault((run.model, target), []).append(hit)

    # What is printed

    def to_json(self) -> dict[str, Json]:
        return {
            "models": {name: dict(own) for name, own in self._models.items()},
            "table1": self._table1(),
            "table2": self._table2(),
            "table3": self._table3(),
            "figure4": self._figure4(),
            "individuals": self._individuals(),
            "reactions": self._table_of_reactions(),
            "endings": {f"{target} {status}": count for (target, status), count in sorted(self._endings.items())},
            "curves": list(self.curves),
        }

    def _table1(self) -> list[Json]:
        """Inconsistencies by model, pair and strategy; searches that were made, for the fraction that was run."""
        found: list[Json] = []
        for model, (a, b) in itertools.product(self._models, itertools.combinations(self._targets, 2)):
            name = f"{a}|{b}"
            counts = {
                level: self._inconsistent[model, name, level] for level in (NET, "input", "weight", "input+weight")
            }
            searches = {level: self._searches[model, name, level] for level in ("input", "weight", "input+weight")}
            found.append(
                {"model": model, "pair": f"{a} / {b}", "total": sum(counts.values()), **counts, "searches": searches}
            )
        return found

    def _table2(self) -> list[Json]:
        """What Algorithm 2 accuses in inconsistent networks, and what share of innocent layers CRADLE's rule does."""
        found: list[Json] = []
        for model, rows in self._accused.items():
            accused, red, wrongly, innocent = (float(sum(column)) for column in zip(*rows, strict=True))
            found.append(
                {
                    "model": model,
                    "networks": len(rows),
                    "layers": self._models[model]["layers"],
                    "accused": accused / len(rows),
                    "highlighted": red / len(rows),
                    "innocent": wrongly / innocent if innocent else None,
                }
            )
        return found

    def _table3(self) -> list[Json]:
        """Networks with NaN, the mean of all repeats, and the mean time until the first one."""
        found: list[Json] = []
        for model, target in itertools.product(self._models, self._targets):
            hits = self._nan_found.get((model, target), [])
            searched = self._nan_searched.get((model, target), Counter())
            repeats = max(searched.values(), default=1)
            found.append(
                {
                    "model": model,
                    "target": target,
                    "net": self._nan_nets[model, target],
                    "searched": len(searched),
                    "repeats": repeats,
                    "nan": len(hits) / repeats,
                    "evaluations": float(np.median([count for count, _ in hits])) if hits else None,
                    "seconds": float(np.mean([seconds for _, seconds in hits])) if hits else None,
                }
            )
        return found

    def _figure4(self) -> list[Json]:
        """The distribution of top-1 change rates, of inconsistent and of consistent networks apart."""
        found: list[Json] = []
        for (model, inconsistent), rates in sorted(self._rates.items()):
            quantiles = [float(value) for value in np.quantile(rates, _QUANTILES)]
            found.append({"model": model, "inconsistent": inconsistent, "cases": len(rates), "quantiles": quantiles})
        return found

    def _individuals(self) -> list[Json]:
        """What became of the individuals that failed: judged, dropped, or outside of what users have, by cause."""
        found: list[Json] = []
        for (model, goal, level), counts in self._failed.items():
            if any(counts.values()):
                own = {name: counts[name] for name in ("failed", "judged", "dropped")}
                outside = {cause: counts[cause] for cause in (*CAUSES, UNFINISHED, UNSEEN)}
                found.append({"model": model, "goal": goal, "level": level, **own, "outside": outside})
        return found

    def _table_of_reactions(self) -> list[Json]:
        return [
            {"target": target, **{reaction: self._reactions[target, reaction] for reaction in REACTIONS}}
            for target in self._targets
        ]


def _pair(name: str) -> tuple[str, str]:
    a, _, b = name.partition("|")
    return a, b
