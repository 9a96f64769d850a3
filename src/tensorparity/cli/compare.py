"""``tensorparity compare MODEL``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..core.finding import Class
from ..core.procedure import Recipe
from .options import (
    DEFAULT_OUT,
    Duration,
    exit_code,
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
@click.option("--instances", type=click.IntRange(min=1), help="Use at most so many inputs.")
@click.option("--cases", type=click.IntRange(min=1), help="The same as --instances.")
@click.option("--budget", type=Duration(), help="Time for reducing all defects.  [default: 5 times --reduce-budget]")
@click.option("--batch-size", type=click.IntRange(min=1), help="Batch size of predict.  [default: the library's]")
@click.option("--steps", type=click.IntRange(min=1), help="Also train so many steps everywhere, and compare.")
@click.option("--optimizer", default="SGD", show_default=True, metavar="NAME[:param=value,...]", help="For --steps.")
@click.option("--loss", metavar="NAME[:param=value,...]", help="For --steps.  [default: by the labels]")
@click.option("--oracle", default="parity", show_default=True, help="Who judges: parity, or cradle as in the paper.")
@click.option("--class-threshold", type=float, help="CRADLE's T_C.  [default: 8]")
@click.option("--mad-threshold", type=float, help="CRADLE's T_M.  [default: 0.2]")
@click.option("--k", type=click.IntRange(min=1), default=5, help="CRADLE's k of the class distance.  [default: 5]")
@click.option("--share", type=click.FloatRange(0, 100), default=0.0, help="CRADLE's p, in percent.  [default: 0]")
@click.option("--localize", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--store", metavar="URL", help="Where findings go.  [default: the --out folder]")
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True)
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
    steps: int | None,
    optimizer: str,
    loss: str | None,
    oracle: str,
    class_threshold: float | None,
    mad_threshold: float | None,
    k: int,
    share: float,
    localize: str,
    store: str | None,
    out: Path,
    no_reduce: bool,
    reduce_budget: float,
    targets: str | None,
    seed: int,
    fail_on: tuple[Class, ...],
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
    from ..generators.inputs.models import parse_draw
    from ..oracles.kinds import check_choice
    from ..oracles.pair import PairSettings
    from ..targets.selection import choose_for_model
    from .progress import progress

    check_choice(oracle)
    thresholds = {"class": class_threshold, "mad": mad_threshold}
    selection = choose_for_model(model, targets)
    settings = CompareSettings(
        targets=selection.targets,
        notes=selection.notes,
        data=data,
        draws=dict(parse_draw(text) for text in draws),
        seed=seed,
        instances=instances if instances is not None else cases,
        oracle=oracle,
        pairs=PairSettings({name: value for name, value in thresholds.items() if value is not None}, share, k),
        localize=localize,
        batch_size=batch_size,
        schedule=_schedule(steps, batch_size, optimizer, loss),
        store=store or out,
        folder=out if store and "://" in store else None,  # a database keeps no files
        runner=runner_settings(**running),
        sections=sections,
        reducing=reducing_settings(no_reduce, reduce_budget, most=budget),
    )
    with progress(quiet) as listener:
        compared = compare(model, settings, listener)
    facts = with_known(compared.facts)
    report = write_report(facts, out)
    show(facts, output_format, quiet, out)
    if output_format == "text" and not quiet:
        click.echo(f"Report: {report}")
    return exit_code(facts, fail_on, compared.broken)


def _schedule(steps: int | None, batch_size: int | None, optimizer: str, loss: str | None) -> Any:
    """How to train, or None where nobody asked for it."""
    from ..generators.training import Schedule

    if steps is None:
        return None
    how = parse_recipe(optimizer)
    if how.name == "SGD" and not how.params:
        how = Recipe("SGD", {"learning_rate": 0.01})
    return Schedule(steps, batch_size or 32, how, parse_recipe(loss) if loss else None)
