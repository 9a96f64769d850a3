"""Case: what is run, the one thing every stage passes on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from . import fields
from .arrays import Array, Arrays, array_digest
from .call import ApiCall, ArrayArg, DtypeArg, TupleArg
from .errors import CaseFileError
from .graph import LayerGraph
from .jsontext import Json, canonical
from .procedure import Procedure

__all__ = ["ApiCall", "ArrayArg", "Case", "Counterpart", "DtypeArg", "ModelFile", "Subject", "TupleArg"]

#: Format of an ONNX file that was exported from another model and has that model's names for its layers.
EXPORTED_ONNX = "onnx-export"

#: Version of the serialised case. Raise it when an old reader would misread a new case.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A user's model: opaque, but traceable by layer name. Identified by its content, not its path.

    Args:
        parts: files beside it that belong to it (ONNX's external data): relative path and digest of each.
        exporter: who wrote it, where it was exported from another model; no part of its identity.
    """

    path: str
    sha256: str
    format: str = "keras"
    parts: tuple[tuple[str, str], ...] = ()
    exporter: str = ""

    kind = "model-file"

    def to_json(self) -> Json:
        exporter = {"exporter": self.exporter} if self.exporter else {}
        return {**self.identity(), "path": self.path, **exporter}

    def identity(self) -> Json:
        parts = {"parts": [list(part) for part in self.parts]} if self.parts else {}
        return {"kind": self.kind, "sha256": self.sha256, "format": self.format, **parts}

    @classmethod
    def from_json(cls, data: Json) -> ModelFile:
        parts = tuple((str(name), str(sha256)) for name, sha256 in fields.field(data, "parts", list, []))
        path, sha256, kind = (fields.field(data, name, str) for name in ("path", "sha256", "format"))
        return cls(path, sha256, kind, parts, fields.field(data, "exporter", str, ""))


Subject = LayerGraph | ModelFile | ApiCall

