"""``tensorparity reduce CASE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .exit_codes import FailOn, exit_code
from .options import Duration, case_file, case_options, runner_settings, running_options, show


@click.command("reduce")
@click.option("--budget", type=Duration(), default=300.0, help="Time for reducing.  [default: 5m]")
@click.option(
    "--checks", type=click.IntRange(min=1), default=200, show_default=True, help="Run at most this many cases."
)
@case_options
@running_options
def command(
    case: str,
    store: str | None,
    out: Path,
    oracle: str,
    budget: float,
    checks: int,
    targets: str | None,
    seed: int,
    sections: Any,
    fail_on: FailOn,
    output_format: str,
    quiet: bool,
    **running: Any,
) -> int:
    """Find the simplest case that fails in the same way as CASE, and write it and a script into --out.

    Exits 1 if the case fails here, 0 if it does not, 3 if it cannot run.
    """
    from ..commands.known_differences import with_known
    from ..commands.reduce import reduce
    from ..triage.reduction.reducer import ReductionBudget
    from .progress import progress

    path = case_file(case, store, out)
    with progress(quiet) as listener:
        settings, most = runner_settings(**running), ReductionBudget(checks, budget)
        reduced = reduce(path, targets, settings, out, most, listener, oracle=oracle, sections=sections)
    facts = with_known(reduced.facts, unmatched=False)
    show(facts, output_format, quiet, out)
    return exit_code(facts, fail_on, reduced.broken, asked=bool(targets))
