"""What ``[engine.eagle]`` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

from ...core.errors import UsageError
from ...core.jsontext import Json
from ...core.near_misses import meant
from ...core.rule import RULES
from ...generators.equivalences.base import Equivalence, equivalence_of

#: Values for one configuration of shape and parameters.
VALUES = 10
#: Rules of this cost take a compiler seconds for each call: they are run at the end, on few configurations.
COMPILED_BY_C = 3


@dataclass(frozen=True)
class EagleSettings:
    """Which rules on which functions, and on how many inputs.

    Args:
        rules: by name or by the paper's number; none means all.
        apis: globs of public names; none means all.
        inputs: for each rule and function, ``VALUES`` for every configuration.
        derivatives: up to which order gradients are compared as well, where a rule speaks of them.
        models: names, or patterns of them, of the zoo's models that the rules about models are tried on.
        few: configurations for rules that a C++ compiler is needed for.
        dearest: rules that cost more are left out unless ``rules`` names them.
    """

    rules: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    inputs: int = 40
    derivatives: int = 2
    few: int = 1
    dearest: int = COMPILED_BY_C
    models: tuple[str, ...] = ("lenet1", "simplernn", "transformer")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Json]) -> EagleSettings:
        """From a section of a configuration file.

        Raises:
            UsageError: for a setting that there is not, or a rule that nobody knows.
        """
        known = {item.name for item in fields(cls)}
        for name in settings:
            if name not in known:
                raise UsageError(f"eagle has no setting {name!r}; known are {', '.join(sorted(known))}")
        lists = {name: tuple(value) for name, value in settings.items() if isinstance(value, list)}
        given: dict[str, Any] = {**settings, **lists}
        made = cls(**given)
        made.chosen()
        return made

    @property
    def configurations(self) -> int:
        return max(1, self.inputs // VALUES)

    def chosen(self) -> list[Equivalence]:
        """The rules, the cheap ones first.

        Raises:
            UsageError: for one that nobody knows.
        """
        known_rules = [equivalence_of(name) for name in RULES.names()]
        if not self.rules:
            kept = [rule for rule in known_rules if rule.cost <= self.dearest]
        else:
            kept = [rule for rule in known_rules if any(_is_meant(rule, wanted) for wanted in self.rules)]
            for wanted in self.rules:
                if not any(_is_meant(rule, wanted) for rule in known_rules):
                    known = "known are the names in `equiv --list`, patterns of them as 'cast-*', and 1 to 16"
                    raise UsageError(f"unknown rule {wanted!r}{meant(wanted, RULES.names())}; {known}")
        return sorted(kept, key=lambda rule: (rule.cost, rule.name))

    def left_out(self) -> list[Equivalence]:
        """The rules that cost too much, where none are named."""
        known_rules = [equivalence_of(name) for name in RULES.names()]
        return [] if self.rules else [rule for rule in known_rules if rule.cost > self.dearest]

    def concerns(self, rule: Equivalence) -> bool:
        """Whether a rule may speak of any function that is wanted, as far as names tell."""
        return not self.apis or any(not is_plain(name) or rule.applies(name) for name in self.apis)

    def wants(self, api: str) -> bool:
        return not self.apis or any(fnmatchcase(api, pattern) for pattern in self.apis)


def is_plain(name: str) -> bool:
    """Whether it is the name of one function, and no pattern."""
    return not any(sign in name for sign in "*?[")


def _is_meant(rule: Equivalence, wanted: str) -> bool:
    """Whether a rule is meant by a name, by a pattern of names, or by the paper's number."""
    return fnmatchcase(rule.name, wanted) or (bool(rule.paper) and str(rule.paper) == wanted)
