"""``tensorparity equiv``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..reporting.facts import Facts
from .exit_codes import FailOn, exit_code
from .options import (
    DEFAULT_OUT,
    Duration,
    reducing_options,
    reducing_settings,
    runner_settings,
    running_options,
    settings_option,
    show,
    split_names,
    write_report,
)


@click.command("equiv")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="NAME,...",
    help="Test only these rules, by name or by the paper's number.",
)
@click.option(
    "--api",
    "apis",
    multiple=True,
    metavar="GLOB,...",
    help="Test only functions with these names, such as 'torch.fft.*'.",
)
@click.option(
    "--inputs", type=click.IntRange(min=1), default=400, show_default=True, help="Inputs for each rule and function."
)
@click.option("--list", "only_list", is_flag=True, help="List what would be tested, without running it.")
@click.option("--budget", type=Duration(), default=None, help="Time for the whole run.  [default: no limit]")
@click.option("--cases", type=click.IntRange(min=0), help="Run exactly this many cases.")
@click.option("--oracle", default="", metavar="NAME", help="What decides; eagle is the paper's rule.")
@click.option("--resume", is_flag=True, help="Continue the last run with this seed and these settings.")
@click.option(
    "--store", metavar="URL", help="The folder or database that keeps the campaign.  [default: the --out folder]"
)
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True)
@reducing_options
@settings_option
@running_options
def command(
    rules: tuple[str, ...],
    apis: tuple[str, ...],
    inputs: int,
    only_list: bool,
    budget: float | None,
    cases: int | None,
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
    """Compute every function of a library in two ways that must agree: compiled, padded, strided, saved, ..."""
    from ..commands.equiv import EquivSettings, choose_libraries, equiv, list_equivalences
    from ..commands.hunt import HuntSettings
    from ..commands.known_differences import with_known
    from ..oracles.kinds import check_choice
    from .progress import progress

    if oracle:
        check_choice(oracle)  # refused before anything is started
    most = None if budget is None else budget / 2
    run = HuntSettings(
        targets=choose_libraries(targets),
        sections=sections,
        seed=seed,
        budget=budget if budget is not None else float("inf"),
        cases=cases,
        oracle=oracle,
        store=store or out,
        folder=out if store and "://" in store else None,  # a database keeps no files
        resume=resume,
        runner=runner_settings(**running),
        reducing=reducing_settings(no_reduce, reduce_budget, most=most, try_settings=try_settings, budget=budget),
    )
    settings = EquivSettings(run, split_names(rules), split_names(apis), inputs)
    if only_list:
        return _show_list(list_equivalences(settings), output_format)
    with progress(quiet, budget=budget, targets=run.targets) as listener:
        done = equiv(settings, listener)
    facts = with_known(done.facts)
    report = write_report(facts, out)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        from rich.console import Console

        from ..reporting.equiv_tables import render

        render(facts, Console())
        click.echo(f"Store:  {done.store}")
        click.echo(f"Report: {report}")
    return exit_code(facts, fail_on, done.broken, asked=bool(targets))


def _show_list(facts: Facts, output_format: str) -> int:
    """One line per function, or the document."""
    if output_format != "text":
        show(facts, output_format, quiet=False)
        return 0
    for entry in facts.apis or ():
        click.echo(f"{entry['api']}: {', '.join(entry['rules'])}")
    click.echo(f"{len(facts.apis or ())} functions")
    return 0
