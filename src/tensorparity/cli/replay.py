"""``tensorparity replay CASE``."""

from __future__ import annotations

import click

from .campaigns import Run, case_run_options
from .options import case_file


@click.command("replay")
@case_run_options
def command(run: Run, case: str) -> int:
    """Run CASE (a file, or the id of a finding) again, on its own targets or on others: does it still fail?

    It is run twice, in fresh processes. Exits 1 if it still fails, 0 if it no longer does (or is flaky), 3 if it
    cannot run.
    """
    from ..commands.replay import replay

    with run.progress() as listener:
        path = case_file(case, run.store, run.out)
        replayed = replay(path, run.targets, run.runner, listener, oracle=run.oracle, sections=run.sections)
    return run.finish(replayed, page=None, unmatched=False)
