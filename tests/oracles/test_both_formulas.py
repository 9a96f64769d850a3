"""A loss of which two formulas are right: each library may choose, but only once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Recipe
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.losses.alone import loss_alone
from tensorparity.operators.losses.catalogue import evaluate_loss
from tensorparity.oracles.kinds import make_oracle
from tensorparity.reporting.words import sentence

EAGER, COMPILED, OTHER = "a:eager", "a:compiled", "b:eager"
TRAITS = Traits(
    {
        EAGER: TargetTraits(EAGER, library="a"),
        COMPILED: TargetTraits(COMPILED, library="a", compiled=True),
        OTHER: TargetTraits(OTHER, library="b"),
    }
)
RECIPE = Recipe("SparseCategoricalCrossentropy")
DECLARED, OTHERWISE, BY_SIZE = "declared", "otherwise", "by size"


@pytest.fixture
def case() -> Case:
    """Chances beyond 1, which are clipped before or after they are made to add up to 1."""
    predictions, labels = np.array([[2.0, 3.0], [0.5, 4.0]], np.float32), np.array([0, 1], np.int32)
    return loss_alone(RECIPE, {"y": predictions}, {"y": labels}, dtype=None, seed=0)


def _ran(case: Case, target: str, how: str) -> Outcome:
    predictions, labels = case.inputs["p0"], case.labels["y0"]
    otherwise = how == OTHERWISE or (how == BY_SIZE and len(labels) > 16)
    value = evaluate_loss(RECIPE, labels, predictions, otherwise=otherwise).value
    return Outcome(target, Status.COMPLETED, {"y0": predictions}, Trace(loss=float(np.float32(value))))


def _judged(case: Case, ways: Mapping[str, str]) -> Judged:
    outcomes = {target: _ran(case, target, how) for target, how in ways.items()}
    seen = Seen(case, (outcomes,), (dict.fromkeys(ways, case),), TRAITS)
    oracle = make_oracle("trained_layer", Setup(traits=TRAITS, targets=tuple(ways)))
    found = oracle.judge(seen)
    if not found.checks:
        return found
    answers = [Answer(check, {t: _ran(check.case, t, ways[t]) for t in check.targets}) for check in found.checks]
    return oracle.judge(Seen(case, (outcomes,), (dict.fromkeys(ways, case),), TRAITS, tuple(answers), memo=found.memo))


def test_each_library_may_choose(case: Case) -> None:
    found = _judged(case, {EAGER: DECLARED, COMPILED: DECLARED, OTHER: OTHERWISE})
    assert not [one for one in found.suspicions if one.stage is Stage.LOSS]


def test_compiled_it_is_the_same_formula(case: Case) -> None:
    found = _judged(case, {EAGER: DECLARED, COMPILED: OTHERWISE, OTHER: OTHERWISE}).suspicions[0]
    assert (found.kind, found.stage, found.diagnosis.klass) == (Kind.INCONSISTENCY, Stage.LOSS, Class.DEFECT)
    assert found.diagnosis.suspects == (COMPILED,)
    assert found.diagnosis.api == "keras.losses.SparseCategoricalCrossentropy"
    assert sentence(found.diagnosis.observations[0]) == "a:compiled computes the loss by another formula than a:eager"


def test_of_many_samples_it_is_the_same_formula(case: Case) -> None:
    found = _judged(case, {EAGER: DECLARED, OTHER: BY_SIZE}).suspicions[0]
    assert found.diagnosis.suspects == (OTHER,)
    assert "few samples" in sentence(found.diagnosis.observations[0])


def test_where_the_formulas_are_one_nothing_is_asked(case: Case) -> None:
    plain = loss_alone(RECIPE, {"y": np.array([[0.4, 0.6]], np.float32)}, {"y": np.array([1])}, dtype=None, seed=0)
    assert not _judged(plain, {EAGER: DECLARED, OTHER: OTHERWISE}).suspicions
