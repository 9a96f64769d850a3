"""``tensorparity localize CASE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .exit_codes import FailOn, exit_code
from .options import case_file, case_options, runner_settings, running_options, show, write_report


@click.command("localize")
@click.option(
    "--by",
    type=click.Choice(["replay", "audee"]),
    default="replay",
    show_default=True,
    help="audee also tries other values of each parameter of a guilty layer, and names those that are guilty.",
)
@case_options
@running_options
def command(
    by: str,
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
    """Find the layer of CASE's model where the difference arises: each runs alone, on identical inputs, everywhere.

    The HTML report has the map. Exits 1 if a layer is wrong, 0 if none is, 3 if the case cannot run.
    """
    from ..commands.known_differences import with_known
    from ..commands.localize import localize
    from .progress import progress

    with progress(quiet) as listener:
        path, settings = case_file(case, store, out), runner_settings(**running)
        localized = localize(path, targets, settings, listener, oracle=oracle, sections=sections, by=by)
    facts = with_known(localized.facts, unmatched=False)
    report = write_report(facts, out, path.stem)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        click.echo(f"Report: {report}")
    return exit_code(facts, fail_on, localized.broken, asked=bool(targets))
