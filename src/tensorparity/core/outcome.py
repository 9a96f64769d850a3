"""Outcome: what one target did with a case. A library that fails is data, not an exception of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .arrays import Array, Arrays
from .jsontext import Json


class Status(Enum):
    COMPLETED = "completed"
    RAISED = "raised"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an outcome is not ``completed``.

    Args:
        type: the exception's class name, the signal's name, or the limit that was hit.
        message: in the library's words.
        node: the node that was running, where known.
        detail: traceback or the tail of the worker's standard error.
        stage: ``build`` where the model did not even come about, and how far a training step came behind its forward
            pass (``loss``, ``backward``, ``update``), where the adapter says so; empty otherwise.
    """

    type: str
    message: str
    node: str | None = None
    detail: str = ""
    stage: str = ""

    def to_json(self) -> Json:
        found = {"type": self.type, "message": self.message, "node": self.node, "detail": self.detail}
        return {**found, "stage": self.stage} if self.stage else found

    @classmethod
    def from_json(cls, data: Json) -> Failure:
        return cls(data["type"], data["message"], data.get("node"), data.get("detail", ""), data.get("stage", ""))


@dataclass(frozen=True, slots=True)
class Record:
    """The circumstances every outcome carries, so that a finding can be repeated elsewhere."""

    python: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    build: Mapping[str, Json] = field(default_factory=dict)
    device: str = ""
    dtype_policy: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0
    fault: str | None = None

    def to_json(self) -> Json:
        return {
            "python": self.python,
            "versions": dict(self.versions),
            "build": dict(self.build),
            "device": self.device,
            "dtype_policy": self.dtype_policy,
            "flags": dict(self.flags),
            "threads": self.threads,
            "fault": self.fault,
        }

    @classmethod
    def from_json(cls, data: Json) -> Record:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Form:
    """What a library says a tensor will be, before there is one; None where a size is left open."""

    shape: tuple[int | None, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} ({', '.join('any' if size is None else str(size) for size in self.shape)})"

    def to_json(self) -> Json:
        return [list(self.shape), self.dtype]

    @classmethod
    def from_json(cls, data: Json) -> Form:
        return cls(tuple(data[0]), data[1])


@dataclass(frozen=True, slots=True)
class Trace:
    """What was seen on the way. An unconnected gradient is absent, never zero.

    Args:
        nodes: output per node key (``layer#call``; further outputs ``layer#call.1``).
        gradients: of the loss with respect to ``input:NAME``, ``node:KEY`` and ``weight:LAYER/WEIGHT``.
        weights: after the optimizer step, by ``layer/weight``; for several steps by ``step:layer/weight``.
        losses: before each of several steps.
        symbolic: by node key, what the library said when it built the model.
    """

    nodes: Arrays = field(default_factory=dict)
    loss: float | None = None
    gradients: Arrays = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    losses: tuple[float, ...] = ()
    symbolic: Mapping[str, Form] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One target's answer to one case; ``outputs`` is by output name and empty unless completed.

    ``reply`` is what the worker said besides arrays, as JSON (the layers of a file, a list of APIs).
    """

    target: str
    status: Status
    outputs: Arrays = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    failure: Failure | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    record: Record = field(default_factory=Record)
    reply: Json = None

    _GROUPS = ("nodes", "gradients", "weights")

    @property
    def completed(self) -> bool:
        return self.status is Status.COMPLETED

    def header(self) -> Json:
        return {
            "target": self.target,
            "status": self.status.value,
            "loss": self.trace.loss,
            "losses": list(self.trace.losses),
            "symbolic": {key: form.to_json() for key, form in self.trace.symbolic.items()},
            "failure": self.failure.to_json() if self.failure else None,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "record": self.record.to_json(),
            **({"reply": self.reply} if self.reply is not None else {}),
        }

    def arrays(self) -> dict[str, Array]:
        found = {f"outputs:{name}": array for name, array in self.outputs.items()}
        for group in self._GROUPS:
            found.update({f"{group}:{name}": array for name, array in getattr(self.trace, group).items()})
        return found

    @classmethod
    def from_parts(cls, header: Json, arrays: Arrays) -> Outcome:
        groups: dict[str, dict[str, Array]] = {group: {} for group in ("outputs", *cls._GROUPS)}
        for name, array in arrays.items():
            group, _, key = name.partition(":")
            groups[group][key] = array
        outputs = groups.pop("outputs")
        traced: dict[str, Any] = dict(groups)
        traced["symbolic"] = {key: Form.from_json(form) for key, form in header.get("symbolic", {}).items()}
        failure = header.get("failure")
        return cls(
            target=header["target"],
            status=Status(header["status"]),
            outputs=outputs,
            trace=Trace(loss=header.get("loss"), losses=tuple(header.get("losses", ())), **traced),
            failure=Failure.from_json(failure) if failure else None,
            seconds=header["seconds"],
            cpu_seconds=header["cpu_seconds"],
            record=Record.from_json(header["record"]),
            reply=header.get("reply"),
        )
