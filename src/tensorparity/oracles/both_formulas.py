"""A loss that may be computed by either of two formulas: which one is the library's choice, made once.

A library whose compiled loss follows the other formula than its own without the compiler, or whose loss of many samples
follows the other one than that of few, has chosen neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..core.case import Case
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Check, Seen
from ..core.outcome import Outcome
from ..core.rows import repeated
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Kind, Stage
from ..operators.losses.alone import is_loss_alone
from ..operators.losses.catalogue import LOSSES, told_twice
from .base import Asking
from .measure.steps import loss_formulas
from .recipes import at_loss
from .statements import BY_REFERENCE, Statement

#: Copies of each sample: another batch, and not a multiple of any vector's length.
_COPIES = 67
_MOST_NUMBERS = 1 << 16

Outcomes = Mapping[str, Outcome]


def by_one_formula(seen: Seen, outcomes: Outcomes, said: Statement) -> Asking[Statement]:
    """What was said of a loss; where that accuses nobody of a value, who follows both formulas."""
    case = seen.case
    recipe = case.procedure.loss
    if recipe is None or recipe.name not in LOSSES or not told_twice(recipe) or not is_loss_alone(case):
        return said
    if any(suspicion.stage is Stage.LOSS for suspicion in said.suspicions):
        return said
    followed = _followed(case, outcomes, seen.traits)
    if not any(len(formulas) == 1 for formulas in followed.values()):  # here the two are one
        return said
    found = _by_compilation(case, followed, seen.traits)
    if not found:
        found = yield from _by_size(case, followed, seen.traits)
    convicted = tuple((suspicion, BY_REFERENCE) for suspicion in found)
    return replace(said, convictions=(*convicted, *said.convictions), undecided="") if found else said


def _followed(case: Case, outcomes: Outcomes, traits: Traits) -> dict[str, frozenset[str]]:
    """By target, which of the formulas explain its loss; a target that none explains is left out."""
    found = {target: loss_formulas(case, outcome, traits) for target, outcome in outcomes.items()}
    return {target: formulas for target, formulas in found.items() if formulas}


def _by_compilation(case: Case, followed: Mapping[str, frozenset[str]], traits: Traits) -> list[Suspicion]:
    found = []
    for target, formulas in followed.items():
        plain = [t for t in followed if traits[t].library == traits[target].library and not traits[t].compiled]
        if traits[target].compiled and plain and not formulas & followed[plain[0]]:
            found.append(_suspicion(case, followed, target, plain[0]))
    return found


def _by_size(case: Case, followed: Mapping[str, frozenset[str]], traits: Traits) -> Asking[list[Suspicion]]:
    if sum(array.size for array in case.arrays().values()) * _COPIES > _MOST_NUMBERS:
        return []
    labels = {name: np.repeat(array, _COPIES, axis=0) for name, array in case.labels.items()}
    longer = replace(repeated(case, _COPIES), labels=labels)
    (answer,) = yield [Check(longer, tuple(followed))]
    again = _followed(longer, {t: o for t, o in answer.outcomes.items() if o.completed}, traits)
    return [
        _suspicion(case, followed, target, "size")
        for target, formulas in again.items()
        if not formulas & followed[target]
    ]


def _suspicion(case: Case, followed: Mapping[str, frozenset[str]], target: str, how: str) -> Suspicion:
    """``how``: by size, or the target that follows the other formula."""
    said: Evidence = observed("both-formulas", target=target, how=how)
    diagnosis = at_loss(Diagnosis(klass=Class.DEFECT, suspects=(target,), evidence=(said,)), case)
    return Suspicion(Kind.INCONSISTENCY, diagnosis, case, tuple(followed), stage=Stage.LOSS)
