"""Runners for targets that are in no table: a third party's adapter under test, and our misbehaving one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.procedure import Goal, Procedure
from ..core.traits import TargetTraits
from ..targets.catalogue import TargetSpec
from ..targets.names import parse_target
from ..targets.runner import LocalRunner, PreparedTarget, RunnerSettings

#: The adapter that does what its calls say: die, hang, leave children, write garbage.
MISBEHAVING = TargetSpec(
    name="misbehaving",
    adapter=str(Path(__file__).with_name("misbehaving.py")),
    distributions=("numpy",),
    extra="dev",
    summary="an adapter that misbehaves on demand",
    traits=TargetTraits("misbehaving", default=False),
)


def misbehave(way: str, *args: Any, **inputs: Array) -> Case:
    """The case that makes the misbehaving target do ``way``; what answers gives the inputs back."""
    return Case(ApiCall(f"misbehave.{way}", args), Procedure(goal=Goal.CALL), inputs)


def external_runner(spec: TargetSpec, targets: Iterable[str], settings: RunnerSettings | None = None) -> LocalRunner:
    """A runner whose targets all use ``spec``; their names may carry flavours, environments and settings.

    Raises:
        UnknownTargetError: if a name does not follow the grammar of target names.
        UsageError: if an environment is not declared.
    """
    settings = settings or RunnerSettings()
    return LocalRunner([PreparedTarget(parse_target(name), settings, spec) for name in targets], settings)
