"""``tensorparity report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.errors import UsageError
from .options import DEFAULT_OUT, FORMATS
from .writing import write_files

if TYPE_CHECKING:
    from ..reporting.base import Rendered
    from ..reporting.facts import Facts
    from ..store.database import Store


@click.command("report")
@click.argument("run", required=False)
@click.option("--issue", "identity", metavar="ID", help="Print the draft of a bug report for this finding.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write drafts of bug reports into this folder, a Markdown file per library; minor defects share one report.",
)
@click.option(
    "--diff",
    "pair",
    nargs=2,
    metavar="A B",
    help="Compare two runs: what is new, fixed or still there in B. Each is a number, last, or the folder of a store.",
)
@click.option("--redact", is_flag=True, help="Leave out inputs, outputs and scripts.")
@click.option("--store", metavar="URL", help="The folder or database that holds the runs.  [default: the --out folder]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=DEFAULT_OUT,
    show_default=True,
    help="The folder that the run has written.",
)
@click.option("--format", "output_format", metavar="NAME", help=f"{FORMATS}  [default: text; markdown for --issue]")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write.  [default: standard output]"
)
@click.option("--quiet", is_flag=True, help="Has no effect here: only the report is printed.")
def command(
    run: str | None,
    identity: str | None,
    bundle: Path | None,
    pair: tuple[str, str] | None,
    redact: bool,
    store: str | None,
    out: Path,
    output_format: str | None,
    output: Path | None,
    quiet: bool,
) -> int:
    """Show what a store holds. RUN is the number of a run, "last", or the folder of a store; without it, all runs.

    Known differences are applied as they are now. Exits 0 whatever the store holds: nothing is judged again.
    """
    from ..reporting.base import report_named
    from ..reporting.bundle import render as render_bundle
    from ..reporting.redaction import redacted

    if pair and (run or identity):
        raise UsageError("--diff names two runs; leave out RUN and --issue")
    text: Rendered
    if bundle is not None:
        _check_bundle(identity, output_format, output)
    if identity is not None:
        text = _issue(identity, output_format or "markdown", run, store, out)
    else:
        facts = _difference(pair, store, out) if pair else _stored(run, store, out)
        render = render_bundle if bundle is not None else report_named(output_format or "text").render
        text = render(redacted(facts) if redact else facts)
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


def _opened(run: str | None, store: str | None, out: Path) -> tuple[Store, str | None]:
    """The store of a run, and the run in it: a number, ``last``, or the folder of a store with all of its runs."""
    from ..store.database import open_store

    if run and not run.isdecimal() and run != "last":
        store, run = run, None
    return open_store(store or out, folder=out if store and "://" in store else None, create=False), run


def _stored(run: str | None, store: str | None, out: Path) -> Facts:
    from ..commands.known_differences import with_known
    from ..commands.report import stored_facts

    opened, chosen = _opened(run, store, out)
    with opened:
        return with_known(stored_facts(opened, chosen))


def _difference(pair: tuple[str, str], store: str | None, out: Path) -> Facts:
    from ..commands.known_differences import with_known
    from ..commands.report import run_difference

    before, after = (_opened(side, store, out) for side in pair)
    with before[0], after[0]:
        return with_known(run_difference(before, after))


def _issue(identity: str, output_format: str, run: str | None, store: str | None, out: Path) -> str:
    """The draft of a bug report.

    Raises:
        UsageError: if there is none, or it is asked for otherwise.
    """
    opened, chosen = _opened(run, store, out)
    with opened:
        return _draft(opened, identity, output_format, chosen)


def _draft(store: Store, identity: str, output_format: str, run: str | None) -> str:
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
