"""``tensorparity targets``."""

from __future__ import annotations

import click

from .options import format_option, show


@click.command("targets")
@format_option
def command(output_format: str, quiet: bool) -> int:
    """List the targets: which are installed, in which versions, and how to get the others.

    Looks at what is installed without importing it; 'doctor' starts each one.
    """
    from ..commands.checkup import list_targets

    show(list_targets(), output_format, quiet)
    return 0
