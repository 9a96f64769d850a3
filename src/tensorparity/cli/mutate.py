"""``tensorparity mutate``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from .campaigns import Run, campaign_options, gathered
from .options import Duration

_LEVELS = ("net", "input", "weight", "input+weight", "all")


def _search(population: int, parents: int, crossover: float, mutation: float, scale: float) -> Any:
    """The constants of Algorithm 1."""
    from ..generators.search.genetic import SearchSettings

    return SearchSettings(population, parents, crossover, mutation, scale)


def _engine(levels: tuple[str, ...], goals: tuple[str, ...], searched: int, protocol: str | None, **given: Any) -> Any:
    """The engine's settings; which levels are searched depends on what is searched for."""
    from ..engines.audee.settings import GOALS, AudeeSettings, paper_settings
    from ..generators.search.genetic import LEVELS

    wanted = LEVELS if "all" in levels else tuple(level for level in LEVELS if level in levels)
    default = LEVELS if protocol else ("input", "weight") if goals != ("nan",) else ("input+weight",)
    settings = AudeeSettings(
        levels=wanted if levels else default,
        goals=goals or (GOALS if protocol else ("inconsistency",)),
        searched=searched if levels != ("net",) else 0,
        **given,
    )
    return paper_settings(settings) if protocol else settings


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
    help="Share of variants that have one value that the API should refuse.",
)
@click.option(
    "--level",
    "levels",
    type=click.Choice(_LEVELS),
    multiple=True,
    help="What to search on variants that did not fail; net searches nothing.  [default: input and weight]",
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
    help="How many variants to search for each pair of targets.",
)
@click.option(
    "--generations", type=click.IntRange(min=1), default=20, show_default=True, help="Generations of each search."
)
@click.option("--search-budget", "search_seconds", type=Duration(), help="Time for each search.  [default: no limit]")
@click.option(
    "--population",
    type=click.IntRange(min=2),
    default=64,
    show_default=True,
    help="Individuals in a search, n of Algorithm 1.",
)
@click.option(
    "--parents", type=click.IntRange(min=1), default=8, show_default=True, help="Survivors of a generation, m."
)
@click.option(
    "--crossover",
    type=click.FloatRange(0.0, 1.0),
    default=0.5,
    show_default=True,
    help="Share of genes from the first parent, r1.",
)
@click.option(
    "--mutation",
    type=click.FloatRange(0.01, 1.0),
    default=0.9,
    show_default=True,
    help="Share of children that are mutated, r2.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0.0, min_open=True),
    default=0.1,
    show_default=True,
    help="Scale of the Cauchy noise, in standard deviations of what it changes.",
)
@click.option(
    "--within",
    type=click.Choice(["anything", "data"]),
    default="anything",
    show_default=True,
    help="How far a search may go; data keeps inputs in the range of the data, and weights within three standard "
    "deviations. What fails beyond that is counted by its cause and never filed.",
)
@click.option(
    "--keep",
    "kept",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Individuals that failed within these bounds and are judged, of each search; the others are counted.",
)
@click.option(
    "--fitness-layer",
    "watch",
    default="",
    metavar="LAYER",
    help="The layer whose distance is the fitness.  [default: the logits]",
)
@click.option(
    "--inputs", type=click.IntRange(min=1), default=10_000, show_default=True, help="Use at most this many test inputs."
)
@click.option("--data", type=click.Path(path_type=Path, dir_okay=False), help="An .npz file with inputs of your own.")
@click.option(
    "--protocol",
    type=click.Choice(["paper"]),
    help="The paper's settings: 500 variants, 20 searched, half an hour each.",
)
@click.option("--budget", type=Duration(), help="Time for the whole run.  [default: no limit]")
@click.option("--cases", type=click.IntRange(min=0), help="Run exactly this many cases, instead of a budget.")
@campaign_options("The oracle that decides; audee is the paper's rule.  [default: parity]")
@gathered("search", _search)
def command(
    run: Run,
    models: tuple[str, ...],
    data: Path | None,
    protocol: str | None,
    budget: float | None,
    cases: int | None,
    **engine: Any,
) -> int:
    """Mutate the parameters of seed models, then search inputs and weights of the variants that did not fail."""
    from ..commands.mutate import MutateSettings, mutate, paper_models
    from ..reporting.mutate_tables import render
    from ..targets.selection import choose_targets, choose_trainers

    named = models or (paper_models() if protocol else ("zoo:lenet5",))
    settings = MutateSettings(
        targets=choose_targets(run.targets) if run.targets else choose_trainers(),
        models=[name for text in named for name in (paper_models() if text == "paper" else (text,))],
        audee=_engine(protocol=protocol, **engine),
        budget=budget,
        cases=cases,
        data=data,
        resume=run.resume,
        reducing=run.reducing(most=math.inf if budget is None else budget / 2, budget=budget),
        **run.settings(),
    )
    with run.progress(budget if cases is None else None, settings.targets) as listener:
        mutated = mutate(settings, listener)
    return run.finish(mutated, store=mutated.store, tables=render)
