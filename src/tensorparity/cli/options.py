"""Options that every command with cases has, declared once."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import click

from ..core.errors import StoreError, UsageError
from ..core.procedure import Recipe
from ..reporting.facts import Facts
from .exit_codes import FailOn, FailOnOption
from .writing import write_documents, write_files, write_option

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_OUT = "tensorparity-out"
FORMATS = "text, json, html, markdown, junit, sarif, or the name of a plug-in's format."


class Duration(click.ParamType[float]):
    """``90``, ``90s``, ``5m``, ``2h``, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value).strip())
        if not match:
            self.fail(f"{value!r} is not a duration; expected for example 90s, 5m or 2h", param, ctx)
        if not float(match[1]):
            self.fail(f"{value!r} is no time at all; expected for example 90s, 5m or 2h", param, ctx)
        return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


class Day(click.ParamType[date]):
    """``2030-12-31``."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(str(value).strip())
        except ValueError:
            self.fail(f"{value!r} is not a date; expected YYYY-MM-DD, for example 2030-12-31", param, ctx)


class Counts(click.ParamType[tuple[int, ...]]):
    """``1,8,32``: whole numbers from one on."""

    name = "n,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isdecimal() and int(part) for part in parts):
            self.fail(f"{value!r} is not a list of whole numbers, for example 1,8,32", param, ctx)
        return tuple(dict.fromkeys(int(part) for part in parts))


class OutFolder(click.ParamType[Path]):
    """A folder that can be written, or made: asked before anything is started.

    Args:
        written: False for a folder that a command may only look into.
    """

    name = "folder"

    def __init__(self, *, written: bool = True) -> None:
        self._written = written

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        problem = _trouble_with(path, written=self._written)
        if problem:
            self.fail(problem, param, ctx)
        return path


def check_writable(folder: Path) -> None:
    """See to it that files can be written there, before there is anything to write.

    Raises:
        UsageError: if not.
    """
    problem = _trouble_with(folder, written=True)
    if problem:
        raise UsageError(problem)


def _trouble_with(path: Path, *, written: bool) -> str:
    there = next((folder for folder in (path, *path.absolute().parents) if folder.exists()), path)
    if not there.is_dir():
        return f"{str(path)!r} cannot be a folder: {str(there)!r} is a file"
    if written and not os.access(there, os.W_OK | os.X_OK):
        return f"{str(path)!r} cannot be written: no permission in {str(there)!r}"
    return ""


class Size(click.ParamType[int]):
    """``500M``, ``8G``, in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)i?B?", str(value).strip(), re.IGNORECASE)
        if not match:
            self.fail(f"{value!r} is not a size; expected for example 500M or 8G", param, ctx)
        return int(float(match[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[match[2].upper()])


def parse_recipe(text: str) -> Recipe:
    """``Adam`` or ``Adam:learning_rate=0.01,beta_1=0.8``.

    Raises:
        UsageError: if a parameter is not name=value.
    """
    name, _, rest = text.partition(":")
    params: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"{item!r} in {text!r} is not name=value")
        try:
            params[key] = json.loads(value)
        except ValueError:
            params[key] = value
    return Recipe(name, params)


def split_names(given: tuple[str, ...]) -> tuple[str, ...]:
    """Several values of one option, separated by commas, or given again."""
    return tuple(part.strip() for text in given for part in text.split(",") if part.strip())


def _sections(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> Any:
    """Settings of engines and oracles, refused before anything is started."""
    from ..campaign.sections import read_sections
    from ..triage.known_differences import CONFIG

    return read_sections(CONFIG, given)


_CAMPAIGN = (
    click.option("--targets", metavar="A,B,...", help="The targets to run.  [default: all that are installed]"),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all random choices."
    ),
)
_ONE_CASE = (
    click.option("--targets", metavar="A,B,...", help="The targets to run.  [default: those of CASE]"),
    click.option("--seed", type=click.IntRange(min=0), default=0, hidden=True),  # a case has its own
)
_RUNNING = (
    click.option(
        "--fault",
        "faults",
        multiple=True,
        metavar="TARGET=NAME|FILE.py",
        help="Plant a fault in a target, to see whether it is found.",
    ),
    click.option(
        "--import",
        "imports",
        multiple=True,
        metavar="MODULE",
        help="A module with custom layers, imported in each worker.",
    ),
    click.option("--trust", is_flag=True, help="Also load files that can run code of their own."),
    click.option(
        "--workers", type=click.IntRange(min=1), help="How many workers run at the same time.  [default: one per core]"
    ),
    click.option(
        "--deadline", type=Duration(), default=120.0, help="CPU time that one request may take.  [default: 120s]"
    ),
    click.option(
        "--memory", type=Size(), default=0, help="Memory that one worker may use.  [default: half of the machine's]"
    ),
    click.option("--no-cache", is_flag=True, help="Do not use cached outcomes or compilations."),
    click.option(
        "--set",
        "sections",
        multiple=True,
        metavar="NAME.key=value",
        callback=_sections,
        help="A setting of an engine or oracle; overrides [engine.NAME] and [oracle.NAME] in tensorparity.toml.",
    ),
    click.option(
        "--fail-on",
        type=FailOnOption(),
        default=FailOn(),
        metavar="WHAT,...",
        help="Also exit with 1 for these: classes of findings, undecided, digits. New defects always count.",
    ),
    write_option,
    click.option(
        "--format",
        "output_format",
        metavar="NAME",
        default="text",
        show_default=True,
        callback=lambda context, option, name: known_format(name),
        help=FORMATS,
    ),
    click.option("--quiet", is_flag=True, help="Print neither progress nor summary."),
)


def running_options(function: F) -> F:
    """Add the options common to all commands that search for cases."""
    for option in reversed((*_CAMPAIGN, *_RUNNING)):
        function = option(function)
    return function


out_option = click.option(
    "--out",
    type=OutFolder(),
    default=DEFAULT_OUT,
    show_default=True,
    help="The folder for the report, the store, case files and scripts.",
)
_CASE = (
    click.option(
        "--store",
        metavar="URL",
        help="The folder or database to look in, if CASE is the id of a finding.  [default: the --out folder]",
    ),
    click.option(
        "--out",
        type=OutFolder(written=False),
        default=DEFAULT_OUT,
        show_default=True,
        help="The folder for the report, the store, case files and scripts.",
    ),
    click.option(
        "--oracle", default="", metavar="NAME", help="The oracle that decides.  [default: the one that found it]"
    ),
)


def case_options(function: F) -> F:
    """Add what a command about one case is told."""
    for option in reversed((*_CASE, *_ONE_CASE, *_RUNNING)):
        function = option(function)
    return function


def case_file(case: str, store: str | None, out: Path) -> Path:
    """The file that CASE names; an id is looked up in the store.

    Raises:
        UsageError: if the store has no such finding, or has no file of it.
    """
    from ..commands.known_differences import find_finding
    from ..store.database import open_store

    path = Path(case)
    if path.exists() or path.suffix or path.name != case:
        return path
    try:
        with open_store(store or out, folder=out if store and "://" in store else None, create=False) as opened:
            found = opened.case_path(find_finding(opened, case))
    except StoreError as error:
        raise UsageError(f"{case} is no file, and no finding can be looked up: {error}") from error
    if found is None:
        raise UsageError(f"finding {case} has no case file")
    return found


#: From here on a run has the time to try settings.
_LONG_BUDGET = 120.0
_REDUCING = (
    click.option(
        "--no-reduce",
        is_flag=True,
        help="Report defects as they were found, without reducing them or writing scripts.",
    ),
    click.option(
        "--reduce-budget", type=Duration(), default=120.0, help="Time for reducing one defect.  [default: 2m]"
    ),
)


def reducing_options(function: F) -> F:
    """Add the options of commands that reduce what they find."""
    for option in reversed(_REDUCING):
        function = option(function)
    return function


def settings_option(function: F) -> F:
    """Add ``--settings``."""
    return click.option(
        "--settings/--no-settings",
        "try_settings",
        default=None,
        help="Try each defect with oneDNN on and off, other instruction sets and two threads; a tenth of the budget is "
        "kept for it (by precision a fifth), and a fifth is the most it takes.  [default: where that is 2m or more]",
    )(function)


def reducing_settings(
    no_reduce: bool,
    reduce_budget: float,
    most: float | None = None,
    try_settings: bool | None = False,
    budget: float | None = None,
) -> Any:
    """The settings out of the options.

    Args:
        most: bounds the time for all defects together.
        budget: of the whole run, where that is another.
    """
    from ..triage.known_differences import read_known
    from ..triage.reduction.preparation import ReducingSettings
    from ..triage.reduction.reducer import ReductionBudget

    if no_reduce:
        return None
    seconds = 5 * reduce_budget if most is None else most
    return ReducingSettings(
        ReductionBudget(seconds=reduce_budget),
        seconds=seconds,
        settings_seconds=settings_seconds(try_settings, most if budget is None else budget),
        accepted=tuple(read_known()),
    )


def settings_seconds(try_settings: bool | None, budget: float | None) -> float:
    """How long other settings are tried at most: a fifth of a budget; without one, as it takes, where asked for."""
    if budget is None or math.isinf(budget):
        return math.inf if try_settings else 0.0
    wanted = budget >= _LONG_BUDGET if try_settings is None else try_settings
    return budget / 5 if wanted else 0.0


def format_option(function: F) -> F:
    """Add ``--format`` and ``--quiet`` alone."""
    for option in (_RUNNING[-1], _RUNNING[-2]):
        function = option(function)
    return function


def runner_settings(
    *,
    faults: tuple[str, ...],
    imports: tuple[str, ...],
    trust: bool,
    workers: int | None,
    deadline: float,
    memory: int,
    no_cache: bool,
) -> Any:
    """The runner's settings out of the options."""
    from ..targets.faults import parse_faults
    from ..targets.limits import WorkerLimits
    from ..targets.runner import RunnerSettings, default_cache

    return RunnerSettings(
        limits=WorkerLimits(cpu_seconds=deadline, memory_bytes=memory),
        workers=workers,
        faults=parse_faults(faults),
        imports=imports,
        import_paths=(str(Path.cwd()),) if imports else (),
        trust=trust,
        cache=None if no_cache else default_cache(),
    )


def show(facts: Facts, output_format: str, quiet: bool, folder: Path | None = None, page: str = "") -> None:
    """Print the run's facts: the summary for a person, or one document of another format and nothing else.

    Args:
        folder: where a format that consists of files goes.
        page: the name of the page that was written.
    """
    write_documents(facts)
    if output_format == "text":
        if not quiet:
            from rich.console import Console

            from ..reporting.terminal import render as render_terminal

            render_terminal(facts, Console(), page)
        return
    from ..reporting.base import report_named

    rendered = report_named(output_format).render(facts)
    if isinstance(rendered, str):
        sys.stdout.write(rendered if rendered.endswith("\n") else rendered + "\n")
    else:
        write_files(rendered, folder or Path(DEFAULT_OUT))


def known_format(name: str) -> str:
    """The name of a report format, refused before anything is started.

    Raises:
        UsageError: for an unknown one.
    """
    from ..reporting.base import report_named

    report_named(name)
    return name
