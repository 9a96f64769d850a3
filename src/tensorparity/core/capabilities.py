"""What a target is asked for: as much of a training step as it can run."""

from __future__ import annotations

from dataclasses import replace

from .case import Case
from .procedure import Goal, Mode, Recipe
from .traits import TargetTraits

_STEPS = (Goal.GRADIENTS, Goal.UPDATE)


def can_train(traits: TargetTraits) -> bool:
    """Whether a target has anything to say of losses and gradients."""
    return traits.max_goal in _STEPS


def takes_step(recipe: Recipe | None, traits: TargetTraits) -> bool:
    """Whether a target without all optimizers has this one, as it is asked for: other arguments are switched off."""
    if recipe is None or recipe.name not in traits.optimizers:
        return False
    known = traits.optimizers[recipe.name]
    rate = recipe.params.get("learning_rate", 0.0)
    others = {name: value for name, value in recipe.params.items() if name not in known}
    return isinstance(rate, (int, float)) and all(value is None or value is False for value in others.values())


def within_reach(case: Case, traits: TargetTraits) -> Case:
    """The part of a training step that a target can run: some have no optimizers, some are run forward only."""
    procedure = case.procedure
    if traits.lowering and procedure.mode is Mode.EAGER:
        procedure = replace(procedure, mode=Mode.USER)  # these have one mode, in which nothing is compiled at length
    if procedure.goal in _STEPS and traits.max_goal is Goal.FORWARD:
        procedure = replace(procedure, goal=Goal.FORWARD, trace=True, loss=None, optimizer=None)
        return replace(case, procedure=procedure, labels={})
    short = traits.max_goal is Goal.GRADIENTS and not takes_step(procedure.optimizer, traits)
    if procedure.goal is Goal.UPDATE and short:
        procedure = replace(procedure, goal=Goal.GRADIENTS, optimizer=None)
    return replace(case, procedure=procedure) if procedure is not case.procedure else case
