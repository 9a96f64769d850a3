"""How far a target is asked to run a training step: some have no optimizers, some are run forward only."""

from __future__ import annotations

from dataclasses import replace

from ..core.case import Case
from ..core.procedure import Goal, Mode
from ..targets.catalogue import TARGETS, spec_of
from ..targets.names import parse_target


def can_train(target: str) -> bool:
    """Whether a target has anything to say of losses and gradients."""
    name = parse_target(target)
    return name.base not in TARGETS or spec_of(name).furthest in (Goal.GRADIENTS, Goal.UPDATE)


def as_far_as(case: Case, target: str) -> Case:
    """The part of a training step that a target can run: some have no optimizers, some are run forward only."""
    name = parse_target(target)
    if name.base not in TARGETS:
        return case
    spec = spec_of(name)
    procedure = case.procedure
    if spec.lowering and procedure.mode is Mode.EAGER:
        procedure = replace(procedure, mode=Mode.USER)  # these have one mode, in which nothing is compiled at length
    if procedure.goal in (Goal.GRADIENTS, Goal.UPDATE) and spec.furthest is Goal.FORWARD:
        procedure = replace(procedure, goal=Goal.FORWARD, trace=True, loss=None, optimizer=None)
        return replace(case, procedure=procedure, labels={})
    if procedure.goal is Goal.UPDATE and spec.furthest is Goal.GRADIENTS:
        procedure = replace(procedure, goal=Goal.GRADIENTS, optimizer=None)
    return replace(case, procedure=procedure) if procedure is not case.procedure else case
