"""``tensorparity compare MODEL``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..core.procedure import Recipe
from .exit_codes import FailOn, exit_code
from .options import (
    DEFAULT_OUT,
    Counts,
    Duration,
    OutFolder,
    parse_recipe,
    reducing_options,
    reducing_settings,
    runner_settings,
    running_options,
    show,
    write_report,
)


@click.command("compare")
@click.argument("model")
@click.option("--data", type=click.Path(path_type=Path), help="An .npz with x (or one array per input) and y.")
@click.option("--input", "draws", multiple=True, metavar="NAME=SHAPE:dtype:low..high", help="How to draw an input.")
@click.option("--instances", type=click.IntRange(min=1), help="Use at most this many inputs.")
@click.option("--cases", type=click.IntRange(min=1), help="The same as --instances.")
@click.option("--budget", type=Duration(), help="Time for the whole run, a third of it for confirming and reducing.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Batch size of predict.  [default: the library's]")
@click.option(
    "--batch-sizes",
    type=Counts(),
    default=(),
    help="Also run with these batch sizes, and compare each target with itself.",
)
@click.option("--threads", type=Counts(), default=(), help="Run each target with each of these numbers of threads.")
@click.option(
    "--repeat", type=click.IntRange(min=1), default=1, help="Run each target this often, and compare it with itself."
)
@click.option(
    "--steps", type=click.IntRange(min=1), help="Also train for this many steps on every target, and compare."
)
@click.option(
    "--optimizer", default="SGD", show_default=True, metavar="NAME[:param=value,...]", help="The optimizer of --steps."
)
@click.option("--loss", metavar="NAME[:param=value,...]", help="The loss of --steps.  [default: chosen by the labels]")
@click.option("--oracle", default="parity", show_default=True, help="What decides: parity, or cradle as in the paper.")
@click.option("--class-threshold", type=float, help="CRADLE's T_C.  [default: 8, for k = 5]")
@click.option("--mad-threshold", type=float, help="CRADLE's T_M.  [default: 0.2]")
@click.option("--accuracy-threshold", type=float, help="T_AC of --metric accuracy, in percent.  [default: 0]")
@click.option(
    "--metric",
    type=click.Choice(["auto", "class", "mad", "accuracy"]),
    default="auto",
    help="What decides for --oracle cradle: by the task, or MAD for classifiers too, or top-k accuracy.",
)
@click.option(
    "--k",
    type=click.IntRange(min=1),
    default=5,
    help="CRADLE's k; T_C and the bins are scaled with it.  [default: 5]",
)
@click.option("--threshold-study", is_flag=True, help="Also count what other thresholds of CRADLE's would report.")
@click.option("--protocol", type=click.Choice(["paper"]), help="CRADLE as published: --oracle cradle and nothing else.")
@click.option("--share", type=click.FloatRange(0, 100), default=0.0, help="CRADLE's p, in percent.  [default: 0]")
@click.option("--localize", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--stress", is_flag=True, help="Search the data's range for the input on which targets differ most.")
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
@click.option("--store", metavar="URL", help="The folder or database that keeps findings.  [default: the --out folder]")
@click.option("--out", type=OutFolder(), default=DEFAULT_OUT, show_default=True)
@click.option("--redact", is_flag=True, help="Leave inputs, outputs and scripts out of the reports.")
@reducing_options
@running_options
def command(
    model: str,
    data: Path | None,
    draws: tuple[str, ...],
    instances: int | None,
    cases: int | None,
    budget: float | None,
    batch_size: int | None,
    batch_sizes: tuple[int, ...],
    threads: tuple[int, ...],
    repeat: int,
    steps: int | None,
    optimizer: str,
    loss: str | None,
    oracle: str,
    class_threshold: float | None,
    mad_threshold: float | None,
    accuracy_threshold: float | None,
    metric: str,
    k: int,
    threshold_study: bool,
    protocol: str | None,
    share: float,
    localize: str,
    stress: bool,
    stress_generations: int,
    weight_tolerance: float,
    store: str | None,
    out: Path,
    redact: bool,
    no_reduce: bool,
    reduce_budget: float,
    targets: str | None,
    seed: int,
    fail_on: FailOn,
    sections: Any,
    output_format: str,
    quiet: bool,
    **running: Any,
) -> int:
    """Compare MODEL (a .keras, .h5 or .onnx file, app:NAME or zoo:NAME) across targets: is it the same everywhere?

    If not, the guilty layer and the target that is wrong are named, and each defect is reduced to a script.
    Exits 0 where nothing is wrong, 1 where something is.
    """
    from ..commands.compare import CompareSettings, compare
    from ..commands.known_differences import with_known
    from ..engines.audee.stress import StressSettings
    from ..generators.inputs.models import parse_draw
    from ..oracles.kinds import CRADLE, check_choice
    from ..oracles.pair import PairSettings
    from ..reporting.redaction import redacted
    from ..targets.selection import choose_for_model, with_threads
    from .progress import progress

    check_choice(oracle)
    if protocol:
        oracle = CRADLE
    thresholds = {"class": class_threshold, "mad": mad_threshold, "accuracy": accuracy_threshold}
    given = {name: value for name, value in thresholds.items() if value is not None}
    selection = choose_for_model(model, targets)
    settings = CompareSettings(
        targets=with_threads(selection.targets, threads),
        notes=selection.notes,
        data=data,
        draws=dict(parse_draw(text) for text in draws),
        seed=seed,
        instances=instances if instances is not None else cases,
        budget=budget,
        oracle=oracle,
        pairs=PairSettings(given, share, k, metric),
        study=threshold_study,
        beyond=not protocol,
        localize=localize,
        batch_size=batch_size,
        batch_sizes=batch_sizes,
        repeat=repeat,
        schedule=_schedule(steps, batch_size, optimizer, loss),
        store=store or out,
        folder=out if store and "://" in store else None,  # a database keeps no files
        runner=runner_settings(**running),
        sections=sections,
        reducing=reducing_settings(no_reduce, reduce_budget),
        stress=StressSettings(stress_generations, weight_tolerance) if stress else None,
    )
    with progress(quiet, budget=budget, targets=settings.targets) as listener:
        compared = compare(model, settings, listener)
    facts = with_known(compared.facts)
    facts = redacted(facts) if redact else facts
    report = write_report(facts, out)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        click.echo(f"Report: {report}")
    return exit_code(facts, fail_on, compared.broken, asked=bool(targets))


def _schedule(steps: int | None, batch_size: int | None, optimizer: str, loss: str | None) -> Any:
    """How to train, or None where nobody asked for it."""
    from ..generators.training import Schedule, check_recipes

    how, by = parse_recipe(optimizer), parse_recipe(loss) if loss else None
    check_recipes(how, by)
    if steps is None:
        return None
    if how.name == "SGD" and not how.params:
        how = Recipe("SGD", {"learning_rate": 0.01})
    return Schedule(steps, batch_size or 32, how, by)
