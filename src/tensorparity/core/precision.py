"""What the targets' outputs are worth beside a run of the same model in high precision."""

from __future__ import annotations

from dataclasses import dataclass

from .jsontext import Json


@dataclass(frozen=True, slots=True)
class OutputDeviation:
    """One output of one target, on the inputs of the high-precision run.

    Args:
        max_rel: largest difference of an instance relative to that instance's largest magnitude.
        labels_changed: instances with another arg max, by more than a tie; None where there are no classes.
    """

    target: str
    output: str
    max_abs: float
    max_rel: float
    labels_changed: int | None = None

    def to_json(self) -> Json:
        return {
            "target": self.target,
            "output": self.output,
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "labels_changed": self.labels_changed,
        }


@dataclass(frozen=True, slots=True)
class HighPrecision:
    """The deviation of every target from one run in float64; or why there was none.

    Args:
        by: who computed it; empty where it was left out.
        inputs: indices of the instances.
        left_out: the reason, where it was left out.
    """

    by: str = ""
    inputs: tuple[int, ...] = ()
    deviations: tuple[OutputDeviation, ...] = ()
    left_out: str = ""

    def to_json(self) -> Json:
        return {
            "by": self.by,
            "inputs": list(self.inputs),
            "deviations": [deviation.to_json() for deviation in self.deviations],
            "left_out": self.left_out,
        }
