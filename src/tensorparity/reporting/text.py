"""The summary for a person, as text without colours."""

from __future__ import annotations

import io

from rich.console import Console

from .facts import Facts
from .terminal import render as render_terminal


def render(facts: Facts) -> str:
    """What the terminal would show."""
    page = io.StringIO()
    render_terminal(facts, Console(file=page, width=Console().width))
    return page.getvalue()
