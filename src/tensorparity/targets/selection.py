"""Which targets a run is about, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import UnknownTargetError, UsageError
from ..core.near_misses import meant
from ..core.procedure import Goal
from .catalogue import TARGETS, install_hint, spec_of, traits_of
from .environments import find_environment, inventory
from .names import parse_target, split_targets


def choose_targets(text: str | None, config: Path | None = None, *, least: int = 2) -> list[str]:
    """The targets a user named, or every installed one that is part of the default set.

    Raises:
        UsageError: for an unknown target, one that is not installed, or too few of them.
    """
    if text is None:
        chosen = installed_targets()
        if len(chosen) < least:
            raise UsageError(_too_few(chosen, least))
        return chosen
    chosen = named_targets(text, config)
    if len(chosen) < least:
        raise UsageError(f"comparing needs {least} targets, --targets names {', '.join(chosen) or 'none'}")
    return chosen


def choose_for_hunt(text: str | None, config: Path | None = None) -> list[str]:
    """The targets a user named, or every installed one that can be accused.

    Raises:
        UsageError: for an unknown target, one that is not installed, or too few of them.
    """
    chosen = choose_targets(text, config)
    return chosen if text is not None else [*chosen, *searched_targets()]


def choose_for_fuzz() -> list[str]:
    """Every installed target that trains, and those that can be accused of what comes before.

    Raises:
        UsageError: if there are too few that train.
    """
    return [*choose_trainers(), *searched_targets()]


def searched_targets() -> list[str]:
    """Installed targets that only a search for defects asks, as far as they run a case."""
    return [name for name in TARGETS.names() if TARGETS.get(name).traits.searched and installed_target(name)]


def only_alone() -> list[str]:
    """Those of them that are asked for single layers and calls, and for no networks, where no user named them."""
    return [name for name in searched_targets() if TARGETS.get(name).traits.alone]


def choose_trainers(least: int = 2) -> list[str]:
    """Every installed target of the default set that takes optimizer steps.

    Raises:
        UsageError: if there are too few.
    """
    chosen = [name for name in installed_targets() if TARGETS.get(name).traits.max_goal is Goal.UPDATE]
    if len(chosen) < least:
        raise UsageError(_too_few(chosen, least))
    return chosen


def choose_voters(least: int = 2) -> list[str]:
    """Every installed target that takes optimizer steps, and whoever runs layers beside them: all of them vote.

    Raises:
        UsageError: if there are too few that take steps.
    """
    trainers = choose_trainers(least)
    return [*trainers, *witnesses_for(trainers)]


def native_libraries(targets: Sequence[str]) -> list[str]:
    """Installed targets that call a library's own functions one by one, as they are, and are not among these."""
    specs = [TARGETS.get(name) for name in TARGETS.names()]
    able = [
        spec
        for spec in specs
        if spec.traits.calls and spec.traits.calls == spec.traits.library and not spec.traits.arbiter
    ]
    return [
        spec.name
        for spec in able
        if not spec.traits.compiled and spec.name not in targets and installed_target(spec.name)
    ]


def named_targets(text: str, config: Path | None = None) -> list[str]:
    names = [parse_target(part) for part in split_targets(text)]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise UsageError(f"target {name} is given twice")
        if name.base not in TARGETS:
            raise UnknownTargetError(
                f"unknown target {name.base!r}{meant(name.base, TARGETS.names())}; known are {_known_targets_text()}"
            )
        spec = spec_of(name)
        missing = inventory(find_environment(name.environment, config)).missing(spec)
        if missing:
            where = f" in environment {name.environment!r}" if name.environment else ""
            raise UsageError(f"{name} needs {', '.join(missing)}, not installed{where}; {install_hint(spec)}")
    return [str(name) for name in names]


def installed_targets() -> list[str]:
    here = inventory(find_environment(""))
    specs = [TARGETS.get(name) for name in TARGETS.names()]
    return [spec.name for spec in specs if spec.traits.default and not here.missing(spec)]


@dataclass(frozen=True, slots=True)
class Selection:
    """The targets of a run, and what a reader should know of the choice."""

    targets: list[str]
    notes: tuple[str, ...] = ()


