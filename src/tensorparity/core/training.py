"""Trainings side by side: what ``compare --steps`` has to show beside its verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .jsontext import Json


@dataclass(frozen=True, slots=True)
class Parting:
    """Where the trainings of one pair part.

    Args:
        step: from 1.
        weight: as ``layer/weight``.
        apart: the difference as a share of how far the weight has moved.
    """

    a: str
    b: str
    step: int
    weight: str
    apart: float

    @property
    def layer(self) -> str:
        return self.weight.partition("/")[0]

    def to_json(self) -> Json:
        return {"a": self.a, "b": self.b, "step": self.step, "weight": self.weight, "apart": self.apart}


@dataclass(frozen=True, slots=True)
class LayerDrift:
    """How far the weights of one layer are apart after the last step.

    Args:
        weight: the one that differs most, as ``layer/weight``, between ``a`` and ``b``.
        difference: its largest difference over its largest magnitude.
        parted: the first step after which any pair has parted in this layer; None where none has.
    """

    layer: str
    weight: str
    difference: float
    a: str
    b: str
    parted: int | None = None

    def to_json(self) -> Json:
        return {
            "layer": self.layer,
            "weight": self.weight,
            "difference": self.difference,
            "a": self.a,
            "b": self.b,
            "parted": self.parted,
        }


@dataclass(frozen=True, slots=True)
class Training:
    """The same steps on the same batches, on several targets.

    Args:
        threshold: trainings have parted where a weight's difference exceeds this share of its movement.
        losses: before each step, by target.
        drift: after each step, the largest relative difference of any weight between any pair.
        partings: of the pairs that part, in the order of the pairs.
        layers: in the order of the model.
    """

    steps: int
    threshold: float
    losses: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    drift: tuple[float, ...] = ()
    partings: tuple[Parting, ...] = ()
    layers: tuple[LayerDrift, ...] = ()

    @property
    def first(self) -> Parting | None:
        """Where any pair parts first; of those that part at one step, the one that is furthest apart."""
        return min(self.partings, key=lambda parting: (parting.step, -parting.apart), default=None)

    def to_json(self) -> Json:
        return {
            "steps": self.steps,
            "threshold": self.threshold,
            "losses": {target: list(values) for target, values in self.losses.items()},
            "drift": list(self.drift),
            "partings": [parting.to_json() for parting in self.partings],
            "layers": [layer.to_json() for layer in self.layers],
        }
