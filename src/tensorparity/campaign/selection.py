"""Which targets a run is about, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.case import EXPORTED_ONNX
from ..core.errors import UnknownTargetError, UsageError
from ..core.policies import POLICIES, worth
from ..core.traits import TargetTraits, Traits, base_name
from ..targets.catalogue import TARGETS, install_hint, spec_of
from ..targets.environments import find_environment, inventory
from ..targets.names import parse_target, split_targets
from ..triage.ballots import ballot_of


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


def named_targets(text: str, config: Path | None = None) -> list[str]:
    names = [parse_target(part) for part in split_targets(text)]
    for name in names:
        if name.base not in TARGETS:
            raise UnknownTargetError(f"unknown target {name.base!r}; known are {_known()}")
        spec = spec_of(name)
        missing = inventory(find_environment(name.environment, config)).missing(spec)
        if missing:
            where = f" in environment {name.environment!r}" if name.environment else ""
            raise UsageError(f"{name} needs {', '.join(missing)}, not installed{where}; {install_hint(spec)}")
    return [str(name) for name in names]


def installed_targets() -> list[str]:
    here = inventory(find_environment(""))
    specs = [TARGETS.get(name) for name in TARGETS.names()]
    return [spec.name for spec in specs if spec.hunted and not here.missing(spec)]


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
    able = [name for name in TARGETS.names() if TARGETS.get(name).lowering == "onnx" and installed_target(name)]
    chosen = [name for name in able if not TARGETS.get(name).arbiter]
    chosen = chosen if len(chosen) > 1 else able
    if len(chosen) < 2:
        raise UsageError(_too_few(chosen, 2))
    others = [name for name in installed_targets() if name not in able]
    return Selection(chosen, (f"left out, for they run no ONNX files: {', '.join(others)}",) if others else ())


def _for_torch() -> list[str]:
    """Torch itself, and the runtimes that take its export."""
    able = [name for name in TARGETS.names() if name.startswith("torch:") or TARGETS.get(name).lowering == "onnx"]
    chosen = [name for name in able if not TARGETS.get(name).arbiter and installed_target(name)]
    if not any(name.startswith("torch:") for name in chosen):
        raise UsageError(f"exported torch programs need torch; {install_hint(TARGETS.get('torch:eager'))}")
    return sorted(chosen, key=lambda name: (not name.startswith("torch:"), name != "torch:eager", name))


def arbiters_for(targets: Sequence[str]) -> list[str]:
    """Installed arbiters that could have a say beside these targets, and are not among them."""
    specs = [spec_of(parse_target(target)) for target in targets]
    near = {spec.family for spec in specs} | {spec.lowering for spec in specs}
    arbiters = [TARGETS.get(name) for name in TARGETS.names() if TARGETS.get(name).arbiter]
    return [
        arbiter.name
        for arbiter in arbiters
        if arbiter not in specs and arbiter.family in near and installed_target(arbiter.name)
    ]


def families_of(targets: Sequence[str]) -> dict[str, str]:
    """Which code each target shares with others."""
    return {target: spec_of(parse_target(target)).family or target for target in targets}


def traits_of(targets: Sequence[str]) -> Traits:
    """The traits of these targets; of a name that is in no table, what the name itself tells."""
    return Traits({target: _traits(target) for target in targets})


def _traits(target: str) -> TargetTraits:
    plain = TargetTraits(base_name(target), library=ballot_of(target), effective_dtypes=_effective_dtypes(target))
    name = parse_target(target)
    if name.base not in TARGETS:
        return plain
    spec = spec_of(name)
    return replace(
        plain,
        family=spec.family,
        max_goal=spec.furthest,
        lowering=spec.lowering,
        calls=spec.calls,
        reads=("onnx", EXPORTED_ONNX) if spec.lowering == "onnx" else (name.framework,),
        compiled=spec.compiled,
        arbiter=spec.arbiter,
        default=spec.hunted,
    )


def _effective_dtypes(target: str) -> dict[str, str]:
    worths = {policy.compute: worth(target, policy) for policy in POLICIES.values()}
    return {compute: own for compute, own in worths.items() if own != compute}


def installed_target(name: str) -> bool:
    """Whether the libraries of a target are there."""
    return not inventory(find_environment("")).missing(TARGETS.get(name))


def _known() -> str:
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
