"""Losses alone on targets that compute the reference: what is kept, and what blames nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Recipe
from tensorparity.core.verdict import Stage
from tensorparity.generators.single_cases import losses
from tensorparity.generators.single_cases.losses import loss_cases
from tensorparity.operators.losses.alone import loss_alone
from tensorparity.operators.losses.catalogue import LOSSES, evaluate_loss

from ...stepping import Answering, ExaminedCases

TARGETS = ("keras:tensorflow", "keras:torch", "keras:jax")


class References:
    """A Runner of losses without gradients; ``keras:torch`` is wrong in one of them, or lacks it."""

    def __init__(self, wrong: str = "", lacks: str = "") -> None:
        self._wrong, self._lacks = wrong, lacks

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        recipe, outputs = case.procedure.loss, {"y0": case.inputs["p0"]}
        assert recipe is not None
        if (target, recipe.name) == ("keras:torch", self._lacks):
            return Outcome(target, Status.RAISED, failure=Failure("NotImplementedError", "not implemented"))
        value = float(evaluate_loss(recipe, case.labels["y0"], case.inputs["p0"]).value)
        value += (target, recipe.name) == ("keras:torch", self._wrong)
        return Outcome(target, Status.COMPLETED, outputs, trace=Trace(loss=value))


def after_all(runner: References) -> ExaminedCases:
    return ExaminedCases(runner, TARGETS).examine(islice(loss_cases(0), len(LOSSES) + 4))


def judged(case: Case, outcomes: Sequence[Outcome]) -> ExaminedCases:
    return ExaminedCases(Answering(case, {outcome.target: outcome for outcome in outcomes}), TARGETS).examine([case])


def test_nothing_is_doubted_where_nothing_is_wrong() -> None:
    assert after_all(References()).doubted == []


@pytest.mark.parametrize("name", ["Huber", "BinaryCrossentropy"])
def test_a_wrong_loss_is_confirmed_and_named(name: str) -> None:
    (suspicion,) = after_all(References(wrong=name)).confirm()
    assert (suspicion.stage, suspicion.diagnosis.api) == (Stage.LOSS, f"keras.losses.{name}")
    assert suspicion.diagnosis.suspects == ("keras:torch",)


def test_who_says_that_it_has_no_such_loss_is_not_accused() -> None:
    assert after_all(References(lacks="Huber")).doubted == []


@pytest.mark.parametrize("way", [False, True])
def test_a_loss_that_is_guarded_in_either_way_is_right(way: bool) -> None:
    """Of logits far from 0 one formula keeps the chance from 0, the other has no need to."""
    recipe = Recipe("BinaryFocalCrossentropy", {"from_logits": True})
    predictions, labels = {"y": np.array([[-40.0, 3.0]], np.float32)}, {"y": np.array([[1.0, 1.0]], np.float32)}
    case = loss_alone(recipe, predictions, labels, dtype=None, seed=0)
    value = float(evaluate_loss(recipe, labels["y"], predictions["y"], otherwise=way).value)
    right = [Outcome(target, Status.COMPLETED, {"y0": predictions["y"]}, trace=Trace(loss=value)) for target in TARGETS]
    assert judged(case, right).doubted == []
    off = replace(right[1], trace=Trace(loss=value + 1.0))
    found = judged(case, [right[0], off, right[2]]).doubted
    assert [suspicion.diagnosis.suspects for suspicion in found] == [("keras:torch",)]


@pytest.mark.parametrize(("reduction", "doubted"), [("product", 0), ("sum", 1)])
def test_what_everybody_refuses_is_right_where_it_is_ruled_out(reduction: str, doubted: int) -> None:
    labels = {"y": np.ones((1, 2), np.float32)}
    refused = [Outcome(target, Status.RAISED, failure=Failure("ValueError", "no")) for target in TARGETS]
    found = judged(loss_alone(Recipe("Huber", {"reduction": reduction}), labels, labels, dtype=None, seed=0), refused)
    assert len(found.doubted) == doubted
    assert not found.undecided, "else hundreds of refusals would hide what nobody could tell"


def test_labels_of_one_class_of_none_and_of_several_are_drawn() -> None:
    drawn = dict.fromkeys((losses.ONE_CLASS, losses.NO_CLASS, losses.SOFT), False)
    for case in islice(losses.loss_cases(5), 600):
        (labels,) = case.labels.values()
        if labels.dtype.kind != "f" or labels.ndim != 2 or len(labels) < 2:
            continue
        drawn[losses.ONE_CLASS] |= bool((labels == labels[:1]).all() and labels.any())
        drawn[losses.NO_CLASS] |= not labels.any()
        drawn[losses.SOFT] |= case.procedure.loss.name.endswith("Crossentropy") and bool(
            ((labels > 0) & (labels < 1)).any()
        )
    assert all(drawn.values()), drawn


@pytest.mark.parametrize("style", [losses.ONE_CLASS, losses.NO_CLASS, losses.SOFT])
def test_odd_labels_keep_shape_and_dtype(style: str) -> None:
    rng = np.random.default_rng(0)
    plain = np.eye(3, dtype=np.float32)
    odd = losses._odd_labels(plain, style, rng)
    assert (odd.shape, odd.dtype) == (plain.shape, plain.dtype)
    if style == losses.SOFT:
        assert np.allclose(odd.sum(axis=1), 1.0)


def test_one_in_four_is_behind_half_precision() -> None:
    """Predictions of a mixed policy are numbers of 16 bits, and every loss meets both of them."""
    cases = list(islice(loss_cases(0), 8 * len(LOSSES)))
    half = [case for case in cases if case.procedure.dtype]
    met = [(case.procedure.loss.name, case.procedure.dtype) for case in half if case.procedure.loss]
    assert sorted(met) == sorted((name, policy) for name in LOSSES for policy in ("mixed_float16", "mixed_bfloat16"))
    for case in half:
        if case.procedure.dtype != "mixed_float16":
            continue
        given = case.inputs["p0"]
        assert (given.astype(np.float16).astype(given.dtype) == given).all()
