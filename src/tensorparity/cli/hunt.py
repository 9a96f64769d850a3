"""``tensorparity hunt``."""

from __future__ import annotations

import click

from .campaigns import Run, campaign_options
from .options import Duration, split_names


@click.command("hunt")
@click.option(
    "--budget",
    type=Duration(),
    default=300.0,
    help="Time for the whole run; a third of it is reserved for confirming and reducing.  [default: 5m]",
)
@click.option(
    "--cases", type=click.IntRange(min=0), help="Run exactly this many cases per engine, instead of a budget."
)
@click.option(
    "--engines",
    "--engine",
    "engines",
    multiple=True,
    metavar="A,B,...",
    help="Run only these engines; may be repeated.",
)
@campaign_options(
    "The oracle that decides: parity, or from the papers cradle (models) or muffin (training steps).  [default: parity]"
)
def command(run: Run, budget: float, cases: int | None, engines: tuple[str, ...]) -> int:
    """Run all engines under one budget against the installed targets."""
    from ..commands.hunt import HuntSettings, hunt
    from ..targets.selection import choose_for_hunt, native_libraries

    chosen = choose_for_hunt(run.targets)
    settings = HuntSettings(
        targets=chosen,
        libraries=native_libraries(chosen) if run.targets is None else (),
        engines=split_names(engines),
        budget=budget,
        cases=cases,
        resume=run.resume,
        reducing=run.reducing(most=None if cases is not None else budget),
        **run.settings(),
    )
    with run.progress(budget if cases is None else None, settings.targets) as listener:
        hunted = hunt(settings, listener)
    return run.finish(hunted, store=hunted.store)
