"""Finding: a failing verdict that failed again in fresh processes, with its Diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import cast

from .closeup import Closeup
from .evidence import Evidence, in_words
from .jsontext import Json
from .severity import Severity, severity_of
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
        evidence: what was observed; plain sentences (a plug-in's) are taken as they are.
        relative: the largest error as a share of the largest number of that output, where both are known.
        wavering: targets that gave two different answers on the same case.
        fused: it shows only where the model runs as a whole, not layer by layer.
        closeup: what a suspect gave around its worst number, where that is more than one number.
    """

    klass: Class
    suspects: tuple[str, ...] = ()
    node: str | None = None
    api: str | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    evidence: tuple[Evidence | str, ...] = ()
    measure: Measure | None = None
    threshold: float | None = None
    relative: float | None = None
    wavering: tuple[str, ...] = ()
    fused: bool = False
    closeup: Closeup | None = field(default=None, compare=False)  # it may hold NaN, which equals nothing

    def __post_init__(self) -> None:
        evidence = tuple(in_words(item) if isinstance(item, str) else item for item in self.evidence)
        object.__setattr__(self, "evidence", evidence)

    @property
    def observations(self) -> tuple[Evidence, ...]:
        """The evidence, every sentence as what it is: an observation in words."""
        return cast("tuple[Evidence, ...]", self.evidence)


@dataclass(frozen=True, slots=True)
class Finding:
    """One entry of the contract's ``findings``; ``to_json`` is that entry.

    Args:
        reduced: reduction came to its end; False where it did not, None where it was not tried.
        not_reduced: why it did not come to its end, or was not possible.
        title: what is wrong with what, in one line; ``reporting/words`` makes it, as the text of all evidence.
        settings: instruction set, oneDNN and threads with which it was seen, and what came of trying others.
        cluster: what counts as one defect; several findings may share it.
        sightings: how often it was met, this finding included.
        reached_through: other public names through which users meet the same defect.
        aliases: signatures that it had, or would have, under those names: what was accepted by one stays accepted.
    """

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
    reduced: bool | None = None
    not_reduced: str = ""
    title: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    sightings: int = 1
    reached_through: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        return severity_of(self.kind, self.diagnosis)

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
            "evidence": [str(item) for item in diagnosis.observations],
            "versions": {target: dict(versions) for target, versions in self.versions.items()},
            "case": self.case,
            "reproducer": self.reproducer,
            "title": self.title,
            "severity": self.severity.value,
            "reduced": self.reduced,
            **({"settings": dict(self.settings)} if self.settings else {}),
            **({"sightings": self.sightings} if self.sightings > 1 else {}),
            **({"reached_through": list(self.reached_through)} if self.reached_through else {}),
        }

    def to_stored(self) -> Json:
        """The entry with what only a store keeps: the observations behind the sentences of its evidence."""
        diagnosis = self.diagnosis
        return {
            **self.to_json(),
            "observations": [item.to_json() for item in diagnosis.observations],
            "relative": diagnosis.relative,
            "wavering": list(diagnosis.wavering),
            "fused": diagnosis.fused,
            "not_reduced": self.not_reduced,
            **({"aliases": list(self.aliases)} if self.aliases else {}),
            **({"closeup": diagnosis.closeup.to_json()} if diagnosis.closeup else {}),
        }

    @classmethod
    def from_json(cls, data: Json) -> Finding:
        """From an entry, with or without what a store keeps besides."""
        measure, closeup = data["measure"], data.get("closeup")
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
                evidence=_evidence(data),
                measure=Measure(measure["name"], float(measure["value"])) if measure else None,
                threshold=_number(data["threshold"]),
                relative=_number(data.get("relative")),
                wavering=tuple(data.get("wavering", ())),
                fused=data.get("fused", False),
                closeup=Closeup.from_json(closeup) if closeup else None,
            ),
            signature=data["signature"],
            versions=data["versions"],
            cluster=data["cluster"],
            case=data["case"],
            reproducer=data["reproducer"],
            reduced=data.get("reduced"),
            not_reduced=data.get("not_reduced", ""),
            title=data.get("title", ""),
            settings=data.get("settings", {}),
            sightings=data.get("sightings", 1),
            reached_through=tuple(data.get("reached_through", ())),
            aliases=tuple(data.get("aliases", ())),
        )


def _evidence(data: Json) -> tuple[Evidence | str, ...]:
    """The sentences with the observations behind them; sentences alone, where nothing else was kept."""
    sentences, observations = data["evidence"], data.get("observations")
    if observations is None:
        return tuple(sentences)
    return tuple(Evidence.from_json(item, text) for item, text in zip(observations, sentences, strict=True))


def _number(value: Json) -> float | None:
    return None if value is None else float(value)
