"""Asking a library what it offers: its public functions, and the valid inputs that ship inside it."""

from __future__ import annotations

from ..core.case import Case
from .requests import Request

#: Collecting thousands of examples out of a library's own tests takes longer than running one case.
_SECONDS = 300.0


def describing_request(case: Case, target: str, deadline_factor: float) -> Request:
    """What has a target list its functions, or the inputs that it brings along; nothing is run for it."""
    return Request(target, {"do": "describe", "case": case.header()}, {}, _SECONDS * deadline_factor)
