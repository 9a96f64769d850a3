"""``tensorparity equiv``."""

from __future__ import annotations

import math

import click

from ..reporting.facts import Facts
from .campaigns import Run, campaign_options
from .options import Duration, show, split_names


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
    help=(
        "Test only functions with these names, such as 'torch.fft.*'; without --budget, rules that take a compiler "
        "seconds for each call are left out, unless --rule names them."
    ),
)
@click.option(
    "--inputs", type=click.IntRange(min=1), default=400, show_default=True, help="Inputs for each rule and function."
)
@click.option("--list", "only_list", is_flag=True, help="List what would be tested, without running it.")
@click.option(
    "--budget",
    type=Duration(),
    default=None,
    help=(
        "Time for the whole run; the last 15 % of its search are for rules that take a compiler seconds for each call."
        "  [default: no limit]"
    ),
)
@click.option("--cases", type=click.IntRange(min=0), help="Run exactly this many cases.")
@campaign_options("The oracle that decides; eagle is the paper's rule.")
def command(
    run: Run,
    rules: tuple[str, ...],
    apis: tuple[str, ...],
    inputs: int,
    only_list: bool,
    budget: float | None,
    cases: int | None,
) -> int:
    """Compute every function of a library in two ways that must agree: plain and compiled, padded, saved, ..."""
    from ..commands.equiv import EquivSettings, choose_libraries, equiv, list_equivalences
    from ..commands.hunt import HuntSettings
    from ..reporting.equiv_tables import render

    hunt = HuntSettings(
        targets=choose_libraries(run.targets),
        budget=math.inf if budget is None else budget,
        cases=cases,
        resume=run.resume,
        reducing=run.reducing(most=None if budget is None else budget / 2, budget=budget),
        **run.settings(),
    )
    settings = EquivSettings(hunt, split_names(rules), split_names(apis), inputs)
    if only_list:
        return _show_list(list_equivalences(settings), run.output_format)
    with run.progress(budget, hunt.targets) as listener:
        done = equiv(settings, listener)
    return run.finish(done, store=done.store, tables=render)


def _show_list(facts: Facts, output_format: str) -> int:
    """One line per function, or the document."""
    if output_format != "text":
        show(facts, output_format, quiet=False)
        return 0
    for entry in facts.apis or ():
        click.echo(f"{entry['api']}: {', '.join(entry['rules'])}")
    click.echo(f"{len(facts.apis or ())} functions")
    return 0
