"""Whom errors accuse; one independent implementation alone says nothing of the code that it shares with others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..core.finding import Class
from ..core.traits import Traits
from .measure.backward import GradientErrors, accuse_gradients
from .measure.diagnose import Accusation, accuse, blame
from .measure.node_errors import NodeErrors


def accusations(measured: Sequence[NodeErrors], traits: Traits, how: str = "forward") -> list[Accusation]:
    """One accusation per defect, as far as can be told before reduction, in the order of the nodes.

    Args:
        how: the numbers came about, as for ``diagnose.accusation_of``.
    """
    answered = dict.fromkeys(target for errors in measured for target in errors.errors)
    return [_told_apart(found, traits) for found in accuse(measured, traits.families(answered), how)]


def gradient_accusation(found: GradientErrors, traits: Traits, how: str = "backward") -> Accusation | None:
    """An accusation, or a specification where all are right and differ; None where there is nothing to say."""
    accusation = accuse_gradients(found, traits.families(found.errors.errors), how)
    return _told_apart(accusation, traits) if accusation else None


def class_and_suspects(errors: NodeErrors, traits: Traits) -> tuple[Class | None, tuple[str, ...]]:
    """The class and the suspects of one node; (None, ()) where nothing is wrong or nobody can tell."""
    klass, suspects = blame(errors, traits.families(errors.errors))
    return klass, independent(suspects, errors.errors, traits, errors.node.op)


def independent(suspects: tuple[str, ...], answered: Collection[str], traits: Traits, op: str = "") -> tuple[str, ...]:
    """The suspects; where shared code is accused by a single implementation, the targets themselves."""
    shared = len(suspects) == 1 and suspects[0] not in answered
    return tuple(answered) if shared and len(traits.implementations(answered, op)) < 2 else suspects


def _told_apart(accusation: Accusation, traits: Traits) -> Accusation:
    first, diagnosis = accusation.first, accusation.diagnosis
    suspects = independent(diagnosis.suspects, first.errors, traits, first.node.op)
    return replace(accusation, diagnosis=replace(diagnosis, suspects=suspects))
