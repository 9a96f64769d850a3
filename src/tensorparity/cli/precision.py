"""``tensorparity precision``."""

from __future__ import annotations

import json
from typing import Any

import click

from ..core.errors import UsageError
from .campaigns import Run, campaign_options
from .options import Duration, settings_seconds, split_names

_STRATEGIES = (
    "guided; one of its sources: normal, wide, exponents, moderate, critical, overflow, cancellation, special; or the "
    "paper's random, linf, l1.  [default: guided; with --measure paper, the paper's three]"
)


@click.command("precision")
@click.option(
    "--op", "operators", multiple=True, metavar="GLOB", help="Operators to search; may be repeated.  [default: all]"
)
@click.option("--dtype", "dtypes", multiple=True, help="Dtypes: float16, bfloat16, float32, float64.  [default: all]")
@click.option("--strategy", "strategies", multiple=True, help=_STRATEGIES)
@click.option("--mode", "modes", multiple=True, help="input_mode, op_mode or default.  [default: the first two]")
@click.option(
    "--measure",
    default="operator",
    show_default=True,
    help="operator: the true error; paper: the difference between precisions.",
)
@click.option(
    "--inputs",
    type=click.IntRange(min=1),
    help="Inputs per operator, dtype and run.  [default: 20000; 400 for a sweep of all operators]",
)
@click.option("--cases", type=click.IntRange(min=1), help="The same as --inputs.")
@click.option(
    "--times", type=click.IntRange(min=1), default=1, help="Apply the operator this many times, for --measure paper."
)
@click.option("--shape", metavar="N,N,...", help="Shape of an input, for --measure paper.  [default: the operator's]")
@click.option(
    "--size", type=click.IntRange(min=1), help="Seeds in a corpus, for --measure paper.  [default: the size of a group]"
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter with a fixed value, for --measure paper.",
)
@click.option("--protocol", type=click.Choice(["paper"]), help="Predoo as published: the same as --measure paper.")
@click.option(
    "--models/--no-models", default=None, help="Also compare LeNet-5 and VGG-16.  [default: with the paper's seven]"
)
@click.option(
    "--budget",
    type=Duration(),
    help="Time for the whole run; two thirds are for searching, and half of that for compiled targets.",
)
@campaign_options(
    "The oracle that judges the worst inputs; one that does not judge operators judges none.  [default: precision]",
    resumable=False,
    reduces=False,
)
def command(
    run: Run,
    operators: tuple[str, ...],
    dtypes: tuple[str, ...],
    strategies: tuple[str, ...],
    modes: tuple[str, ...],
    measure: str,
    inputs: int | None,
    cases: int | None,
    times: int,
    shape: str | None,
    size: int | None,
    params: tuple[str, ...],
    protocol: str | None,
    models: bool | None,
    budget: float | None,
) -> int:
    """Search for the largest precision error of each operator, and say which are wrong.

    By default, every operator runs on every installed library, but not on compilers; '--targets all' adds those.
    '--measure paper' is Predoo's own experiment, on TensorFlow. Options that may be repeated also take several values
    separated by commas.
    """
    from ..commands.precision import (
        INPUTS,
        SWEEP_INPUTS,
        TABLE_3,
        PrecisionSettings,
        choose_operator_targets,
        precision,
    )
    from ..operators.functions.catalogue import SEVEN

    measure = protocol or measure
    operators = split_names(operators)
    if measure == "paper" and not operators:
        operators = SEVEN
    with_models = models if models is not None else measure == "paper" and set(SEVEN) <= set(operators)
    settings = PrecisionSettings(
        targets=choose_operator_targets(run.targets, measure),
        operators=operators,
        dtypes=split_names(dtypes),
        strategies=split_names(strategies),
        modes=split_names(modes),
        measure=measure,
        inputs=inputs or cases or (INPUTS if operators else SWEEP_INPUTS),
        times=times,
        shape=_sizes(shape),
        size=size,
        params=dict(_param(text) for text in params),
        budget=budget,
        settings_seconds=settings_seconds(run.try_settings, budget),
        models=TABLE_3 if with_models else (),
        **run.settings(),
    )
    with run.progress(budget, settings.targets) as listener:
        searched = precision(settings, listener)
    return run.finish(searched)


def _sizes(text: str | None) -> tuple[int, ...]:
    """The sizes of a shape.

    Raises:
        UsageError: if they are no numbers above 0.
    """
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise UsageError(f"--shape wants sizes, for example 28,28,3. Received: {text!r}")
    return tuple(map(int, parts))


def _param(text: str) -> tuple[str, Any]:
    """A parameter and its value, as JSON where it is any.

    Raises:
        UsageError: if it is not NAME=VALUE.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--param wants NAME=VALUE, for example strides=2. Received: {text!r}")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value
