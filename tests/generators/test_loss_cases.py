"""Losses alone: every one of them, in every style, with predictions that it is defined for."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Recipe
from tensorparity.generators.single_cases.losses import EXACT, PREDICTIONS, loss_case, loss_cases, styles_of
from tensorparity.operators.losses.alone import is_loss_alone
from tensorparity.operators.losses.catalogue import LOSSES, evaluate_loss


def names(cases: list[Case]) -> list[str]:
    return [case.procedure.loss.name for case in cases if case.procedure.loss]


def test_all_losses_in_turn_and_the_same_again() -> None:
    first = list(islice(loss_cases(3), 2 * len(LOSSES)))
    assert names(first) == [*LOSSES, *LOSSES]
    assert [case.digest for case in first] == [case.digest for case in islice(loss_cases(3), len(first))]
    assert [case.digest for case in first] != [case.digest for case in islice(loss_cases(4), len(first))]


def test_each_is_a_loss_alone_whose_value_the_reference_knows() -> None:
    for case in islice(loss_cases(0), 12 * len(LOSSES)):
        assert is_loss_alone(case)
        assert case.procedure.goal is Goal.GRADIENTS
        recipe = case.procedure.loss
        assert recipe is not None
        value = evaluate_loss(recipe, case.labels["y0"], case.inputs["p0"])
        assert np.isfinite(value.value), (recipe, case.inputs, case.labels)


def test_every_style_of_every_loss_comes_up() -> None:
    """Within a few turns: style by style, with a little luck."""
    drawn: dict[str, set[bytes]] = {name: set() for name in LOSSES}
    for case in islice(loss_cases(1), 24 * len(LOSSES)):
        assert case.procedure.loss is not None
        drawn[case.procedure.loss.name].add(case.inputs["p0"].tobytes())
    assert all(len(found) >= 2 * len(styles_of(LOSSES[name])) for name, found in drawn.items())


@pytest.mark.parametrize("style", PREDICTIONS["probabilities"])
def test_probabilities_sum_to_one_along_the_axis(style: str) -> None:
    loss = Recipe("CategoricalCrossentropy", {"axis": 1})
    case = loss_case(loss, 3, 2, style, np.random.default_rng(0))
    assert case.inputs["p0"].shape == (2, 3, 3)
    np.testing.assert_allclose(case.inputs["p0"].sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("style", PREDICTIONS["chances"])
def test_chances_are_chances(style: str) -> None:
    case = loss_case(Recipe("BinaryCrossentropy"), 5, 4, style, np.random.default_rng(0))
    assert (case.inputs["p0"] >= 0.0).all()
    assert (case.inputs["p0"] <= 1.0).all()


def test_exact_predictions_are_the_labels() -> None:
    case = loss_case(Recipe("MeanAbsoluteError"), 3, 2, EXACT, np.random.default_rng(0))
    np.testing.assert_array_equal(case.inputs["p0"], case.labels["y0"])
    assert EXACT in styles_of(LOSSES["Poisson"])
    assert EXACT not in styles_of(LOSSES["BinaryCrossentropy"])
    assert EXACT not in styles_of(LOSSES["BinaryCrossentropy"], logits=True)
