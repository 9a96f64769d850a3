"""What the paper's section 5 prints: pairs, inconsistencies and bugs by category and library; and what was covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...core.jsontext import Json
from ...core.verdict import Judgement, Verdict
from ...generators.equivalences.base import Category, Equivalence, library_of_name

#: What the paper reports of five releases; of one release by library; and minutes for a pair with 400 inputs.
PAPER: dict[str, Json] = {
    "pairs": 6861,
    "inconsistencies": 1212,
    "bugs": 25,
    "seen_by_crash_oracle": 5,
    "no_counterpart": 15,
    "pairs_per_release": {"tensorflow": 1939, "torch": 522},
    "model_settings_per_release": {"tensorflow": 800},
    "minutes_per_pair": {"tensorflow": 33, "torch": 26},
}
#: Accepted inputs, over that many shapes, that make a function a tested one.
ENOUGH_INPUTS, ENOUGH_SHAPES = 10, 3


@dataclass
class ApiTally:
    """What came of one function.

    Args:
        tried: configurations; ``accepted`` those of which some input was answered.
        shapes: of accepted configurations.
    """

    tried: int = 0
    accepted: int = 0
    inputs: int = 0
    shapes: set[str] = field(default_factory=set)

    @property
    def is_tested(self) -> bool:
        return self.inputs >= ENOUGH_INPUTS and len(self.shapes) >= ENOUGH_SHAPES


@dataclass
class EagleTally:
    """Counts of one run."""

    apis: dict[str, ApiTally] = field(default_factory=dict)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    inputs: Counter[tuple[str, str]] = field(default_factory=Counter)
    inconsistencies: Counter[tuple[str, str]] = field(default_factory=Counter)
    one_sided: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)

    def add_plain(self, api: str, shapes: str, accepted: int) -> None:
        own = self.apis.setdefault(api, ApiTally())
        own.tried += 1
        own.accepted += accepted > 0
        own.inputs += accepted
        if accepted:
            own.shapes.add(shapes)

    def add_pair(
        self, rule: Equivalence, api: str, rows: int, verdicts: tuple[Verdict, ...], one_sided: int = 0
    ) -> None:
        """Count a case of a rule; ``one_sided`` of its inputs were answered by one side alone."""
        key = (rule.name, api)
        self.pairs[key] += 1
        self.inputs[key] += rows
        failed = any(verdict.failed for verdict in verdicts)
        if failed:
            self.inconsistencies[key] += 1
        elif one_sided:
            self.one_sided[key] += one_sided
        self.undecided[rule.name] += any(verdict.judgement is Judgement.UNDECIDED for verdict in verdicts)

    @property
    def inconsistent_apis(self) -> set[str]:
        return {api for (_, api), count in self.inconsistencies.items() if count}

    def to_json(self, rules: Mapping[str, Equivalence], enumerated: Mapping[str, int]) -> dict[str, Json]:
        return {
            "pairs": len(self.pairs),
            "inputs": sum(self.inputs.values()),
            "inconsistencies": sum(self.inconsistencies.values()),
            "inconsistent": [list(key) for key in sorted(self.inconsistencies)],
            "paired": sorted({api for _, api in self.pairs}),
            "table_2": self._by_category(rules),
            "one_sided": {f"{rule}|{api}": count for (rule, api), count in sorted(self.one_sided.items())},
            "table_3": self._by_library(),
            "coverage": self._coverage(enumerated),
            "per_rule": self._per_rule(),
            "undecided_by_rule": {rule: count for rule, count in self.undecided.items() if count},
            "paper": dict(PAPER),
        }

    def _by_category(self, rules: Mapping[str, Equivalence]) -> dict[str, Json]:
        found: dict[str, dict[str, int]] = {}
        for category in Category:
            names = {name for name, rule in rules.items() if rule.category is category}
            bugs = Counter(
                library_of_name(api) for (rule, api), n in self.inconsistencies.items() if n and rule in names
            )
            found[category.value] = dict(bugs)
        return found

    def _by_library(self) -> dict[str, Json]:
        """Pairs, and inputs of each of them."""
        libraries = sorted({library_of_name(api) for _, api in self.pairs})
        found: dict[str, Json] = {}
        for library in libraries:
            own = [key for key in self.pairs if library_of_name(key[1]) == library]
            found[library] = {
                "pairs": len(own),
                "inputs_per_pair": round(sum(self.inputs[key] for key in own) / len(own), 1),
            }
        return found

    def _coverage(self, enumerated: Mapping[str, int]) -> dict[str, Json]:
        libraries = sorted({*enumerated, *map(library_of_name, self.apis)})
        return {
            library: {
                "enumerated": enumerated.get(library, 0),
                "tried": len(own := [t for api, t in self.apis.items() if library_of_name(api) == library]),
                "with_valid_inputs": sum(t.accepted > 0 for t in own),
                "tested": sum(t.is_tested for t in own),
                "accepted_share": round(sum(t.accepted for t in own) / max(1, sum(t.tried for t in own)), 4),
            }
            for library in libraries
        }

    def _per_rule(self) -> dict[str, Json]:
        names = sorted({rule for rule, _ in self.pairs})
        return {
            name: {
                "apis": sum(rule == name for rule, _ in self.pairs),
                "inputs": sum(n for (rule, _), n in self.inputs.items() if rule == name),
                "inconsistent": sum(rule == name for rule, _ in self.inconsistencies),
            }
            for name in names
        }
