"""Numbers that a layer need not take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.oracles.measure.domains import outside


def reading(op: str, values: Any, dtype: str = "int32", **params: Any) -> Case:
    build = GraphBuilder()
    array = np.array(values, dtype)
    graph = build.build(build.add(op, build.input("x", array.shape[1:], dtype), name="y", **params))
    return Case(graph, inputs={"x": array})


@pytest.mark.parametrize(("value", "strays"), [(0, False), (3, False), (4, True), (-1, True)])
def test_classes_beyond_their_number(value: int, strays: bool) -> None:
    assert bool(outside(reading("CategoryEncoding", [[value]], num_tokens=4))) is strays


def test_of_any_number_nothing_is_outside() -> None:
    assert not outside(reading("ReLU", [[1e30, -np.inf]], "float32"))


def test_parameters_that_are_ruled_out_say_nothing() -> None:
    assert not outside(reading("CategoryEncoding", [[7]], num_tokens=-4))


def test_a_node_that_is_replayed_reads_inputs_of_its_own() -> None:
    case = reading("CategoryEncoding", [[7]], num_tokens=4)
    procedure = Procedure(goal=Goal.REPLAY, nodes=("y#0",))
    replayed = Case(case.subject, procedure, inputs={"y#0/0": case.inputs["x"]})
    assert outside(replayed)
