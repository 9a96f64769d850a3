"""The commands as a page of the documentation: ``python -m tensorparity.cli.page > docs/reference.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from .main import cli

_HEAD = """# Commands

Made from the code by `python -m tensorparity.cli.page > docs/reference.md`.
"""


def page() -> str:
    """Every command with its arguments and options, as ``--help`` has them."""
    context = click.Context(cli, info_name="tensorparity", terminal_width=80, **cli.context_settings)
    parts = [_HEAD]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            parts.append("\n".join(_section(name, command, context)))
    return "\n".join(parts)


def _section(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=name)
    yield f"## tensorparity {name}\n"
    yield " ".join((command.help or "").split()) + "\n"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    records = [record for item in command.get_params(context) if (record := item.get_help_record(context))]
    if records:
        yield "| option | meaning |\n| --- | --- |"
        for option, text in records:
            yield f"| `{option.replace('|', ' or ')}` | {' '.join(text.split()).replace('|', ' or ')} |"
        yield ""
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _section(f"{name} {inner}", found, parent)


if __name__ == "__main__":
    sys.stdout.write(page())
