"""Our own errors. What a library does wrong is never one of these: that is an Outcome.

Every message is one a user can act on: what was wrong, what was received, what to do.
"""

from __future__ import annotations


class TensorParityError(Exception):
    """Base of everything we raise on purpose; ``exit_code`` is what the command line ends with."""

    exit_code = 3


class UsageError(TensorParityError):
    """The user asked for something that cannot be: a bad path, name, shape or option."""

    exit_code = 2


class UnknownTargetError(UsageError):
    """A target name that does not parse, or that nobody registered."""


class ModelRefusedError(UsageError):
    """A model file that is missing, broken, of another kind, or names classes we do not trust."""


class DataError(UsageError):
    """Input data or labels that do not fit the model."""


class CaseFileError(UsageError):
    """A case file that is broken, of an unknown format, or hostile."""


class RunError(TensorParityError):
    """The run itself failed, through no fault of the case: exit code 3."""


class EngineError(RunError):
    """Somebody's engine ended with an exception: it searches no further, and the others go on."""


class OutOfTimeError(RunError):
    """The time that a run was given is used up, and somebody waited for an answer."""

    def __init__(self, message: str = "the time was used up") -> None:
        super().__init__(message)


class WorkerStartError(RunError):
    """A worker could not be brought up: interpreter or library missing, wrong version, broken import."""

    def __init__(self, target: str, reason: str, hint: str = "", detail: str = "") -> None:
        self.target = target
        self.reason = reason
        self.hint = hint
        self.detail = detail
        super().__init__(f"{target}: {reason}" + (f"; {hint}" if hint else ""))


class StoreError(RunError):
    """The store cannot be read or written."""


class NoStoreError(StoreError):
    """There is none where the user says that an earlier run left it."""

    exit_code = UsageError.exit_code
