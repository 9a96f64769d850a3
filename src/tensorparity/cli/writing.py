"""``--write FORMAT=FILE``: the report in further formats beside what is printed, for CI that wants several."""

from __future__ import annotations

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
