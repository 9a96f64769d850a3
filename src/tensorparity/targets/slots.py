"""A worker of the pool: what it is doing, what that may cost, and why it did not start."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from ..core.arrays import Arrays
from ..core.errors import WorkerStartError
from ..worker import protocol
from .batches import WorkerJob
from .limits import WorkerLimits
from .process import WorkerProcess
from .requests import End, Reply, WorkerPlan

_ASK_DOCTOR = "'tensorparity doctor' shows the whole message"
_LONGEST_LOOK = 1.0  # what one look may add to the time of doing nothing: the loop may have been held up
_IDLE_SHARE = 0.02  # of a core: more than background threads use, or a loop that waits by looking again and again


class State(Enum):
    STARTING = 1
    IDLE = 2
    BUSY = 3


class Slot:
    """A worker and what it is doing."""

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self.process = WorkerProcess(plan.launch)
        self.state = State.IDLE
        self.job: WorkerJob | None = None
        self.deadline_cpu = 0.0
        self.deadline_wall = 0.0
        self.idle_limit = 0.0
        self.idle = 0.0
        self.idle_cpu = 0.0
        self.began = 0.0
        self.cpu_before = 0.0
        self.cpu_now = 0.0
        self.looked = 0.0
        self.peak = 0
        self.request_id = 0
        self.record: Mapping[str, Any] = {}

    def ask(
        self, header: Mapping[str, Any], arrays: Arrays, cpu_seconds: float, limits: WorkerLimits, idle: float
    ) -> None:
        """Send a request and set its limits.

        Args:
            idle: for how many seconds it may sleep.

        Raises:
            protocol.ProtocolError: if it does not travel; nothing of it has been sent then.
        """
        self.request_id += 1
        self.began = self.looked = time.monotonic()
        self.cpu_before = self.process.cost()[0]
        self.cpu_now = self.cpu_before
        self.deadline_cpu = self.cpu_before + cpu_seconds
        self.deadline_wall = self.began + limits.wall(cpu_seconds)
        self.idle_limit = idle
        self.idle, self.idle_cpu = 0.0, self.cpu_before
        self.process.forget_stderr()
        self.process.send(self.request_id, header, arrays)

    def look(self, now: float) -> int:
        """Take stock of CPU time, of time asleep, and of memory; return the memory."""
        passed, self.looked = min(now - self.looked, _LONGEST_LOOK), now
        self.cpu_now, memory = self.process.cost()
        self.peak = max(self.peak, memory)
        if self.process.asleep():
            self.idle += passed
        if abs(self.cpu_now - self.idle_cpu) > self.idle_limit * _IDLE_SHARE:
            self.idle, self.idle_cpu = 0.0, self.cpu_now
        return memory


def not_an_answer(frames: Sequence[protocol.Frame], request_id: int) -> str:
    """Why these frames are not the answer to that request; empty if they are."""
    frame = frames[0]
    if (frame.kind, frame.request_id) != (protocol.RESPONSE, request_id):
        return f"frame {frame.request_id} of kind {frame.kind} arrived, an answer to request {request_id} was expected"
    if len(frames) > 1:
        return f"{len(frames)} frames arrived, one answer to request {request_id} was expected"
    header = frame.header
    if not isinstance(header.get("status"), str) or not isinstance(header.get("record"), dict):
        return "the answer lacks its status or its record"
    if header["status"] != "completed" and not isinstance(header.get("failure"), dict):
        return f"the answer {header['status']!r} lacks its failure"
    return ""


def start_failure(slot: Slot, frame: protocol.Frame) -> WorkerStartError:
    failure = frame.header["failure"]
    status = frame.header["status"]
    hint = str(slot.plan.start.get("hint", ""))
    if status in ("library missing", "version mismatch"):
        return WorkerStartError(slot.plan.target, failure["message"], hint)
    reason = f"starting it raised {failure['type']}: {_first_line(failure['message'])}"
    return WorkerStartError(slot.plan.target, reason, _ASK_DOCTOR, failure["detail"])


def death_at_start(slot: Slot, reply: Reply) -> WorkerStartError:
    python = slot.plan.launch.python
    if reply.ending is not None and reply.ending.failed is not None:
        return WorkerStartError(
            slot.plan.target,
            f"its interpreter {python!r} cannot be run ({reply.ending.failed})",
            "correct the environment's python in tensorparity.toml",
        )
    how = str(reply.ending) if reply.end is End.DIED else reply.end.value
    last = _last_line(reply.detail)
    reason = f"its worker ended while starting ({how})" + (f": {last}" if last else "")
    if "No module named 'numpy'" in last:
        return WorkerStartError(slot.plan.target, reason, f"{python} -m pip install numpy", reply.detail)
    return WorkerStartError(slot.plan.target, reason, _ASK_DOCTOR, reply.detail)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
