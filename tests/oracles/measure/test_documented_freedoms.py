"""Documented freedoms: what they cover, and what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.oracles.measure.documented_freedoms import (
    FREEDOMS,
    GRADIENTS_AT_KINKS,
    as_specification,
    freedom_of,
    freedom_of_node,
)
from tensorparity.reporting.words import sentences
from tensorparity.targets.lowering.onnx import lower_to_onnx
from tensorparity.targets.lowering.pytorch.graph import lower_to_torch


def layer_case(op: str, x: Array, **params: object) -> Case:
    build = GraphBuilder()
    return Case(build.build(build.add(op, build.input("x", x.shape[1:]), **params)), inputs={"x": x})


def name(case: Case) -> str | None:
    found = freedom_of(case)
    return found.freedom.name if found else None


def test_indices_out_of_range() -> None:
    outside = layer_case("Embedding", np.array([[0, 5]]), input_dim=5, output_dim=2)
    assert name(outside) == "indices out of range"
    assert name(layer_case("Embedding", np.array([[0, 4]]), input_dim=5, output_dim=2)) is None


@pytest.mark.parametrize(("divisor", "free"), [(np.array([0, 1]), True), (np.array([2, 1]), False)])
def test_integers_by_zero(divisor: Array, free: bool) -> None:
    call = ApiCall("torch.fmod", (ArrayArg("a"), ArrayArg("b")))
    case = Case(call, inputs={"a": np.array([3, 4]), "b": divisor})
    assert (name(case) is not None) == free
    floats = Case(call, inputs={"a": np.array([3.0, 4.0]), "b": divisor.astype(float)})
    assert name(floats) is None  # NaN is documented there


@pytest.mark.parametrize(("size", "free"), [(2, True), (3, True), (4, False), (16, False)])
def test_halves_in_nearest_neighbours(size: int, free: bool) -> None:
    case = layer_case("Resizing", np.zeros((1, 4, 4, 1), np.float32), height=size, width=4, interpolation="nearest")
    assert (name(case) is not None) == free
    smooth = layer_case("Resizing", np.zeros((1, 4, 4, 1), np.float32), height=size, width=4)
    assert name(smooth) is None


def test_a_freedom_blames_nobody() -> None:
    diagnosis = as_specification(Diagnosis(Class.DEFECT, ("lib:a",), evidence=("it differs",)), FREEDOMS[0])
    assert (diagnosis.klass, diagnosis.suspects) == (Class.SPECIFICATION, ())
    assert FREEDOMS[0].words in sentences(diagnosis)[-1]


def test_every_freedom_quotes_its_source() -> None:
    assert all(freedom.words and freedom.source for freedom in (*FREEDOMS, GRADIENTS_AT_KINKS))


def test_nan_is_in_none_of_the_cases_a_function_is_told_by() -> None:
    nan = np.array([[np.nan, 1.0]], np.float32)
    freed = freedom_of_node(Node("a", "Activation", (Ref("x"),), {"activation": "soft_shrink"}), [nan])
    assert freed is not None
    np.testing.assert_array_equal(freed.mask, [[True, False]])
    assert freedom_of_node(Node("a", "Activation", (Ref("x"),), {"activation": "tanh"}), [nan]) is None


def test_what_the_documentation_leaves_unsaid_is_free_as_a_whole() -> None:
    x = np.array([[0.5, 2.0]], np.float32)
    overlap = Node("r", "ReLU", (Ref("x"),), {"max_value": 0.0, "threshold": 1.0, "negative_slope": 0.5})
    freed = freedom_of_node(overlap, [x])
    assert freed is not None
    assert freed.mask.all()
    assert "contradict" in freed.freedom.words
    assert freedom_of_node(Node("r", "ReLU", (Ref("x"),), {"max_value": 6.0, "threshold": 1.0}), [x]) is None


@pytest.mark.parametrize("lower", [lower_to_onnx, lower_to_torch])
def test_and_no_lowering_chooses_a_reading_of_it(lower: Any) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (2,)), name="r", max_value=0.0, threshold=1.0))
    refusal = lower(Case(graph, inputs={"x": np.ones((1, 2), np.float32)}))
    assert isinstance(refusal, str)
    assert "contradict" in refusal
