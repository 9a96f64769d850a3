"""What is asked of a worker, and how it was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..core.arrays import Arrays
from ..core.errors import WorkerStartError
from .process import Ending, Launch


class End(Enum):
    """How a request ended."""

    ANSWERED = "answered"
    DIED = "the worker died"
    DEADLINE = "past its deadline"
    MEMORY = "past its memory limit"
    GARBAGE = "the answer was not a frame"
    NOT_STARTED = "the worker could not be started"
    NOT_SENT = "the request does not travel"


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """How to bring up a worker for a target: the process, and the first request it gets."""

    target: str
    launch: Launch
    start: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask of one target.

    Args:
        parts: what it has the library run, each with its nodes if it is a layer: who hangs is looked for among them.
            Empty where a hang is not to be remembered.
    """

    target: str
    header: Mapping[str, Any]
    arrays: Arrays = field(default_factory=dict)
    cpu_seconds: float | None = None
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer, or what happened instead of one.

    Args:
        node: where it is known to hang.
    """

    end: End
    header: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    ending: Ending | None = None
    detail: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    error: WorkerStartError | None = None
    peak_memory: int = 0
    node: str | None = None
