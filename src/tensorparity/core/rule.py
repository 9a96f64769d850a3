"""The form of a rule: what must not matter to a case, and so makes an equivalence of it."""

from __future__ import annotations

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
