"""Verdict: what an oracle says of outcomes. "Undecided" always has a reason and is always counted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .jsontext import Json

#: In ``Verdict.judged_by``: a difference that passes because rounding explains it.
BY_ROUNDING = "rounding"


class Judgement(Enum):
    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


class Kind(Enum):
    """What sort of thing went wrong."""

    INCONSISTENCY = "inconsistency"
    CRASH = "crash"
    ERROR = "error"
    HANG = "hang"
    NAN = "nan"
    ACCEPTS_INVALID = "accepts-invalid"
    PRECISION = "precision"
    EQUIVALENCE = "equivalence"
    SHAPE = "shape"
    DTYPE = "dtype"


class Stage(Enum):
    """Where in the life of a model it went wrong."""

    BUILD = "build"
    FORWARD = "forward"
    LOSS = "loss"
    BACKWARD = "backward"
    UPDATE = "update"
    SAVE_LOAD = "save-load"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    value: float

    def to_json(self) -> Json:
        return {"name": self.name, "value": self.value}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement with its measure, threshold and reason.

    ``targets`` are those it speaks of, in the order given to the oracle.

    Args:
        judged_by: what it was measured against (``reference``, ``vote``, ``subgradient``), where that matters.
    """

    judgement: Judgement
    targets: tuple[str, ...]
    reason: str
    measure: Measure | None = None
    threshold: float | None = None
    kind: Kind | None = None
    stage: Stage = Stage.FORWARD
    judged_by: str = ""

    @property
    def failed(self) -> bool:
        return self.judgement is Judgement.FAIL

    def to_json(self) -> Json:
        return {
            "judgement": self.judgement.value,
            "targets": list(self.targets),
            "reason": self.reason,
            "measure": self.measure.to_json() if self.measure else None,
            "threshold": self.threshold,
            "kind": self.kind.value if self.kind else None,
            "stage": self.stage.value,
        }

    @classmethod
    def from_json(cls, data: Json) -> Verdict:
        measure = data["measure"]
        return cls(
            judgement=Judgement(data["judgement"]),
            targets=tuple(data["targets"]),
            reason=data["reason"],
            measure=Measure(measure["name"], float(measure["value"])) if measure else None,
            threshold=None if data["threshold"] is None else float(data["threshold"]),
            kind=Kind(data["kind"]) if data["kind"] else None,
            stage=Stage(data["stage"]),
        )
