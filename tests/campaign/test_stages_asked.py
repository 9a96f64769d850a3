"""How much of a training step each target is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tensorparity.campaign.asking import as_far_as, can_train

from tensorparity.core.procedure import Goal, Mode
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.targets.catalogue import TARGETS


@pytest.mark.parametrize(
    ("target", "goal"),
    [
        ("keras:jax", Goal.UPDATE),
        ("torch:eager", Goal.GRADIENTS),
        ("torch:compile", Goal.GRADIENTS),
        ("onnxruntime", Goal.FORWARD),
        ("keras:tensorflow@other", Goal.UPDATE),
        ("nobody:knows", Goal.UPDATE),
    ],
)
def test_as_far_as_it_goes(target: str, goal: Goal) -> None:
    case = NetworkGenerator(0, NetworkSettings(goal=Goal.UPDATE)).next().case
    case = replace(case, procedure=replace(case.procedure, mode=Mode.EAGER))
    asked = as_far_as(case, target)
    assert asked.procedure.goal is goal
    assert asked.procedure.training == case.procedure.training
    assert (asked.procedure.loss is None) == (goal is Goal.FORWARD)
    assert asked.procedure.trace == (goal is Goal.FORWARD)
    assert bool(asked.labels) == (goal is not Goal.FORWARD)
    one_mode = target in TARGETS and bool(TARGETS.get(target).traits.lowering)
    assert asked.procedure.mode is (Mode.USER if one_mode else Mode.EAGER)


def test_who_can_train() -> None:
    assert can_train("keras:torch")
    assert can_train("torch:eager")
    assert not can_train("openvino")
    assert not can_train("tensorflow:eager")
