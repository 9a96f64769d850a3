"""What the paper's section 5 prints: pairs, inconsistencies and bugs by category and library; and what was covered."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ...core.call import ApiCall
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
#: Accepted inputs, over that many shapes, that make a function a tested one; and settings, where there is any to set.
ENOUGH_INPUTS, ENOUGH_SHAPES, ENOUGH_SETTINGS = 10, 3, 2


@dataclass
class ApiTally:
    """What came of one function.

    Args:
        tried: configurations; ``accepted`` those of which some input was answered.
        shapes: of accepted configurations; ``settings`` likewise, what is given besides arrays.
        settable: there is something to set besides arrays.
    """

    tried: int = 0
    accepted: int = 0
    inputs: int = 0
    shapes: set[str] = field(default_factory=set)
    settings: set[str] = field(default_factory=set)
    settable: bool = False

    @property
    def is_tested(self) -> bool:
        enough = self.inputs >= ENOUGH_INPUTS and len(self.shapes) >= ENOUGH_SHAPES
        return enough and (not self.settable or len(self.settings) >= ENOUGH_SETTINGS)


def is_raw(api: str) -> bool:
    """Whether it is one of the operations that a library's public functions are made of."""
    return ".raw_ops." in api


def settings_of(call: ApiCall) -> str:
    """What a call is given besides arrays, whatever these are called."""
    return re.sub(r'\{"\$array": "[^"]*"\}', '"array"', json.dumps(call.to_json(), sort_keys=True, default=str))


@dataclass
class EagleTally:
    """Counts of one run."""

    apis: dict[str, ApiTally] = field(default_factory=dict)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    inputs: Counter[tuple[str, str]] = field(default_factory=Counter)
    inconsistencies: Counter[tuple[str, str]] = field(default_factory=Counter)
    one_sided: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)

    def add_plain(self, api: str, shapes: str, accepted: int, settings: str = "", *, settable: bool = False) -> None:
        own = self.apis.setdefault(api, ApiTally(settable=settable))
        own.tried += 1
        own.accepted += accepted > 0
        own.inputs += accepted
        if accepted:
            own.shapes.add(shapes)
            own.settings.add(settings)

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

    def to_json(self, rules: Mapping[str, Equivalence], enumerated: Collection[str]) -> dict[str, Json]:
        """The tables; ``enumerated`` are the names of all functions that the libraries list."""
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

    def _coverage(self, enumerated: Collection[str]) -> dict[str, Json]:
        libraries = sorted({*map(library_of_name, enumerated), *map(library_of_name, self.apis)})
        found: dict[str, Json] = {}
        for library in libraries:
            listed = [api for api in enumerated if library_of_name(api) == library]
            own = {api: tally for api, tally in self.apis.items() if library_of_name(api) == library}
            share = sum(t.accepted for t in own.values()) / max(1, sum(t.tried for t in own.values()))
            raw = {api: tally for api, tally in own.items() if is_raw(api)}
            found[library] = {
                "enumerated": len(listed),
                **_counted(own),
                "accepted_share": round(share, 4),
                "raw": {"enumerated": sum(map(is_raw, listed)), **_counted(raw)},
            }
        return found

    def _is_tested(self, api: str) -> bool:
        return api in self.apis and self.apis[api].is_tested

    def _per_rule(self) -> dict[str, Json]:
        names = sorted({rule for rule, _ in self.pairs})
        return {
            name: {
                "apis": sum(rule == name for rule, _ in self.pairs),
                "inputs": sum(n for (rule, _), n in self.inputs.items() if rule == name),
                "inconsistent": sum(rule == name for rule, _ in self.inconsistencies),
                "tested": len(tested := [api for rule, api in self.pairs if rule == name and self._is_tested(api)]),
                "tested_raw": sum(map(is_raw, tested)),
            }
            for name in names
        }


def _counted(own: Mapping[str, ApiTally]) -> dict[str, int]:
    return {
        "tried": len(own),
        "with_valid_inputs": sum(tally.accepted > 0 for tally in own.values()),
        "tested": sum(tally.is_tested for tally in own.values()),
    }
