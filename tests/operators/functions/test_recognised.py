"""Plain calls of libraries as operators of the catalogue, and functions as the layers that call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.call import TupleArg
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.as_layers import evaluate_as_layer
from tensorparity.operators.functions.recognised import recognised

IMAGE = np.arange(2 * 4 * 4 * 1, dtype=np.float32).reshape(2, 4, 4, 1)


def call(api: str, *args: Any, arrays: dict[str, Array], **kwargs: Any) -> Case:
    def given(value: Any) -> Any:
        return ArrayArg(value) if isinstance(value, str) and value in arrays else value

    subject = ApiCall(api, tuple(map(given, args)), {name: given(value) for name, value in kwargs.items()})
    return Case(subject, Procedure(goal=Goal.CALL), arrays)


def value_of(case: Case) -> Array:
    found = recognised(case)
    assert found is not None
    return found.evaluate().value


def test_a_function_of_one_number() -> None:
    x = np.array([[-1.0, 0.0, 2.0]], np.float32)
    assert value_of(call("torch.nn.functional.relu", "x", arrays={"x": x})).tolist() == [[0, 0, 2]]
    assert value_of(call("keras.ops.relu", "x", arrays={"x": x})).tolist() == [[0, 0, 2]]


def test_one_number_stands_for_several_alike() -> None:
    small = {"x": IMAGE}
    for size in (2, [2, 2], TupleArg((2, 2))):
        case = call("keras.ops.max_pool", "x", size, strides=size, arrays=small)
        assert value_of(case)[0, :, :, 0].tolist() == [[5, 7], [13, 15]]


def test_other_axes_are_turned_there_and_back() -> None:
    turned = {"x": np.ascontiguousarray(IMAGE.transpose(0, 3, 1, 2))}
    case = call("torch.nn.functional.max_pool2d", "x", TupleArg((2, 2)), stride=TupleArg((2, 2)), arrays=turned)
    assert value_of(case)[0, 0].tolist() == [[5, 7], [13, 15]]


@pytest.mark.parametrize("how", [{"eps": 3.0}, {"eps": 8.0}])
def test_parameters_are_found_whatever_they_are_called(how: dict[str, float]) -> None:
    arrays = {"x": np.array([[1.0, 3.0]], np.float32), "one": np.ones(2, np.float32), "none": np.zeros(2, np.float32)}
    case = call("torch.nn.functional.layer_norm", "x", [2], weight="one", bias="none", arrays=arrays, **how)
    assert value_of(case).ravel().tolist() == pytest.approx([-1 / (1 + how["eps"]) ** 0.5, 1 / (1 + how["eps"]) ** 0.5])


@pytest.mark.parametrize(
    "case",
    [
        call("keras.ops.max_pool", "x", 2, strides=2, padding="same", arrays={"x": IMAGE}),
        call("keras.ops.relu", "x", alpha=0.5, arrays={"x": IMAGE}),
        call("torch.nn.functional.fold", "x", arrays={"x": IMAGE}),
        call("keras.ops.relu", "x", arrays={"x": IMAGE.astype(np.int32)}),
    ],
)
def test_what_no_declaration_gives_is_no_operator(case: Case) -> None:
    assert recognised(case) is None


def layer_value(case: Case) -> Array:
    assert isinstance(case.subject, ApiCall)
    found = evaluate_as_layer(case.subject, case.inputs)
    assert found is not None
    return found.value


def test_pooling_with_padding_is_the_layers() -> None:
    case = call("keras.ops.average_pool", "x", 3, strides=3, padding="same", arrays={"x": IMAGE})
    # the one row and column of padding before the image count in no window
    assert layer_value(case)[0, :, :, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]


def test_groups_are_told_by_the_kernel() -> None:
    x = np.array([[[1.0, 10.0]]], np.float32)
    kernel = np.array([[[2.0, 3.0]]], np.float32)  # one input channel for each of two groups
    case = call("keras.ops.conv", "x", "kernel", arrays={"x": x, "kernel": kernel})
    assert layer_value(case).tolist() == [[[2, 30]]]


def test_a_transposed_convolution_spreads() -> None:
    x, kernel = np.array([[[1.0], [2.0]]], np.float32), np.array([[[1.0]], [[10.0]]], np.float32)
    case = call("keras.ops.conv_transpose", "x", "kernel", 2, arrays={"x": x, "kernel": kernel})
    assert layer_value(case).ravel().tolist() == [1, 10, 2, 20]


def test_arguments_that_fit_no_layer_have_no_value() -> None:
    subject = call("keras.ops.conv", "x", "x", arrays={"x": IMAGE}).subject
    assert isinstance(subject, ApiCall)
    assert evaluate_as_layer(subject, {"x": IMAGE}) is None
    assert evaluate_as_layer(ApiCall("keras.ops.relu", (ArrayArg("x"),)), {"x": IMAGE}) is None
