"""What a data set is."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.arrays import Array


@dataclass(frozen=True)
class Part:
    """Inputs by the name that the models give them, and labels: class indices, or values of shape (n, 1)."""

    inputs: dict[str, Array]
    labels: Array

    @property
    def count(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> Part:
        """The first so many instances; all for 0."""
        if not count:
            return self
        return Part({name: array[:count] for name, array in self.inputs.items()}, self.labels[:count])


@dataclass(frozen=True)
class DataSet:
    """What a model is trained on, and what it has not seen."""

    training: Part
    validation: Part
