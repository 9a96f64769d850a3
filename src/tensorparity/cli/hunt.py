"""``tensorparity hunt``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .exit_codes import FailOn, exit_code
from .options import (
    DEFAULT_OUT,
    Duration,
    OutFolder,
    reducing_options,
    reducing_settings,
    runner_settings,
    running_options,
    settings_option,
    show,
    split_names,
    write_report,
)


@click.command("hunt")
@click.option(
    "--budget",
    type=Duration(),
    default=300.0,
    help="Time for the whole run, a third of it for confirming and reducing.  [default: 5m]",
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
@click.option(
    "--oracle",
    default="",
    metavar="NAME",
    help="What decides: parity, or as in the papers cradle (models) or muffin (training steps).  [default: parity]",
)
@click.option("--resume", is_flag=True, help="Continue the last hunt with this seed and these settings.")
@click.option(
    "--store", metavar="URL", help="The folder or database that keeps the campaign.  [default: the --out folder]"
)
@click.option("--out", type=OutFolder(), default=DEFAULT_OUT, show_default=True)
@reducing_options
@settings_option
@running_options
def command(
    budget: float,
    cases: int | None,
    engines: tuple[str, ...],
    oracle: str,
    resume: bool,
    store: str | None,
    out: Path,
    no_reduce: bool,
    reduce_budget: float,
    try_settings: bool | None,
    targets: str | None,
    seed: int,
    sections: Any,
    fail_on: FailOn,
    output_format: str,
    quiet: bool,
    **running: Any,
) -> int:
    """Run all engines under one budget against the installed targets; the main job."""
    from ..commands.hunt import HuntSettings, hunt
    from ..commands.known_differences import with_known
    from ..oracles.kinds import check_choice
    from ..targets.selection import choose_for_hunt, native_libraries
    from .progress import progress

    if oracle:
        check_choice(oracle)  # refused before anything is started
    chosen = choose_for_hunt(targets)
    settings = HuntSettings(
        targets=chosen,
        libraries=native_libraries(chosen) if targets is None else (),
        engines=split_names(engines),
        sections=sections,
        seed=seed,
        budget=budget,
        cases=cases,
        oracle=oracle,
        store=store or out,
        folder=out if store and "://" in store else None,  # a database keeps no files
        resume=resume,
        runner=runner_settings(**running),
        reducing=reducing_settings(
            no_reduce, reduce_budget, most=None if cases is not None else budget, try_settings=try_settings
        ),
    )
    with progress(quiet, budget=budget if cases is None else None, targets=settings.targets) as listener:
        hunted = hunt(settings, listener)
    facts = with_known(hunted.facts)
    report = write_report(facts, out)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        click.echo(f"Store:  {hunted.store}")
        click.echo(f"Report: {report}")
    return exit_code(facts, fail_on, hunted.broken, asked=bool(targets))
