"""``tensorparity mutate``."""

from __future__ import annotations

import math
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
    write_report,
)

_LEVELS = ("net", "input", "weight", "input+weight", "all")


@click.command("mutate")
@click.option(
    "--seed-model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="zoo:NAME, app:NAME, a model file, or paper for the paper's seven; may be repeated.  [default: zoo:lenet5]",
)
@click.option(
    "--variants", type=click.IntRange(min=0), default=20, show_default=True, help="Variants of each seed model."
)
@click.option(
    "--invalid",
    type=click.FloatRange(0.0, 1.0),
    default=0.2,
    show_default=True,
    help="The share of variants with one value that the API should refuse.",
)
@click.option(
    "--level",
    "levels",
    type=click.Choice(_LEVELS),
    multiple=True,
    help="What is searched on variants that did not fail; net searches nothing.  [default: input and weight]",
)
@click.option(
    "--goal",
    "goals",
    type=click.Choice(["inconsistency", "nan"]),
    multiple=True,
    help="What a search looks for.  [default: inconsistency]",
)
@click.option(
    "--searched",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Variants that are searched, per pair of targets.",
)
@click.option(
    "--generations", type=click.IntRange(min=1), default=20, show_default=True, help="Generations of each search."
)
@click.option(
    "--search-budget", "search_seconds", type=Duration(), help="Time for each search.  [default: its generations alone]"
)
@click.option("--population", type=click.IntRange(min=2), default=64, show_default=True, help="n of Algorithm 1.")
@click.option("--parents", type=click.IntRange(min=1), default=8, show_default=True, help="m: how many survive.")
@click.option(
    "--crossover",
    type=click.FloatRange(0.0, 1.0),
    default=0.5,
    show_default=True,
    help="r1: genes of the first parent.",
)
@click.option(
    "--mutation", type=click.FloatRange(0.01, 1.0), default=0.9, show_default=True, help="r2: children that are moved."
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0.0, min_open=True),
    default=0.1,
    show_default=True,
    help="Scale of the Cauchy noise, in standard deviations of what it moves.",
)
@click.option(
    "--fitness-layer",
    default="",
    metavar="LAYER",
    help="The layer whose distance is the fitness.  [default: the logits]",
)
@click.option("--inputs", type=click.IntRange(min=1), default=10_000, show_default=True, help="Test inputs at most.")
@click.option("--data", type=click.Path(path_type=Path, dir_okay=False), help="An .npz file with inputs of your own.")
@click.option(
    "--protocol",
    type=click.Choice(["paper"]),
    help="The paper's settings: 500 variants, 20 searched, half an hour each.",
)
@click.option("--budget", type=Duration(), help="Time for the whole run.  [default: no limit]")
@click.option("--cases", type=click.IntRange(min=0), help="Run exactly this many cases, instead of a budget.")
@click.option("--resume", is_flag=True, help="Continue the last run with this seed and these settings.")
@click.option(
    "--oracle", default="", metavar="NAME", help="What decides; audee is the paper's rule.  [default: parity]"
)
@click.option(
    "--store", metavar="URL", help="The folder or database that keeps the campaign.  [default: the --out folder]"
)
@click.option("--out", type=OutFolder(), default=DEFAULT_OUT, show_default=True)
@reducing_options
@settings_option
@running_options
def command(
    models: tuple[str, ...],
    levels: tuple[str, ...],
    goals: tuple[str, ...],
    protocol: str | None,
    data: Path | None,
    budget: float | None,
    cases: int | None,
    resume: bool,
    oracle: str,
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
    **rest: Any,
) -> int:
    """Mutate the parameters of seed models, then search inputs and weights on those variants that did not fail."""
    from ..commands.known_differences import with_known
    from ..commands.mutate import MutateSettings, mutate, paper_models
    from ..oracles.kinds import check_choice
    from ..targets.selection import choose_targets, choose_trainers
    from .progress import progress

    if oracle:
        check_choice(oracle)  # refused before anything is started
    audee = _audee_settings(rest, levels, goals, protocol)
    named = models or (paper_models() if protocol else ("zoo:lenet5",))
    settings = MutateSettings(
        targets=choose_targets(targets) if targets else choose_trainers(),
        models=[name for text in named for name in (paper_models() if text == "paper" else (text,))],
        audee=audee,
        seed=seed,
        budget=budget,
        cases=cases,
        data=data,
        oracle=oracle,
        store=store or out,
        folder=out if store and "://" in store else None,
        resume=resume,
        reducing=reducing_settings(
            no_reduce,
            reduce_budget,
            most=math.inf if budget is None else budget / 2,
            try_settings=try_settings,
            budget=budget,
        ),
        runner=runner_settings(**rest),
        sections=sections,
    )
    with progress(quiet, budget=budget if cases is None else None, targets=settings.targets) as listener:
        mutated = mutate(settings, listener)
    facts = with_known(mutated.facts)
    report = write_report(facts, out)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        from rich.console import Console

        from ..reporting.mutate_tables import render

        render(facts, Console())
        click.echo(f"Store:  {mutated.store}")
        click.echo(f"Report: {report}")
    return exit_code(facts, fail_on, mutated.broken, asked=bool(targets))


def _audee_settings(rest: dict[str, Any], levels: tuple[str, ...], goals: tuple[str, ...], protocol: str | None) -> Any:
    """The engine's settings out of the options; what is left in ``rest`` are those of the runner."""
    from ..engines.audee.settings import GOALS, AudeeSettings, paper_settings
    from ..generators.search.genetic import LEVELS, SearchSettings

    search = SearchSettings(
        rest.pop("population"), rest.pop("parents"), rest.pop("crossover"), rest.pop("mutation"), rest.pop("scale")
    )
    wanted = LEVELS if "all" in levels else tuple(level for level in LEVELS if level in levels)
    default = LEVELS if protocol else ("input", "weight") if goals != ("nan",) else ("input+weight",)
    settings = AudeeSettings(
        variants=rest.pop("variants"),
        invalid=rest.pop("invalid"),
        levels=wanted if levels else default,
        goals=goals or (GOALS if protocol else ("inconsistency",)),
        searched=rest.pop("searched") if levels != ("net",) else 0,
        generations=rest.pop("generations"),
        search_seconds=rest.pop("search_seconds"),
        inputs=rest.pop("inputs"),
        watch=rest.pop("fitness_layer"),
        search=search,
    )
    rest.pop("searched", None)
    return paper_settings(settings) if protocol else settings
