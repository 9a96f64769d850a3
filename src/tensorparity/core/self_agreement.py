"""Whether a target agrees with itself: the same model, the same inputs, in other batches or once more."""

from __future__ import annotations

from dataclasses import dataclass

from .jsontext import Json


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """One target beside itself.

    Args:
        way: what was done otherwise: ``batch size 1``, ``run 2``.
        max_rel: largest difference of an instance relative to that instance's largest magnitude, over all outputs;
            None where nothing could be compared, and ``problem`` says why.
        labels_changed: instances with another arg max; None where there are no classes.
    """

    target: str
    way: str
    max_abs: float | None = None
    max_rel: float | None = None
    labels_changed: int | None = None
    problem: str = ""

    @property
    def identical(self) -> bool:
        return self.max_abs == 0.0

    def to_json(self) -> Json:
        return {
            "target": self.target,
            "way": self.way,
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "labels_changed": self.labels_changed,
            "problem": self.problem,
        }
