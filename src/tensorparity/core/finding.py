"""Finding: a failing verdict that failed again in fresh processes, with its Diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from .jsontext import Json
from .verdict import Kind, Measure, Stage


class Class(Enum):
    """What a difference is."""

    DEFECT = "defect"
    PRECISION = "precision"
    """Rounding, also of ill-conditioned cases; blames nobody."""
    SPECIFICATION = "specification"
    """Documented freedom: both are right."""
    UNSUPPORTED = "unsupported"
    FLAKY = "flaky"
    """Failed in some repeats only; recorded, never counted as new."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Who is wrong, where, and how we know.

    Args:
        wavering: targets that gave two different answers on the same case.
        fused: it shows only where the model runs as a whole, not layer by layer.
    """

    klass: Class
    suspects: tuple[str, ...] = ()
    node: str | None = None
    api: str | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    measure: Measure | None = None
    threshold: float | None = None
    wavering: tuple[str, ...] = ()
    fused: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One entry of the contract's ``findings``; ``to_json`` is that entry."""

    id: str
    engine: str
    kind: Kind
    stage: Stage
    targets: tuple[str, ...]
    diagnosis: Diagnosis
    signature: str
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cluster: str | None = None
    case: str | None = None
    reproducer: str | None = None

    @property
    def is_defect(self) -> bool:
        return self.diagnosis.klass is Class.DEFECT

    def to_json(self) -> Json:
        diagnosis = self.diagnosis
        return {
            "id": self.id,
            "engine": self.engine,
            "kind": self.kind.value,
            "stage": self.stage.value,
            "targets": list(self.targets),
            "suspects": list(diagnosis.suspects),
            "class": diagnosis.klass.value,
            "api": diagnosis.api,
            "node": diagnosis.node,
            "parameters": dict(diagnosis.parameters),
            "measure": diagnosis.measure.to_json() if diagnosis.measure else None,
            "threshold": diagnosis.threshold,
            "signature": self.signature,
            "cluster": self.cluster,
            "evidence": list(diagnosis.evidence),
            "versions": {target: dict(versions) for target, versions in self.versions.items()},
            "case": self.case,
            "reproducer": self.reproducer,
        }

    @classmethod
    def from_json(cls, data: Json) -> Finding:
        measure = data["measure"]
        return cls(
            id=data["id"],
            engine=data["engine"],
            kind=Kind(data["kind"]),
            stage=Stage(data["stage"]),
            targets=tuple(data["targets"]),
            diagnosis=Diagnosis(
                klass=Class(data["class"]),
                suspects=tuple(data["suspects"]),
                node=data["node"],
                api=data["api"],
                parameters=data["parameters"],
                evidence=tuple(data["evidence"]),
                measure=Measure(measure["name"], float(measure["value"])) if measure else None,
                threshold=None if data["threshold"] is None else float(data["threshold"]),
            ),
            signature=data["signature"],
            versions=data["versions"],
            cluster=data["cluster"],
            case=data["case"],
            reproducer=data["reproducer"],
        )
