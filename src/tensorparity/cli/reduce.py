"""``tensorparity reduce CASE``."""

from __future__ import annotations

import click

from .campaigns import Run, case_run_options
from .options import Duration, case_file, check_writable


@click.command("reduce")
@click.option("--budget", type=Duration(), default=300.0, help="Time for reducing.  [default: 5m]")
@click.option(
    "--checks", type=click.IntRange(min=1), default=200, show_default=True, help="Run at most this many cases."
)
@case_run_options
def command(run: Run, case: str, budget: float, checks: int) -> int:
    """Find the simplest case that fails in the same way as CASE, and write it and a script into --out.

    Exits 1 if the case fails here, 0 if it does not, 3 if it cannot run.
    """
    from ..commands.reduce import reduce
    from ..triage.reduction.reducer import ReductionBudget

    check_writable(run.out)
    path = case_file(case, run.store, run.out)
    with run.progress() as listener:
        most = ReductionBudget(checks, budget)
        reduced = reduce(
            path, run.targets, run.runner, run.out, most, listener, oracle=run.oracle, sections=run.sections
        )
    return run.finish(reduced, page=None, unmatched=False)
