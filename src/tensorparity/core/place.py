"""Places that a localizer names: a layer, and where it can tell, the parameter of it that is guilty."""

from __future__ import annotations

from dataclasses import dataclass

from .jsontext import Json

CLEARS, PERSISTS, FAILS, UNDECIDED = "clears", "persists", "fails", "undecided"


@dataclass(frozen=True, slots=True)
class TriedValue:
    """Another value of a parameter, and what came of it.

    Args:
        outcome: ``clears`` (the failure is gone), ``persists``, ``fails`` (it crashed or gave NaN) or ``undecided``.
    """

    parameter: str
    value: Json
    outcome: str

    def to_json(self) -> Json:
        return {"parameter": self.parameter, "value": self.value, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class Place:
    """A guilty layer, and a guilty parameter of it.

    Args:
        node: its key in the graph.
        parameter: empty where none is guilty alone, or nobody tried.
        tried: what other values came to, of all parameters of the layer: also those that fail in another way.
    """

    node: str
    parameter: str = ""
    tried: tuple[TriedValue, ...] = ()

    def __str__(self) -> str:
        return f"{self.node} ({self.parameter})" if self.parameter else self.node

    @property
    def clearing(self) -> list[Json]:
        """The values that end the failure."""
        return [one.value for one in self.tried if one.outcome == CLEARS and one.parameter == self.parameter]

    @property
    def failing(self) -> list[TriedValue]:
        """The values with which the layer crashes, is refused or gives NaN."""
        return [one for one in self.tried if one.outcome == FAILS]

    def to_json(self) -> Json:
        return {"node": self.node, "parameter": self.parameter or None, "tried": [one.to_json() for one in self.tried]}


def places_of(node: str, tried: tuple[TriedValue, ...]) -> list[Place]:
    """One place per guilty parameter; the layer alone where no value of any of them clears it."""
    guilty = list(dict.fromkeys(one.parameter for one in tried if one.outcome == CLEARS))
    return [Place(node, name, tried) for name in guilty or [""]]
