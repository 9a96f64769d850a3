"""What all commands that run cases are told, and how each of them ends: written once.

``campaign_options`` adds these options and hands a command one ``Run`` of them; what is particular to a command stays
in the command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from ..reporting.facts import Facts
from .exit_codes import FailOn, exit_code
from .options import (
    case_options,
    out_option,
    reducing_options,
    reducing_settings,
    runner_settings,
    running_options,
    settings_option,
    show,
)
from .writing import write_report

if TYPE_CHECKING:
    from ..campaign.events import Listener
    from ..campaign.sections import Sections
    from ..targets.runner import RunnerSettings

F = TypeVar("F", bound=Callable[..., Any])


class Ended(Protocol):
    """What a command gives back of its run."""

    @property
    def facts(self) -> Facts: ...

    @property
    def broken(self) -> bool: ...


@dataclass(frozen=True)
class Run:
    """What every command that runs cases is told.

    Args:
        targets: as they were named; None chooses the command's own.
        oracle: whom the user chose to judge.
        reduce_budget: seconds for one defect.
        try_settings: whether what is found is tried under other settings; None leaves it to the budget.
    """

    targets: str | None
    seed: int
    sections: Sections
    runner: RunnerSettings
    oracle: str
    store: str | None
    out: Path
    fail_on: FailOn
    output_format: str
    quiet: bool
    resume: bool = False
    no_reduce: bool = False
    reduce_budget: float = 120.0
    try_settings: bool | None = False

    def settings(self) -> dict[str, Any]:
        """What the settings of every campaign have."""
        return {
            "seed": self.seed,
            "oracle": self.oracle,
            "store": self.store or self.out,
            "folder": self.out if self.store and "://" in self.store else None,  # a database keeps no files
            "runner": self.runner,
            "sections": self.sections,
        }

    def reducing(self, most: float | None = None, budget: float | None = None) -> Any:
        """How what is found is reduced.

        Args:
            most: bounds the time for all defects together.
            budget: of the whole run, where that is another.
        """
        return reducing_settings(self.no_reduce, self.reduce_budget, most, self.try_settings, budget)

    def progress(self, budget: float | None = None, targets: Sequence[str] = ()) -> AbstractContextManager[Listener]:
        """Whoever shows how far the run has come."""
        from .progress import progress

        return progress(self.quiet, budget=budget, targets=targets)

    def finish(
        self,
        ended: Ended,
        *,
        store: Path | None = None,
        page: str | None = "",
        tables: Callable[[Facts, Any], None] | None = None,
        change: Callable[[Facts], Facts] | None = None,
        broken: bool = False,
        unmatched: bool = True,
    ) -> int:
        """Report what came of the run, and return the exit code.

        Args:
            store: where the campaign is kept, if it is one that can be taken up again.
            page: the end of the report's name, for a page about one case; None writes no page.
            tables: what prints the tables of the engine's paper.
            change: made to the facts before anybody sees them.
            broken: the command did not do what it was asked for, though the run did not fail.
            unmatched: also call out known differences that this run would have met and did not.
        """
        from ..commands.known_differences import with_known

        facts = with_known(ended.facts, unmatched=unmatched)
        facts = change(facts) if change else facts
        report = None if page is None else write_report(facts, self.out, page)
        show(facts, self.output_format, self.quiet, self.out, report.name if report else "")
        if self.output_format == "text" and not self.quiet:
            _print_rest(facts, tables, store, report)
        broken = ended.broken or broken
        return exit_code(facts, self.fail_on, broken, asked=bool(self.targets), none_wanted=_none_wanted())


def _none_wanted() -> bool:
    """No case was asked for: to see what would be opened, or to begin a campaign that is taken up later."""
    context = click.get_current_context(silent=True)
    return context is not None and any(context.params.get(count) == 0 for count in ("cases", "models"))


def _print_rest(
    facts: Facts, tables: Callable[[Facts, Any], None] | None, store: Path | None, report: Path | None
) -> None:
    """What a person sees below the summary."""
    if tables is not None:
        from rich.console import Console

        tables(facts, Console())
    for title, path in (("Store:  ", store), ("Report: ", report)):
        if path is not None:
            click.echo(f"{title}{path}")


_RUNNER = tuple(inspect.signature(runner_settings).parameters)


def _make_run(**given: Any) -> Run:
    """A run out of the values of its options."""
    return Run(runner=runner_settings(**{name: given.pop(name) for name in _RUNNER}), **given)


def _make_campaign(oracle: str, **given: Any) -> Run:
    """The same; whom the user chose to judge is refused before anything is started."""
    from ..oracles.kinds import check_choice

    if oracle:
        check_choice(oracle)
    return _make_run(oracle=oracle, **given)


def gathered(argument: str, build: Callable[..., Any], names: Sequence[str] = ()) -> Callable[[F], Any]:
    """Hand the values of several options to a command as one argument.

    Args:
        argument: its name.
        build: makes it of the values, which it gets by their names.
        names: the options'; by default the parameters of ``build``.
    """
    taken = tuple(names or inspect.signature(build).parameters)

    def decorate(function: F) -> Any:
        @functools.wraps(function)
        def command(*args: Any, **given: Any) -> Any:
            built = build(**{name: given.pop(name) for name in taken})
            return function(*args, **{argument: built}, **given)

        return command

    return decorate


def _run_of(build: Callable[..., Run], options: Sequence[Callable[[Any], Any]]) -> Callable[[F], Any]:
    """Add these options, whose values come to the command as ``run``."""

    def bare() -> None: ...

    parameters: list[click.Parameter] = _with(bare, options).__click_params__
    names = [parameter.name for parameter in parameters if parameter.expose_value and parameter.name]
    return lambda function: _with(gathered("run", build, names)(function), options)


def _with(function: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    for option in reversed(options):
        function = option(function)
    return function


def campaign_options(
    oracle: str, *, default: str = "", resumable: bool = True, reduces: bool = True, tries_settings: bool = True
) -> Callable[[F], Any]:
    """Add the options of a command that searches; it is called with ``run``, a ``Run``.

    Args:
        oracle: the help of ``--oracle``.
        default: who judges where nobody is chosen, if that is to be shown.
        resumable: a run can be taken up again.
        reduces: the user may say how what is found is reduced.
        tries_settings: what is found is tried under other settings of its libraries.
    """
    kept = "the campaign" if resumable else "findings"
    options = (
        click.option("--oracle", default=default, show_default=bool(default), metavar="NAME", help=oracle),
        *([_RESUME] if resumable else []),
        click.option(
            "--store", metavar="URL", help=f"The folder or database that keeps {kept}.  [default: the --out folder]"
        ),
        out_option,
        *([reducing_options] if reduces else []),
        *([settings_option] if tries_settings else []),
        running_options,
    )
    return _run_of(_make_campaign, options)


_case = click.argument("case", metavar="CASE")
_RESUME = click.option("--resume", is_flag=True, help="Continue the last run with this seed and these settings.")


def case_run_options(function: F) -> Any:
    """Add the options of a command about one case; it is called with ``run`` and ``case``, what the user named."""
    return _case(_run_of(_make_run, (case_options,))(function))