#: How the groups of a counterpart's arrays begin.
_OTHER = "other-"


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The other side of an equivalence: what differs from the case itself, and must not matter.

    Args:
        inputs: of the other side, where they are others than the case's; ``weights`` likewise.
        rule: the name of the rule that says that both sides agree.
    """

    subject: Subject | None = None
    procedure: Procedure | None = None
    inputs: Arrays = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    rule: str = ""

    GROUPS = ("inputs", "weights")

    def __post_init__(self) -> None:
        for group in self.GROUPS:
            object.__setattr__(self, group, MappingProxyType(dict(getattr(self, group))))

    def to_json(self) -> Json:
        """Without its arrays; what is empty is absent, so that old digests stand."""
        return {
            "subject": self.subject.to_json() if self.subject else None,
            "procedure": self.procedure.to_json() if self.procedure else None,
            **({"rule": self.rule} if self.rule else {}),
        }

    def arrays(self) -> dict[str, Array]:
        """All arrays under ``other-group:name``, sorted."""
        return {
            f"{_OTHER}{group}:{name}": array
            for group in self.GROUPS
            for name, array in sorted(getattr(self, group).items())
        }

    @classmethod
    def from_json(cls, data: Json, groups: Mapping[str, Arrays]) -> Counterpart:
        subject, procedure = data["subject"], data["procedure"]
        return cls(
            subject_from_json(subject) if subject else None,
            Procedure.from_json(procedure) if procedure else None,
            groups[f"{_OTHER}inputs"],
            groups[f"{_OTHER}weights"],
            fields.field(data, "rule", str, ""),
        )


@dataclass(frozen=True)
class Case:
    """Subject, procedure, and every number that goes in. Arrays are never modified by anybody.

    Args:
        inputs: by input name; for a replay, ``node/0``, ``node/1``, ...; for an ApiCall by ArrayArg name.
        labels: by output name.
        weights: by ``layer/weight``; empty for a ModelFile, which brings its own.
        cotangents: by node key, for a replay of the backward pass.
        parents: by ``layer/weight``, one row per parent of the procedure's population.
        counterpart: makes the case an equivalence.
        answers: by ``number/place``, what a recorded call of a function gives instead of its own answer.
    """

    subject: Subject
    procedure: Procedure = field(default_factory=Procedure)
    inputs: Arrays = field(default_factory=dict)
    labels: Arrays = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    cotangents: Arrays = field(default_factory=dict)
    seed: int = 0
    counterpart: Counterpart | None = None
    parents: Arrays = field(default_factory=dict)
    answers: Arrays = field(default_factory=dict)

    GROUPS = ("inputs", "labels", "weights", "cotangents", "parents", "answers")

    def __post_init__(self) -> None:
        for group in self.GROUPS:
            object.__setattr__(self, group, MappingProxyType(dict(getattr(self, group))))

    @cached_property
    def digest(self) -> str:
        """Stable over processes, machines and Python versions; the path of a model file is not in it."""
        state = hashlib.sha256()
        header = self.header()
        if isinstance(self.subject, ModelFile):
            header["subject"] = self.subject.identity()
        if self.counterpart and isinstance(self.counterpart.subject, ModelFile):
            header["counterpart"]["subject"] = self.counterpart.subject.identity()
        state.update(canonical(header).encode())
        for name, array in self.arrays().items():
            state.update(f"\n{name}={array_digest(array)}".encode())
        return state.hexdigest()

    def header(self) -> dict[str, Json]:
        """Everything but the arrays, as JSON."""
        header: dict[str, Json] = {
            "format": FORMAT,
            "subject": self.subject.to_json(),
            "procedure": self.procedure.to_json(),
            "seed": self.seed,
        }
        if self.counterpart:
            header["counterpart"] = self.counterpart.to_json()
        return header

    def arrays(self) -> dict[str, Array]:
        """All arrays under ``group:name``, sorted."""
        own = {
            f"{group}:{name}": array for group in self.GROUPS for name, array in sorted(getattr(self, group).items())
        }
        return {**own, **(self.counterpart.arrays() if self.counterpart else {})}

    @classmethod
    def from_parts(cls, header: Json, arrays: Arrays) -> Case:
        """The inverse of ``header`` and ``arrays``.

        Raises:
            CaseFileError: if the format is not ours or the parts do not fit together.
        """
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            got = header.get("format") if isinstance(header, dict) else type(header).__name__
            raise CaseFileError(f"case format {got!r} is not supported; this version reads format {FORMAT}")
        others = [f"{_OTHER}{group}" for group in Counterpart.GROUPS]
        groups: dict[str, dict[str, Array]] = {group: {} for group in (*cls.GROUPS, *others)}
        for name, array in arrays.items():
            group, _, key = name.partition(":")
            if group not in groups:
                raise CaseFileError(f"unknown array group in {name!r}")
            groups[group][key] = array
        try:
            counterpart = header.get("counterpart")
            return cls(
                subject=subject_from_json(header["subject"]),
                procedure=Procedure.from_json(header["procedure"]),
                seed=int(header["seed"]),
                counterpart=Counterpart.from_json(counterpart, groups) if counterpart else None,
                **{group: groups[group] for group in cls.GROUPS},
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            said = str(error) if isinstance(error, (TypeError, ValueError)) else repr(error)
            raise CaseFileError(f"the case is malformed: {said}") from error
        except RecursionError as error:
            raise CaseFileError("the case is malformed: it is nested too deeply") from error

    def sides(self) -> tuple[Case, ...]:
        """The cases to run: one, or two that must agree."""
        if self.counterpart is None:
            return (self,)
        alone = replace(self, counterpart=None)
        other = replace(
            alone,
            subject=self.counterpart.subject or self.subject,
            procedure=self.counterpart.procedure or self.procedure,
            inputs=self.counterpart.inputs or self.inputs,
            weights=self.counterpart.weights or self.weights,
        )
        return (alone, other)


def subject_from_json(data: Json) -> Subject:
    kinds: dict[str, Any] = {cls.kind: cls for cls in (LayerGraph, ModelFile, ApiCall)}
    kind = data.get("kind")
    if kind not in kinds:
        raise CaseFileError(f"unknown subject kind {kind!r}; known are {', '.join(sorted(kinds))}")
    subject: Subject = kinds[kind].from_json(data)
    return subject