def choose_for_model(model: str, text: str | None, config: Path | None = None) -> Selection:
    """The targets for one model: those a user named, else the installed ones that can run it.

    Raises:
        UsageError: for an unknown target, one that is not installed, or too few of them.
    """
    if text is None and model.endswith(".pt2"):
        return Selection(_for_torch())
    if text is not None or not model.endswith(".onnx"):
        return Selection(choose_targets(text, config))
    able = [name for name in TARGETS.names() if TARGETS.get(name).traits.lowering == "onnx" and installed_target(name)]
    chosen = [name for name in able if not TARGETS.get(name).traits.arbiter]
    chosen = chosen if len(chosen) > 1 else able
    if len(chosen) < 2:
        raise UsageError(_too_few(chosen, 2))
    others = [name for name in installed_targets() if name not in able]
    return Selection(chosen, (f"left out, for they run no ONNX files: {', '.join(others)}",) if others else ())


def _for_torch() -> list[str]:
    """Torch itself, and the runtimes that take its export."""
    specs = [TARGETS.get(name) for name in TARGETS.names()]
    readers = [spec for spec in specs if "torch" in spec.traits.reads]
    able = [spec for spec in specs if spec in readers or spec.traits.lowering == "onnx"]
    chosen = [spec for spec in able if not spec.traits.arbiter and installed_target(spec.name)]
    if not any(spec in readers for spec in chosen):
        raise UsageError(f"exported torch programs need torch; {install_hint(readers[0])}")
    chosen.sort(key=lambda spec: (spec not in readers, spec.traits.compiled, spec.name))
    return [spec.name for spec in chosen]


def with_threads(targets: Sequence[str], threads: Sequence[int]) -> list[str]:
    """Every target as several, one for each number of threads; as they are where there are none.

    Raises:
        UsageError: for a target that says its number itself.
    """
    if not threads:
        return list(targets)
    names = [parse_target(target) for target in targets]
    fixed = next((name for name in names if "threads" in name.settings), None)
    if fixed is not None:
        raise UsageError(f"--threads gives every target several numbers of threads; {fixed} has one already")
    return [str(replace(name, settings={**name.settings, "threads": str(n)})) for name in names for n in threads]


def arbiters_for(targets: Sequence[str]) -> list[str]:
    """Installed arbiters that could have a say beside these targets, and are not among them."""
    specs = [spec_of(parse_target(target)) for target in targets]
    near = {spec.traits.family for spec in specs} | {spec.traits.lowering for spec in specs}
    arbiters = [TARGETS.get(name) for name in TARGETS.names() if TARGETS.get(name).traits.arbiter]
    return [
        arbiter.name
        for arbiter in arbiters
        if arbiter not in specs and arbiter.traits.family in near and installed_target(arbiter.name)
    ]


def families_of(targets: Sequence[str]) -> dict[str, str]:
    """Which code each target shares with others."""
    return traits_of(targets).families(targets)


def installed_target(name: str) -> bool:
    """Whether the libraries of a target are there."""
    return not inventory(find_environment("")).missing(TARGETS.get(name))


def witnesses_for(targets: Sequence[str]) -> list[str]:
    """Installed witnesses that are not on trial themselves."""
    names = [name for name in TARGETS.names() if TARGETS.get(name).traits.witness]
    return sorted((name for name in names if name not in targets and installed_target(name)), key=_start_rank)


def functions_below(targets: Sequence[str]) -> list[str]:
    """Who says which function below a layer is wrong: the libraries these targets compute with, and arbiters.

    None of them is started before it is asked.
    """
    libraries = {spec_of(parse_target(target)).traits.library for target in targets}
    native = [name for name in native_libraries(targets) if TARGETS.get(name).traits.library in libraries]
    return [*native, *arbiters_for(targets)]


def _start_rank(name: str) -> int:
    return -TARGETS.get(name).traits.start_rank


def _known_targets_text() -> str:
    """Every target, with how to install those that are not."""
    here = inventory(find_environment(""))
    shown: list[str] = []
    for name in TARGETS.names():
        spec = TARGETS.get(name)
        shown.append(f"{name} ({install_hint(spec)})" if here.missing(spec) else name)
    return ", ".join(shown)


def _too_few(chosen: Sequence[str], least: int) -> str:
    have = f"only {', '.join(chosen)} is" if chosen else "none is"
    hints = [install_hint(TARGETS.get(name)) for name in TARGETS.names() if name not in chosen]
    return f"comparing needs {least} targets, {have} here; install more, for example {hints[0]}" if hints else have
