"""``tensorparity doctor``."""

from __future__ import annotations

import click

from .options import Duration, format_option, show


@click.command("doctor")
@click.option("--targets", metavar="A,B,...", help="The targets to examine.  [default: all that are installed]")
@click.option("--deadline", type=Duration(), default=120.0, help="CPU time that one target may take.  [default: 120s]")
@format_option
def command(targets: str | None, deadline: float, output_format: str, quiet: bool) -> int:
    """Start every installed target, run a small case on it, and explain what is broken."""
    from ..commands.checkup import examine_targets
    from .progress import progress

    with progress(quiet) as listener:
        facts = examine_targets(targets, deadline, listener)
    show(facts, output_format, quiet)
    return 3 if facts.broken_targets else 0
