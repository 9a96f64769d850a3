"""Layers saved and loaded in turn: which cases there are, and what is said of a layer that comes back changed."""

from __future__ import annotations

from itertools import islice

import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import LayerGraph
from tensorparity.core.verdict import Stage
from tensorparity.generators.single_cases.reloads import reload_cases
from tensorparity.operators.catalogue import layer_names
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import RunnerSettings, open_runner

from ...examining import examine_case
from ...stepping import ExaminedCases

TARGETS = ("keras:tensorflow", "keras:torch")


def ops(case: Case) -> set[str]:
    assert isinstance(case.subject, LayerGraph)
    return {node.op for node in case.subject.nodes}


def test_every_layer_is_saved_and_loaded_in_its_turn():
    names = layer_names()
    cases = iter(islice(reload_cases(3), len(names) - 2))
    case, missing = next(cases), []
    for name in names:
        if name in ops(case):
            assert case.procedure.reload
            case = next(cases, case)
        else:
            missing.append(name)
    rare = {"Equalization", "RandomCrop"}  # hardly any model can hold them, so they may miss their turns, or not
    assert set(missing) <= rare | set(names[-2:])


def test_a_seed_gives_the_same_cases_and_each_turn_other_ones():
    def digests(seed: int) -> list[str]:
        return [case.digest for case in islice(reload_cases(seed, ("Dense", "ELU")), 4)]

    assert digests(1) == digests(1)
    assert len(set(digests(1) + digests(2))) == 8


@pytest.mark.tensorflow
@pytest.mark.torch
def test_a_setting_that_a_configuration_loses_is_found():
    settings = RunnerSettings(faults={"keras:torch": load_fault("config-loses-setting")})
    with open_runner(TARGETS, settings) as runner:
        found = ExaminedCases(runner, TARGETS).examine(islice(reload_cases(0, ("LeakyReLU",)), 3)).confirm()
    said = {(s.stage, s.diagnosis.api, s.diagnosis.suspects) for s in found}
    assert said == {(Stage.SAVE_LOAD, "keras.layers.LeakyReLU", ("keras:torch",))}
    assert all("negative_slope" in s.diagnosis.parameters for s in found)


@pytest.mark.tensorflow
@pytest.mark.torch
def test_a_layer_that_cannot_be_loaded_is_named_and_not_what_was_built_last():
    case = next(case for case in reload_cases(1, ("RandomShear",)) if len(ops(case)) > 1 and "RandomShear" in ops(case))
    with open_runner(TARGETS) as runner:
        checked, _ = examine_case(runner, case, TARGETS)
    assert [s.diagnosis.api for s in checked.suspicions[:1]] == ["keras.layers.RandomShear"]
    assert checked.suspicions[0].stage is Stage.SAVE_LOAD
