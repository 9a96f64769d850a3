"""``tensorparity report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.errors import UsageError
from .options import DEFAULT_OUT, FORMATS, write_files

if TYPE_CHECKING:
    from ..store.database import Store


@click.command("report")
@click.argument("run", required=False)
@click.option("--issue", "identity", metavar="ID", help="The draft of a bug report for this finding instead.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write drafts of bug reports there: a Markdown file per library, minor defects of a kind in one report.",
)
@click.option("--store", metavar="URL", help="Where the runs are kept.  [default: the --out folder]")
@click.option("--out", type=click.Path(path_type=Path), default=DEFAULT_OUT, show_default=True)
@click.option("--format", "output_format", metavar="NAME", help=f"{FORMATS}  [default: text; markdown for --issue]")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there.  [default: printed]")
@click.option("--quiet", is_flag=True, help="Nothing but what was asked for, which is the default.")
def command(
    run: str | None,
    identity: str | None,
    bundle: Path | None,
    store: str | None,
    out: Path,
    output_format: str | None,
    output: Path | None,
    quiet: bool,
) -> int:
    """Show what a store holds: RUN is the number of a run, "last", or the folder of a store; all runs without it.

    Known differences are applied as they are now. Exits 0 whatever is in it: nothing is judged anew.
    """
    from ..commands.known_differences import with_known
    from ..commands.report import stored_facts
    from ..reporting.base import Rendered, report_named
    from ..reporting.bundle import render as render_bundle
    from ..store.database import open_store

    text: Rendered
    if bundle is not None:
        _check_bundle(identity, output_format, output)
    if run and not run.isdecimal() and run != "last":
        store, run = run, None
    with open_store(store or out, folder=out if store and "://" in store else None, create=False) as opened:
        if identity is not None:
            text = _issue(opened, identity, output_format or "markdown", run)
        elif bundle is not None:
            text = render_bundle(with_known(stored_facts(opened, run)))
        else:
            report = report_named(output_format or "text")
            text = report.render(with_known(stored_facts(opened, run)))
    if not isinstance(text, str):
        write_files(text, bundle or output or out)
        if bundle is not None and not text:
            click.echo("no new defects: nothing to report", err=True)
    elif output is None:
        click.echo(text if text.endswith("\n") else text + "\n", nl=False)
    else:
        _write(output, text)
    return 0


def _check_bundle(identity: str | None, output_format: str | None, output: Path | None) -> None:
    besides = {"--issue": identity, "--format": output_format, "--output": output}
    given = [name for name, value in besides.items() if value is not None]
    if given:
        raise UsageError(f"--bundle writes Markdown files into its folder; leave out {' and '.join(given)}")


def _issue(store: Store, identity: str, output_format: str, run: str | None) -> str:
    from ..commands.known_differences import find_finding
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


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
