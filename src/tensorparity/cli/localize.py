"""``tensorparity localize CASE``."""

from __future__ import annotations

import click

from ..oracles.measure.localizers import BESIDE_THE_REPLAY
from .campaigns import Run, case_run_options
from .options import case_file, check_writable


@click.command("localize")
@click.option(
    "--by",
    type=click.Choice(list(BESIDE_THE_REPLAY)),
    default="replay",
    show_default=True,
    help="replay runs each layer alone; audee also tries other values of a guilty layer's parameters, and names "
    "those that matter.",
)
@case_run_options
def command(run: Run, case: str, by: str) -> int:
    """Find the layer of CASE's model where the difference arises: each layer runs alone, on identical inputs.

    The HTML report has the map. Exits 1 if a layer is wrong, 0 if none is, 3 if the case cannot run.
    """
    from ..commands.localize import localize

    check_writable(run.out)

    with run.progress() as listener:
        path = case_file(case, run.store, run.out)
        localized = localize(path, run.targets, run.runner, listener, oracle=run.oracle, sections=run.sections, by=by)
    return run.finish(localized, page=path.stem, unmatched=False)
