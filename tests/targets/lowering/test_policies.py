"""Targets that take no layers honour a dtype policy, or say why not; none computes in another precision in silence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.policies import POLICIES
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.lowering.onnx import lower_to_onnx
from tensorparity.targets.lowering.pytorch import lower_to_torch


def dense(procedure: Procedure) -> Case:
    net = GraphBuilder()
    graph = net.build(net.add("Dense", net.input("x", (3,)), units=2, name="out"))
    x, y = np.ones((1, 3), np.float32), np.zeros((1, 2), np.float32)
    return Case(graph, procedure, {"x": x}, {"out": y}, draw_weights(graph, np.random.default_rng(0)))


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "float32"])
def test_onnx_is_of_float32(name):
    refused = lower_to_onnx(dense(Procedure(dtype=name)))
    assert isinstance(refused, str)
    assert name in refused


@pytest.mark.parametrize("name", list(POLICIES))
def test_torch_computes_in_one_dtype(name):
    lowered = lower_to_torch(dense(Procedure(dtype=name)))
    if POLICIES[name].mixed:
        assert isinstance(lowered, str)
        assert name in lowered
    else:
        assert lowered[0]["dtype"] == name


@pytest.mark.parametrize("name", list(POLICIES))
def test_torch_has_no_loss_of_half_precision(name):
    case = dense(Procedure(Goal.GRADIENTS, loss=Recipe("MeanSquaredError")))
    lowered = lower_to_torch(replace(case, procedure=replace(case.procedure, dtype=name)))
    assert isinstance(lowered, str) is POLICIES[name].half
