"""``tensorparity accept ID``."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from .options import DEFAULT_OUT, Day, format_option, show


@click.command("accept")
@click.argument("identity", metavar="ID")
@click.option("--reason", required=True, help="Why it is accepted.")
@click.option("--expires", type=Day(), metavar="DATE", help="The last day on which it is accepted.")
@click.option("--link", default="", metavar="URL", help="The page where it is discussed.")
@click.option("--pattern", default="", help="Accept all signatures that match this pattern (*, ?).")
@click.option(
    "--store", metavar="URL", help="The folder or database that holds the finding.  [default: the --out folder]"
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="The folder that the run has written.",
)
@format_option
def command(
    identity: str,
    reason: str,
    expires: date | None,
    link: str,
    pattern: str,
    store: str | None,
    out: Path,
    output_format: str,
    quiet: bool,
) -> int:
    """Accept finding ID as a known difference: it is written into tensorparity.toml and no longer fails a run.

    Every report still counts it, and says so when nothing matches it any more.
    """
    from ..commands.known_differences import accept, find_finding, model_of_finding
    from ..reporting.facts import Facts
    from ..store.database import open_store
    from ..triage.known_differences import CONFIG

    with open_store(store or out, folder=out if store and "://" in store else None, create=False) as opened:
        finding = find_finding(opened, identity)
        model = model_of_finding(opened, identity)
    entry = accept(finding, reason, link, expires, pattern, model=model)
    note = f"{entry.name} is now a known difference, listed in {CONFIG}"
    if output_format == "json":
        show(Facts("accept", 0, (), {}, (finding,), notes=(note,)), output_format, quiet)
    elif not quiet:
        click.echo(note)
    return 0
