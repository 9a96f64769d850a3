"""The form of a rule: what must not matter to a case, and so makes an equivalence of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from .case import Case, Counterpart
from .registry import Registry


class Rule(Protocol):
    """An equivalence, by name."""

    name: str

    def counterpart(self, case: Case) -> Counterpart | None:
        """The other side of a case; None where the rule does not apply. Called anew on every reduced case."""
        ...


RULES: Registry[Rule] = Registry("rule", {})


def is_fixed(case: Case) -> bool:
    """It is an equivalence whose other side no rule can make anew, so that nothing of it may be changed."""
    return case.counterpart is not None and case.counterpart.rule not in RULES


def with_counterpart(case: Case) -> Case | None:
    """An equivalence whose other side fits again, by the rule that made it; None where the rule does not apply.

    Any other case is what it is.
    """
    if case.counterpart is None or is_fixed(case):
        return case
    rule = case.counterpart.rule
    other = RULES.get(rule).counterpart(replace(case, counterpart=None))
    return replace(case, counterpart=replace(other, rule=rule)) if other is not None else None
