"""``tensorparity replay CASE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .exit_codes import FailOn, exit_code
from .options import case_file, case_options, runner_settings, running_options, show


@click.command("replay")
@case_options
@running_options
def command(
    case: str,
    store: str | None,
    out: Path,
    oracle: str,
    targets: str | None,
    seed: int,
    sections: Any,
    fail_on: FailOn,
    output_format: str,
    quiet: bool,
    **running: Any,
) -> int:
    """Run CASE (a file, or the id of a finding) again, on its own targets or on others: does it still fail?

    It is run twice, in fresh processes. Exits 1 if it still fails, 0 if it is fixed (or flaky), 3 if it cannot run.
    """
    from ..commands.known_differences import with_known
    from ..commands.replay import replay
    from .progress import progress

    with progress(quiet) as listener:
        path, settings = case_file(case, store, out), runner_settings(**running)
        replayed = replay(path, targets, settings, listener, oracle=oracle, sections=sections)
    facts = with_known(replayed.facts, unmatched=False)
    show(facts, output_format, quiet, out)
    return exit_code(facts, fail_on, replayed.broken, asked=bool(targets))
