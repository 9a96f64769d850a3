"""Reports as files: the page of a run, and ``--write FORMAT=FILE`` for CI that wants several formats."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import click

from ..core.errors import UsageError
from ..reporting.facts import Facts

#: Where the parsed option waits, in the context of the command.
_KEY = "tensorparity.write"


def _keep(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
    """Check formats and folders before anything is started.

    Raises:
        UsageError: for an unknown format, or a file that cannot be written there.
    """
    from ..reporting.base import report_named

    wanted: list[tuple[str, Path]] = []
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or not file:
            raise UsageError(f"--write {text!r} is not FORMAT=FILE, for example sarif=tensorparity.sarif")
        report_named(name)
        path = Path(file)
        if path.is_dir() or (path.parent.exists() and not path.parent.is_dir()):
            raise UsageError(f"--write {text!r}: {file!r} cannot be a file")
        wanted.append((name, path))
    context.meta[_KEY] = wanted


write_option = click.option(
    "--write",
    multiple=True,
    metavar="FORMAT=FILE",
    expose_value=False,
    callback=_keep,
    help="Also write the report in this format; may be repeated.",
)


def write_documents(facts: Facts) -> None:
    """Write what ``--write`` asks for.

    Raises:
        UsageError: for a format that is no single text, or a file that cannot be written.
    """
    from ..reporting.base import report_named

    context = click.get_current_context(silent=True)
    for name, path in context.meta.get(_KEY, ()) if context else ():
        rendered = report_named(name).render(facts)
        if not isinstance(rendered, str):
            raise UsageError(f"{name} consists of several files; --format {name} writes them into --out")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(rendered, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error


def write_files(files: Mapping[str, str | bytes], folder: Path) -> None:
    """Write the files of a report, and say which.

    Raises:
        UsageError: if one would be written outside of the folder, or cannot be written.
    """
    for name, content in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"the report names a file outside of {folder}. Received: {name!r}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        click.echo(str(path))


def write_report(facts: Facts, folder: Path, name: str = "") -> Path:
    """Write the HTML page under a name that no other has; ``report.html`` is the page of the last run.

    Args:
        name: of a page that is about one case: it is not the last run's.

    Raises:
        UsageError: if the folder cannot be written.
    """
    from ..reporting.html import render as render_html

    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    stem = "-".join(part for part in (facts.command, name, stamp) if part)
    page = render_html(facts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        own = _unused(folder, stem)
        own.write_text(page, encoding="utf-8")
        if name:
            return own
        last = folder / "report.html"
        last.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or folder}: {error.strerror}") from error
    return last


def _unused(folder: Path, stem: str) -> Path:
    """A new and empty page: two runs may end in the same second."""
    for number in itertools.count(1):
        path = folder / (f"{stem}.html" if number == 1 else f"{stem}-{number}.html")
        with suppress(FileExistsError):
            path.touch(exist_ok=False)
            return path
    raise AssertionError
