"""Constraints as things of their own: proposed by a source, tried in calls, kept or refused by what was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

#: So many calls that differ from an accepted one in this alone, all refused, settle it.
REFUSED_AFTER = 2

#: What a constraint says where an optional parameter is not given.
LEFT_OUT = "left out"


class Category(Enum):
    """D2C's four, and what holds between parameters."""

    STRUCTURE = "structure"
    TYPE = "type"
    SHAPE = "shape"
    VALUE = "valid value"
    RELATION = "relation"


class State(Enum):
    PROPOSED = "proposed"
    KEPT = "kept"
    REFUSED = "refused"


@dataclass
class Constraint:
    """One thing that inputs may be made to obey.

    Args:
        about: the parameters it is about.
        says: what it asks for, in words; with ``about`` and the category it is unique.
        source: signature, registry, documentation, name, or form (a way users write it).
        weight: how probable the source makes it.
        payload: what the generator needs to obey it.
    """

    category: Category
    about: tuple[str, ...]
    says: str
    source: str
    weight: float
    payload: Any = None
    tried: int = field(default=0, compare=False)
    accepted: int = field(default=0, compare=False)
    refused_alone: int = field(default=0, compare=False)

    @property
    def state(self) -> State:
        if self.accepted:
            return State.KEPT
        return State.REFUSED if self.refused_alone >= REFUSED_AFTER else State.PROPOSED

    def tell(self, accepted: bool, *, alone: bool) -> None:
        """What came of a call that obeyed it; ``alone`` where it was all that differed from an accepted one."""
        self.tried += 1
        self.accepted += accepted
        self.refused_alone += alone and not accepted

    @property
    def promise(self) -> float:
        """How much is expected of it by now."""
        if self.state is State.REFUSED:
            return 0.0
        refused = self.tried - self.accepted
        return self.weight * (1 + self.accepted) / (1 + self.accepted + 0.6 * refused)


@dataclass
class Decision:
    """A point at which a call can be made in several ways, each a constraint."""

    name: str
    options: list[Constraint]

    def weights(self, sharpness: float) -> list[float]:
        found = [option.promise**sharpness for option in self.options]
        return found if sum(found) > 0 else [1.0] * len(found)


def merged(options: Sequence[Constraint]) -> list[Constraint]:
    """Without repetitions; what several sources say weighs most."""
    found: dict[str, Constraint] = {}
    for option in options:
        known = found.get(option.says)
        if known is None:
            found[option.says] = option
        elif option.weight > known.weight:
            option.weight += known.weight / 2
            found[option.says] = option
        else:
            known.weight += option.weight / 2
    return sorted(found.values(), key=lambda option: -option.weight)
