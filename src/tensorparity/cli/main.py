"""The ``tensorparity`` command: finds the command's module by name and turns errors into exit codes."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence

import click

from .. import __version__
from ..core.errors import TensorParityError
from ..core.near_misses import meant
from .interrupts import INTERRUPTED, two_interrupts

#: Command, module, one line for ``--help``; the module is imported when the command is used.
COMMANDS = {
    "hunt": ("hunt", "Run all engines under one budget against the installed targets."),
    "compare": ("compare", "Compare a model across targets; where it differs, name the layer."),
    "fuzz": ("fuzz", "Generate networks and compare forward, loss, backward and update."),
    "mutate": ("mutate", "Mutate seed models, then search for inputs and weights that break them."),
    "precision": ("precision", "Search for the largest precision error of each operator."),
    "equiv": ("equiv", "Compute a library's functions in two ways that must agree."),
    "replay": ("replay", "Run a case file again: does it still fail?"),
    "reduce": ("reduce", "Find the simplest case that fails in the same way, and write a script that shows it."),
    "localize": ("localize", "Find the layer of a case's model where the difference arises."),
    "accept": ("accept", "Accept a finding as a known difference, which no longer fails a run."),
    "report": ("report", "Show what a store holds, in any format; draft bug reports; compare two runs."),
    "targets": ("targets", "List the targets that are installed, and those that could be."),
    "doctor": ("doctor", "Check every target and explain what is broken."),
    "zoo": ("zoo", "List the bundled models, or train them."),
}


class _Commands(click.Group):
    """A group that knows its commands' names and imports only the one that is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{COMMANDS[cmd_name][0]}", __package__)
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, and it says what somebody may have meant."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            known = ", ".join(COMMANDS)
            ctx.fail(f"No such command {args[0]!r}{meant(args[0], COMMANDS)}; there are {known}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="tensorparity")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find, diagnose and localize bugs in deep learning libraries."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits 0 (no new defect), 1 (defects), 2 (usage) or 3 (the run failed)."""
    try:
        with two_interrupts():
            code = cli.main(args=arguments, prog_name="tensorparity", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.UsageError as error:
        _complain(error.format_message(), error.ctx)
        sys.exit(2)
    except click.ClickException as error:
        _complain(error.format_message())
        sys.exit(2)
    except TensorParityError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted")
        sys.exit(INTERRUPTED)
    except Exception:  # Python's own exit code 1 would say "defects found"
        traceback.print_exc()
        _complain("this is a bug in tensorparity; please report it with the lines above")
        sys.exit(3)


def _complain(message: str, context: click.Context | None = None) -> None:
    """One clear line on standard error."""
    click.echo(f"tensorparity: {' '.join(message.split())}", err=True)
    if context is not None and context.command_path:
        click.echo(f"Try '{context.command_path} --help'.", err=True)
