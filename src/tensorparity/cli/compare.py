"""``tensorparity compare MODEL``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..core.procedure import Recipe
from .campaigns import Run, campaign_options, gathered
from .options import Counts, Duration, parse_recipe


def _data(data: Path | None, draws: tuple[str, ...], instances: int | None, cases: int | None) -> dict[str, Any]:
    """Where inputs come from, and how many."""
    from ..generators.inputs.models import parse_draw

    drawn = dict(parse_draw(text) for text in draws)
    return {"data": data, "draws": drawn, "instances": instances if instances is not None else cases}


def _training(steps: int | None, optimizer: str, loss: str | None) -> dict[str, Any]:
    """How to train, batches aside."""
    from ..generators.training import check_recipes

    how, by = parse_recipe(optimizer), parse_recipe(loss) if loss else None
    check_recipes(how, by)
    if how.name == "SGD" and not how.params:
        how = Recipe("SGD", {"learning_rate": 0.01})
    return {"steps": steps, "optimizer": how, "loss": by}


def _rule(
    class_threshold: float | None,
    mad_threshold: float | None,
    accuracy_threshold: float | None,
    metric: str,
    k: int,
    share: float,
) -> Any:
    """CRADLE's rule."""
    from ..oracles.pair import PairSettings

    thresholds = {"class": class_threshold, "mad": mad_threshold, "accuracy": accuracy_threshold}
    given = {name: value for name, value in thresholds.items() if value is not None}
    return PairSettings(given, share, k, metric)


def _stress(stress: bool, stress_generations: int, weight_tolerance: float) -> Any:
    """How to search for the input on which targets differ most, or None."""
    from ..engines.audee.stress import StressSettings

    return StressSettings(stress_generations, weight_tolerance) if stress else None


@click.command("compare")
@click.argument("model")
@click.option(
    "--data", type=click.Path(path_type=Path), help="An .npz file with x (or one array per input) and labels y."
)
@click.option(
    "--input",
    "draws",
    multiple=True,
    metavar="NAME=SHAPE:dtype:low..high",
    help="Shape, dtype and range of an input that is drawn at random.",
)
@click.option("--instances", type=click.IntRange(min=1), help="Use at most this many inputs.")
@click.option("--cases", type=click.IntRange(min=1), help="The same as --instances.")
@click.option(
    "--budget", type=Duration(), help="Time for the whole run; a third of it is reserved for confirming and reducing."
)
@click.option(
    "--batch-size", type=click.IntRange(min=1), help="Batch size in which the model runs.  [default: the library's]"
)
@click.option(
    "--batch-sizes",
    type=Counts(),
    default=(),
    help="Also run with these batch sizes, and compare each target with itself.",
)
@click.option("--threads", type=Counts(), default=(), help="Run each target with each of these numbers of threads.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    help="Run each target this many times, and compare it with itself.",
)
@click.option(
    "--steps", type=click.IntRange(min=1), help="Also train for this many steps on every target, and compare."
)
@click.option(
    "--optimizer", default="SGD", show_default=True, metavar="NAME[:param=value,...]", help="The optimizer of --steps."
)
@click.option("--loss", metavar="NAME[:param=value,...]", help="The loss of --steps.  [default: chosen by the labels]")
@click.option(
    "--class-threshold", type=float, help="CRADLE's threshold T_C of the class distance.  [default: 8, for k = 5]"
)
@click.option("--mad-threshold", type=float, help="CRADLE's threshold T_M of the MAD distance.  [default: 0.2]")
@click.option("--accuracy-threshold", type=float, help="Threshold T_AC of --metric accuracy, in percent.  [default: 0]")
@click.option(
    "--metric",
    type=click.Choice(["auto", "class", "mad", "accuracy"]),
    default="auto",
    help="What --oracle cradle measures: by the task (auto), class distance, MAD distance or top-k accuracy.  "
    "[default: auto]",
)
@click.option(
    "--k",
    type=click.IntRange(min=1),
    default=5,
    help="CRADLE's k, by which T_C and the bins are scaled.  [default: 5]",
)
@click.option("--threshold-study", is_flag=True, help="Also count what other thresholds would report.")
@click.option("--protocol", type=click.Choice(["paper"]), help="CRADLE as published: --oracle cradle and nothing else.")
@click.option(
    "--share",
    type=click.FloatRange(0, 100),
    default=0.0,
    help="CRADLE's p: the share of inputs, in percent, that must exceed the threshold.  [default: 0]",
)
@click.option(
    "--localize",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Run each layer alone: where outputs differ (auto), always or never.",
)
@click.option(
    "--stress", is_flag=True, help="Search within the data's range for the input on which targets differ most."
)
@click.option(
    "--stress-generations",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Generations of each search of --stress.",
)
@click.option(
    "--weight-tolerance",
    type=click.FloatRange(min=0.0),
    default=0.0,
    show_default=True,
    help="How far --stress may move a weight, in standard deviations of its array.",
)
@click.option("--redact", is_flag=True, help="Leave inputs, outputs and scripts out of the reports.")
@campaign_options(
    "The oracle that decides: parity, or cradle as in the paper.",
    default="parity",
    resumable=False,
    tries_settings=False,
)
@gathered("data", _data)
@gathered("training", _training)
@gathered("rule", _rule)
@gathered("stress", _stress)
def command(
    run: Run,
    model: str,
    data: Mapping[str, Any],
    budget: float | None,
    batch_size: int | None,
    batch_sizes: tuple[int, ...],
    threads: tuple[int, ...],
    repeat: int,
    training: Mapping[str, Any],
    rule: Any,
    threshold_study: bool,
    protocol: str | None,
    localize: str,
    stress: Any,
    redact: bool,
) -> int:
    """Compare MODEL across targets: is it the same everywhere?

    MODEL is a .keras, .h5, .onnx or .pt2 file, MODULE:FUNCTION, app:NAME or zoo:NAME. If it differs, the layer and the
    target that is wrong are named, and each defect is reduced to a script. Exits 0 if nothing is wrong, 1 if something
    is.
    """
    from ..commands.compare import CompareSettings, compare
    from ..generators.training import Schedule
    from ..oracles.kinds import CRADLE
    from ..reporting.redaction import redacted
    from ..targets.selection import choose_for_model, with_threads

    run = replace(run, oracle=CRADLE) if protocol else run
    selection = choose_for_model(model, run.targets)
    settings = CompareSettings(
        targets=with_threads(selection.targets, threads),
        notes=selection.notes,
        budget=budget,
        pairs=rule,
        study=threshold_study,
        beyond=not protocol,
        localize=localize,
        batch_size=batch_size,
        batch_sizes=batch_sizes,
        repeat=repeat,
        schedule=Schedule(batch_size=batch_size or 32, **training) if training["steps"] is not None else None,
        reducing=run.reducing(),
        stress=stress,
        **data,
        **run.settings(),
    )
    with run.progress(budget, settings.targets) as listener:
        compared = compare(model, settings, listener)
    return run.finish(compared, change=redacted if redact else None)
