"""Layers at ties and thresholds: which cases there are, and that a gradient that goes to all maxima is found."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import LayerGraph
from tensorparity.core.procedure import Goal
from tensorparity.core.verdict import Stage
from tensorparity.generators.single_cases.subgradients import pulled_back_cases, smooth_cases, subgradient_cases
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import RunnerSettings, open_runner

from ...stepping import ExaminedCases

TARGETS = ("keras:tensorflow", "keras:torch")


def op(case: Case) -> str:
    assert isinstance(case.subject, LayerGraph)
    return case.subject.nodes[-1].op


def test_layers_that_bend_come_in_turn_and_others_never() -> None:
    names = ("MaxPooling1D", "Dense", "Maximum", "Discretization", "ReLU", "Add")
    seen = [op(case) for case in islice(subgradient_cases(0, names), 30)]
    assert set(seen) == {"MaxPooling1D", "Maximum", "ReLU"}
    assert max(seen.count(name) for name in set(seen)) - min(seen.count(name) for name in set(seen)) <= 8


def test_they_hold_numbers_that_are_equal_and_pull_something_back() -> None:
    for case in islice(subgradient_cases(1, ("MaxPooling2D",)), 5):
        (given,) = case.inputs.values()
        assert len(np.unique(given)) < given.size
        assert case.procedure.goal is Goal.REPLAY
        assert set(case.cotangents) == set(case.procedure.nodes)


def test_where_nothing_bends_there_is_an_end() -> None:
    assert list(subgradient_cases(0, ("Dense", "Add"))) == []


def test_a_seed_gives_the_same_cases_and_each_turn_other_ones() -> None:
    def digests(seed: int) -> list[str]:
        return [case.digest for case in islice(subgradient_cases(seed, ("ReLU", "Minimum")), 6)]

    assert digests(1) == digests(1)
    assert len(set(digests(1) + digests(2))) == 12


@pytest.mark.tensorflow
@pytest.mark.torch
def test_a_gradient_that_goes_to_all_maxima_is_found() -> None:
    settings = RunnerSettings(faults={"keras:torch": load_fault("maxpool-gradient-to-all")})
    with open_runner(TARGETS, settings) as runner:
        found = ExaminedCases(runner, TARGETS).examine(islice(subgradient_cases(0, ("MaxPooling1D",)), 4)).confirm()
    said = {(s.stage, s.diagnosis.api, s.diagnosis.suspects) for s in found}
    assert (Stage.BACKWARD, "keras.layers.MaxPooling1D", ("keras:torch",)) in said


def test_special_points_of_smooth_layers_are_asked_as_well() -> None:
    """Zero, one and far out, of layers that have one gradient there."""
    cases = list(islice(smooth_cases(0, ("Dense", "MaxPooling1D", "Softmax")), 9))
    assert {op(case) for case in cases} >= {"Dense", "Softmax"}
    values = {abs(value) for case in cases for array in case.inputs.values() for value in array.ravel().tolist()}
    assert values == {0.0, 1.0, 20.0}
    assert all(case.procedure.goal is Goal.REPLAY for case in cases)


def test_every_fourth_case_is_smooth() -> None:
    seen = [op(case) for case in islice(pulled_back_cases(0, ("ReLU", "Dense")), 12)]
    assert seen[:3] == ["ReLU"] * 3
    assert "Dense" in seen[3:]
    assert [op(case) for case in islice(pulled_back_cases(0, ("Dense",)), 3)] == ["Dense"] * 3
