"""``tensorparity report``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.errors import UsageError
from .options import DEFAULT_OUT

if TYPE_CHECKING:
    from ..reporting.facts import Facts
    from ..store.database import Store

FORMATS = ("text", "html", "markdown", "json", "junit")


@click.command("report")
@click.argument("run", required=False)
@click.option("--issue", "identity", metavar="ID", help="The draft of a bug report for this finding instead.")
@click.option("--store", metavar="URL", help="Where the runs are kept.  [default: the --out folder]")
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True)
@click.option("--format", "output_format", type=click.Choice(FORMATS), help="[default: text; markdown for --issue]")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there.  [default: printed]")
@click.option("--quiet", is_flag=True, help="Nothing but what was asked for, which is the default.")
def command(
    run: str | None,
    identity: str | None,
    store: str | None,
    out: Path,
    output_format: str | None,
    output: Path | None,
    quiet: bool,
) -> int:
    """Show what a store holds: RUN is the number of a run, "last", or the folder of a store; all runs without it.

    Known differences are applied as they are now. Exits 0 whatever is in it: nothing is judged anew.
    """
    from ..campaign.known import with_known
    from ..campaign.report import stored_facts
    from ..store.database import open_store

    if run and not run.isdecimal() and run != "last":
        store, run = run, None
    with open_store(store or out, folder=out if store and "://" in store else None, create=False) as opened:
        if identity is not None:
            text = _issue(opened, identity, output_format or "markdown", run)
        else:
            text = _rendered(with_known(stored_facts(opened, run)), output_format or "text")
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    return 0


def _issue(store: Store, identity: str, output_format: str, run: str | None) -> str:
    from ..campaign.known import find_finding
    from ..reporting.facts import Facts
    from ..reporting.json_document import render

    if output_format not in ("markdown", "json"):
        raise UsageError(f"the draft of a report is markdown or json. Received: --format {output_format}")
    if run is not None:
        raise UsageError(f"--issue names one finding of the store; leave out {run!r}")
    finding = find_finding(store, identity)
    path = store.draft_path(finding)
    if path is None:
        why = "only defects that were reduced have one; 'tensorparity reduce' with its case file makes it"
        raise UsageError(f"finding {identity} has no draft: {why}")
    text = path.read_text(encoding="utf-8")
    if output_format == "json":
        return render(Facts("report", 0, (), {}, (finding,), notes=(text,))) + "\n"
    return text


def _rendered(facts: Facts, output_format: str) -> str:
    if output_format == "html":
        from ..reporting.html import render as render_html

        return render_html(facts)
    if output_format == "markdown":
        from ..reporting.markdown import render as render_markdown

        return render_markdown(facts)
    if output_format == "junit":
        from ..reporting.junit import render as render_junit

        return render_junit(facts)
    if output_format == "json":
        from ..reporting.json_document import render as render_json

        return render_json(facts) + "\n"
    from rich.console import Console

    from ..reporting.terminal import render as render_terminal

    page = io.StringIO()
    render_terminal(facts, Console(file=page, width=Console().width))
    return page.getvalue()


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
