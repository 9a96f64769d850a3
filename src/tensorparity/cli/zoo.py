"""``tensorparity zoo`` and ``tensorparity zoo train``."""

from __future__ import annotations

import click

from .options import format_option, show


@click.group("zoo", invoke_without_command=True)
@format_option
@click.pass_context
def command(context: click.Context, output_format: str, quiet: bool) -> int:
    """List the models of the zoo: layers, parameters, data, and whether each has been trained here.

    'compare zoo:NAME' uses trained weights if there are any, otherwise random weights that are seeded and calibrated.
    """
    if context.invoked_subcommand is None:
        from ..commands.zoo import list_zoo
        from ..targets.runner import default_cache

        show(list_zoo(default_cache()), output_format, quiet)
    return 0


@command.command("train")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--target", metavar="NAME", help="The target that trains.  [default: the first Keras backend that is installed]"
)
@click.option("--again", is_flag=True, help="Also train models that are trained already.")
@format_option
@click.pass_context
def train(
    context: click.Context,
    names: tuple[str, ...],
    target: str | None,
    again: bool,
    output_format: str,
    quiet: bool,
) -> int:
    """Train models of the zoo on their data, and keep them in the cache; without NAME, all that have data here."""
    from ..commands.zoo import TrainSettings, train_zoo
    from ..targets.runner import default_cache
    from .progress import progress

    given = context.parent.params if context.parent else {}
    quiet = quiet or bool(given.get("quiet"))
    with progress(quiet) as listener:
        trained = train_zoo(TrainSettings(default_cache(), names, target, again), listener)
    show(trained.facts, "json" if given.get("output_format") == "json" else output_format, quiet)
    return 3 if trained.failed else 0
