"""What the host makes of a worker's reply: every way to end has its status."""

from __future__ import annotations

from dataclasses import replace

from ..core.outcome import Failure, Outcome, Record, Status, Trace
from .requests import End, Reply


def outcome_of(target: str, reply: Reply) -> Outcome:
    """What the host makes of a reply: every way to end has its status."""
    if reply.error:
        return unsupported_outcome(target, reply.error.reason, type(reply.error).__name__)
    try:
        record = Record.from_json(reply.header["record"]) if reply.header.get("record") else Record()
        if reply.end is End.ANSWERED:
            answer = {**reply.header, "target": target, "record": record.to_json()}
            return replace(_with_layers(Outcome.from_parts(answer, reply.arrays), reply), seconds=reply.seconds)
    except (KeyError, TypeError, ValueError) as error:  # an adapter that does not keep the contract
        failure = Failure("protocol", f"the worker's answer is not an outcome: {error!r}")
        return Outcome(target, Status.CRASHED, failure=failure, seconds=reply.seconds)
    if reply.end is End.NOT_SENT:
        return replace(unsupported_outcome(target, reply.detail, "ProtocolError"), record=record)
    status, failure = _status_and_failure(reply)
    return Outcome(target, status, failure=failure, seconds=reply.seconds, cpu_seconds=reply.cpu_seconds, record=record)


def _with_layers(outcome: Outcome, reply: Reply) -> Outcome:
    """Of a file whose layers were read: the graph as the reply, its weights as the outputs."""
    if "graph" not in reply.header:
        return outcome
    return replace(outcome, outputs=outcome.trace.weights, trace=Trace(), reply={"graph": reply.header["graph"]})


def _status_and_failure(reply: Reply) -> tuple[Status, Failure]:
    first = (reply.detail.splitlines() or [""])[0]
    if reply.end is End.DEADLINE:
        return Status.TIMED_OUT, Failure("deadline", first, reply.node, reply.detail)
    if reply.end is End.MEMORY:
        return Status.OUT_OF_MEMORY, Failure("memory limit", first, detail=reply.detail)
    if reply.end is End.GARBAGE:
        return Status.CRASHED, Failure("protocol", f"the worker's answer was not a frame: {first}", detail=reply.detail)
    how = str(reply.ending)
    message = f"the worker process ended with {how}"
    if reply.ending is not None and reply.ending.failed is not None:
        message = f"the worker process was lost: {how}"
    elif how == "SIGKILL":
        message += " (not by us: perhaps the kernel was out of memory)"
    return Status.CRASHED, Failure(how, message, detail=reply.detail)


def unsupported_outcome(target: str, reason: str, kind: str = "Unsupported") -> Outcome:
    """The target was not even asked, so there is no model that it could have built."""
    return Outcome(target, Status.UNSUPPORTED, failure=Failure(kind, reason, stage="build"))
