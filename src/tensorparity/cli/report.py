"""``tensorparity report``."""

from __future__ import annotations

from pathlib import Path

import click

from ..core.errors import UsageError
from .options import DEFAULT_OUT, show


@click.command("report")
@click.option("--issue", "identity", metavar="ID", required=True, help="The draft of a bug report for this finding.")
@click.option("--store", metavar="URL", help="Where the finding is kept.  [default: the --out folder]")
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True)
@click.option(
    "--format", "output_format", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True
)
@click.option("--quiet", is_flag=True, help="No progress; the draft itself is printed.")
def command(identity: str, store: str | None, out: Path, output_format: str, quiet: bool) -> int:
    """Print the draft of a report for the library's maintainers, in Markdown.

    Title, script, expected and observed, formula, how it was judged, versions, flags and threads.
    """
    from ..campaign.known import find_finding
    from ..reporting.facts import Facts
    from ..store.database import open_store

    with open_store(store or out, folder=out if store and "://" in store else None, create=False) as opened:
        finding = find_finding(opened, identity)
        path = opened.draft_path(finding)
        if path is None:
            why = "only defects that were reduced have one; 'tensorparity reduce' with its case file makes it"
            raise UsageError(f"finding {identity} has no draft: {why}")
        text = path.read_text(encoding="utf-8")
    if output_format == "json":
        show(Facts("report", 0, (), {}, (finding,), notes=(text,)), output_format, quiet)
    else:
        click.echo(text, nl=False)
    return 0
