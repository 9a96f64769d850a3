"""What the paper's section 5 prints: pairs, inconsistencies and bugs by category and library; and what was covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...core.jsontext import Json
from ...core.verdict import Judgement, Kind, Verdict
from ...generators.equivalences.base import Category, Equivalence, library_of_name

#: What the paper reports of five releases.
PAPER = {"pairs": 6861, "inconsistencies": 1212, "bugs": 25, "unknown_to_crash_oracle": 20, "no_counterpart": 15}
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
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    crashes: set[tuple[str, str]] = field(default_factory=set)
    undecided: Counter[str] = field(default_factory=Counter)

    def add_plain(self, api: str, shapes: str, accepted: int) -> None:
        own = self.apis.setdefault(api, ApiTally())
        own.tried += 1
        own.accepted += accepted > 0
        own.inputs += accepted
        if accepted:
            own.shapes.add(shapes)

    def add_pair(self, rule: Equivalence, api: str, rows: int, verdicts: tuple[Verdict, ...]) -> None:
        key = (rule.name, api)
        self.pairs[key] += 1
        self.inputs[key] += rows
        for verdict in verdicts:
            if verdict.judgement is Judgement.UNDECIDED:
                self.undecided[rule.name] += 1
            elif verdict.failed:
                self.inconsistencies[key] += 1
                if verdict.kind in (Kind.CRASH, Kind.ERROR):
                    self.crashes.add(key)
            elif " alone raises " in verdict.reason:
                self.refused[key] += 1

    def to_json(self, rules: Mapping[str, Equivalence], enumerated: Mapping[str, int]) -> dict[str, Json]:
        return {
            "pairs": len(self.pairs),
            "inputs": sum(self.inputs.values()),
            "inconsistencies": sum(self.inconsistencies.values()),
            "inconsistent": [list(key) for key in sorted(self.inconsistencies)],
            "table_2": self._by_category(rules),
            "one_sided": {f"{rule}|{api}": count for (rule, api), count in sorted(self.refused.items())},
            "crash_only": len(self.crashes),
            "coverage": self._coverage(enumerated),
            "per_rule": self._per_rule(),
            "undecided_by_rule": dict(self.undecided),
            "paper": dict(PAPER),
        }

    def _by_category(self, rules: Mapping[str, Equivalence]) -> dict[str, Json]:
        found: dict[str, dict[str, int]] = {}
        for category in Category:
            names = {name for name, rule in rules.items() if rule.category is category}
            bugs = Counter(library_of_name(api) for rule, api in self.inconsistencies if rule in names)
            found[category.value] = dict(bugs)
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
