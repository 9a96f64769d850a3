"""Progress on standard error: a line that moves on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..campaign.events import Event, Listener, Progress, silent


@contextmanager
def progress(quiet: bool) -> Iterator[Listener]:
    """A listener that draws, or one that does not."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting workers", total=None)

        def listen(event: Event) -> None:
            if not isinstance(event, Progress):
                return
            text = event.phase + (f": {event.detail}" if event.detail else "")
            bar.update(task, description=text.replace("[", "\\["), completed=event.done, total=event.total)

        yield listen
