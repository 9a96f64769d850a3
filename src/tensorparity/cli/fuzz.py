"""``tensorparity fuzz``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

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


@click.command("fuzz")
@click.option("--models", type=click.IntRange(min=0), help="Run exactly this many networks, instead of a budget.")
@click.option("--cases", type=click.IntRange(min=0), help="The same as --models.")
@click.option(
    "--budget",
    type=Duration(),
    default=300.0,
    help="Time for the whole run, a third of it for confirming and reducing.  [default: 5m]",
)
@click.option("--layers", default="", metavar="A,B,...", help="Layers to choose from.  [default: the whole catalogue]")
@click.option(
    "--stages",
    default="forward,loss,backward,update,losses,metrics,functions,reloads,kinks",
    show_default=True,
    help="Stages to compare.",
)
@click.option("--data", default="", metavar="NAME,...", help="Data sets whose shapes the networks take, or paper.")
@click.option(
    "--policies",
    default="",
    metavar="NAME,...",
    help="Dtype policies of the networks: float32, float64, mixed_float16, ...; by default all, float32 mostly.",
)
@click.option("--unit", is_flag=True, help="One layer per network, with reshaping around it (the paper's Muffin-UT).")
@click.option("--plain", is_flag=True, help="Networks as in the paper, by 1/(c+1) alone; see --protocol.")
@click.option(
    "--protocol",
    type=click.Choice(["paper"]),
    help="Muffin as published: its structures, data sets, stages and rule, in training, and nothing else.",
)
@click.option("--threshold", type=click.FloatRange(min=0), help="t of --oracle muffin.  [default: 0.15]")
@click.option("--epsilon", type=click.FloatRange(min=0), help="epsilon of --oracle muffin.  [default: 1e-5]")
@click.option("--vertices", type=click.IntRange(min=1), default=30, show_default=True, help="MAX_v of the paper.")
@click.option("--cells", type=click.IntRange(min=1), default=5, show_default=True, help="MAX_c of the paper.")
@click.option(
    "--line-coverage",
    default="",
    metavar="PACKAGE",
    help="Count the Python lines of a package that are executed, for example keras; slow.",
)
@click.option(
    "--oracle", default="", metavar="NAME", help="What decides; muffin is the paper's rule.  [default: training_step]"
)
@click.option(
    "--store", metavar="URL", help="The folder or database that keeps the campaign.  [default: the --out folder]"
)
@click.option("--resume", is_flag=True, help="Continue the last run with this seed and these settings.")
@click.option("--out", type=OutFolder(), default=DEFAULT_OUT, show_default=True)
@reducing_options
@settings_option
@running_options
def command(
    models: int | None,
    cases: int | None,
    budget: float,
    layers: str,
    stages: str,
    data: str,
    policies: str,
    unit: bool,
    plain: bool,
    protocol: str | None,
    threshold: float | None,
    epsilon: float | None,
    vertices: int,
    cells: int,
    line_coverage: str,
    oracle: str,
    store: str | None,
    resume: bool,
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
    """Generate networks and compare a training step of each across targets: forward, loss, backward, update."""
    from ..commands.fuzz import FuzzSettings, fuzz, read_data, read_layers, read_single_cases, read_stages
    from ..commands.known_differences import with_known
    from ..generators.networks.networks import NetworkSettings
    from ..generators.networks.policies import read_policies
    from ..oracles.kinds import MUFFIN, check_choice
    from ..targets.selection import choose_for_fuzz, choose_targets, choose_voters
    from .progress import progress

    if oracle:
        check_choice(oracle)  # refused before anything is started
    if protocol:
        oracle = MUFFIN
    count = models if models is not None else cases
    settings = FuzzSettings(
        targets=choose_targets(targets) if targets else choose_voters() if oracle == MUFFIN else choose_for_fuzz(),
        protocol=protocol or "",
        rule={name: value for name, value in (("t", threshold), ("epsilon", epsilon)) if value is not None},
        seed=seed,
        budget=budget,
        models=count,
        stages=read_stages(stages),
        single_cases=read_single_cases(stages),
        oracle=oracle,
        sections=sections,
        networks=NetworkSettings(
            layers=read_layers(layers),
            data=read_data(data),
            policies=read_policies(policies),
            unit=unit,
            steered=not plain,
            varied=not plain,
            max_cells=cells,
            max_vertices=vertices,
        ),
        store=store or out,
        resume=resume,
        folder=out if store and "://" in store else None,  # a database keeps no files
        # Who asks for a number of networks waits until each defect has its script; a budget bounds that, too.
        reducing=reducing_settings(
            no_reduce, reduce_budget, most=math.inf if count is not None else budget, try_settings=try_settings
        ),
        runner=replace(runner_settings(**running), lines=line_coverage),
    )
    with progress(quiet, budget=budget if count is None else None, targets=settings.targets) as listener:
        fuzzed = fuzz(settings, listener)
    facts = with_known(fuzzed.facts)
    report = write_report(facts, out)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        from rich.console import Console

        from ..reporting.fuzz_tables import render

        render(facts, Console())
        click.echo(f"Store:  {fuzzed.store}")
        click.echo(f"Report: {report}")
    given = click.get_current_context().get_parameter_source("stages") is not ParameterSource.DEFAULT
    return exit_code(facts, fail_on, fuzzed.broken or (given and bool(fuzzed.unreached)), asked=bool(targets))
