"""What a report promises, and the table of formats: text, JSON, HTML, Markdown, JUnit, SARIF and other packages'."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Protocol

from ..core.errors import UsageError
from ..core.registry import Registry
from .facts import Facts

#: The text of a report, or several files by their names.
Rendered = str | Mapping[str, str | bytes]


class Report(Protocol):
    """Facts in, text or files out; decides nothing."""

    def render(self, facts: Facts) -> Rendered:
        """The report of one run."""
        ...


_HERE = __name__.rpartition(".")[0]

#: Each is something with a ``render``: a module of ours, a class or an instance of others.
REPORTS: Registry[Any] = Registry(
    "report",
    {
        "text": f"{_HERE}.text",
        "json": f"{_HERE}.json_document",
        "html": f"{_HERE}.html",
        "markdown": f"{_HERE}.markdown",
        "junit": f"{_HERE}.junit",
        "sarif": f"{_HERE}.sarif",
    },
)


def report_named(name: str) -> Report:
    """The report of a format.

    Raises:
        UsageError: for an unknown one, or what cannot render.
    """
    found = REPORTS.get(name)
    if inspect.isclass(found) or (callable(found) and not hasattr(found, "render")):
        found = found()
    if not hasattr(found, "render"):
        raise UsageError(f"report {name!r} has no method 'render'. Received: {type(found).__name__}")
    report: Report = found
    return report
