"""``tensorparity fuzz``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from .campaigns import Run, campaign_options, gathered
from .options import Duration


def _networks(layers: str, data: str, policies: str, unit: bool, plain: bool, vertices: int, cells: int) -> Any:
    """What the networks are made of."""
    from ..commands.fuzz import read_data, read_layers
    from ..generators.networks.networks import NetworkSettings
    from ..generators.networks.policies import read_policies

    return NetworkSettings(
        layers=read_layers(layers),
        data=read_data(data),
        policies=read_policies(policies),
        unit=unit,
        steered=not plain,
        varied=not plain,
        max_cells=cells,
        max_vertices=vertices,
    )


def _rule(threshold: float | None, epsilon: float | None) -> dict[str, float]:
    """The constants of the paper's rule that are not the paper's."""
    return {name: value for name, value in (("t", threshold), ("epsilon", epsilon)) if value is not None}


@click.command("fuzz")
@click.option("--models", type=click.IntRange(min=0), help="Run exactly this many networks, instead of a budget.")
@click.option("--cases", type=click.IntRange(min=0), help="The same as --models.")
@click.option(
    "--budget",
    type=Duration(),
    default=300.0,
    help="Time for the whole run; a third of it is reserved for confirming and reducing.  [default: 5m]",
)
@click.option("--layers", default="", metavar="A,B,...", help="Layers to choose from.  [default: the whole catalogue]")
@click.option(
    "--stages",
    default="forward,loss,backward,update,losses,weights,metrics,functions,reloads,exports,kinks,initializers",
    show_default=True,
    help="Stages to compare.",
)
@click.option(
    "--data",
    default="",
    metavar="NAME,...",
    help="Data sets whose input shapes the networks use, or paper for the paper's.",
)
@click.option(
    "--policies",
    default="",
    metavar="NAME,...",
    help="Dtype policies of the networks: float32, float64, mixed_float16, ...  [default: all, mostly float32]",
)
@click.option("--unit", is_flag=True, help="One layer per network, with reshaping around it (the paper's Muffin-UT).")
@click.option("--plain", is_flag=True, help="Choose layers as in the paper, by 1/(c+1) alone; see --protocol.")
@click.option(
    "--protocol",
    type=click.Choice(["paper"]),
    help="Muffin as published: its structures, data sets, stages and rule, in training, and nothing else.",
)
@click.option("--threshold", type=click.FloatRange(min=0), help="The threshold t of --oracle muffin.  [default: 0.15]")
@click.option("--epsilon", type=click.FloatRange(min=0), help="The epsilon of --oracle muffin.  [default: 1e-5]")
@click.option(
    "--vertices",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="Most vertices of a network, the paper's MAX_v.",
)
@click.option(
    "--cells",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Most cells of a network, the paper's MAX_c.",
)
@click.option(
    "--line-coverage",
    default="",
    metavar="PACKAGE",
    help="Count the Python lines of a package that are executed, for example keras; slow.",
)
@campaign_options("The oracle that decides; muffin is the paper's rule.  [default: training_step]")
@gathered("networks", _networks)
@gathered("rule", _rule)
def command(
    run: Run,
    models: int | None,
    cases: int | None,
    budget: float,
    networks: Any,
    stages: str,
    protocol: str | None,
    rule: dict[str, float],
    line_coverage: str,
) -> int:
    """Generate networks and compare one training step of each across targets: forward, loss, backward, update."""
    from ..commands.fuzz import FuzzSettings, fuzz, read_single_cases, read_stages
    from ..core.oracle import counts_votes
    from ..oracles.kinds import MUFFIN, ORACLES
    from ..reporting.fuzz_tables import render
    from ..targets.selection import choose_for_fuzz, choose_targets, choose_voters, only_alone

    judge = MUFFIN if protocol else run.oracle
    run = replace(run, oracle=judge, runner=replace(run.runner, lines=line_coverage))
    voted = bool(judge) and counts_votes(ORACLES.get(judge))
    default = choose_voters if voted else choose_for_fuzz
    count = models if models is not None else cases
    settings = FuzzSettings(
        targets=choose_targets(run.targets) if run.targets else default(),
        protocol=protocol or "",
        rule=rule,
        budget=budget,
        models=count,
        stages=read_stages(stages),
        single_cases=read_single_cases(stages),
        only_alone=() if run.targets or voted else only_alone(),
        networks=networks,
        resume=run.resume,
        # Who asks for a number of networks waits until each defect has its script; a budget bounds that, too.
        reducing=run.reducing(most=math.inf if count is not None else budget),
        **run.settings(),
    )
    with run.progress(budget if count is None else None, settings.targets) as listener:
        fuzzed = fuzz(settings, listener)
    given = click.get_current_context().get_parameter_source("stages") is not ParameterSource.DEFAULT
    return run.finish(fuzzed, store=fuzzed.store, tables=render, broken=given and bool(fuzzed.unreached))
