"""``tensorparity replay CASE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..core.finding import Class
from .options import exit_code, runner_settings, running_options, show


@click.command("replay")
@click.argument("case", type=click.Path(path_type=Path))
@running_options
def command(
    case: Path,
    targets: str | None,
    seed: int,
    fail_on: tuple[Class, ...],
    output_format: str,
    quiet: bool,
    **running: Any,
) -> int:
    """Run a case file again, on its own targets or on others: does it still fail?"""
    from ..campaign.replay import replay
    from .progress import progress

    with progress(quiet) as listener:
        replayed = replay(case, targets, runner_settings(**running), listener)
    show(replayed.facts, output_format, quiet)
    return exit_code(replayed.facts, fail_on, replayed.broken)
