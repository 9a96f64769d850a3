"""Calls are determined by seed and by what was told, and what is told makes them better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.generators.api_inputs import ApiInputs, ApiListing
from tensorparity.generators.api_inputs.constraints import REFUSED_AFTER, Category, Constraint, State
from tensorparity.generators.api_inputs.values import CLASSES, DTYPES, draw


def listing(*apis: dict[str, Any]) -> ApiListing:
    entries = [{"kind": "function", "aliases": [], "doc": "", **api} for api in apis]
    return ApiListing.from_json({"library": "some", "apis": entries, "excluded": {}})


PRODUCT = {
    "name": "some.product",
    "doc": "Product.\n\nArgs:\n  a: A tensor.\n  b: A tensor.\n",
    "parameters": [{"name": "a"}, {"name": "b"}, {"name": "transpose", "default": False}],
}
REDUCTION = {
    "name": "some.reduce",
    "doc": 'Args:\n  x: A tensor.\n  axis: an integer.\n  mode: one of "sum" or "mean".\n',
    "parameters": [{"name": "x"}, {"name": "axis", "default": None}, {"name": "mode", "default": "sum"}],
}


def accepts_product(case: Case) -> bool:
    a, b = case.inputs.get("a"), case.inputs.get("b")
    if a is None or b is None or a.ndim != 2 or b.ndim != 2 or a.dtype != b.dtype or a.dtype.kind != "f":
        return False
    return bool(a.shape[-1] == b.shape[-1 if "transpose" in case.subject.kwargs else 0])


def accepts_reduction(case: Case) -> bool:
    assert isinstance(case.subject, ApiCall)
    axis, x = case.subject.kwargs.get("axis"), case.inputs.get("x")
    if x is None or x.dtype.kind not in "fi":
        return False
    return axis is None or (isinstance(axis, int) and -x.ndim <= axis < x.ndim)


def taught(inputs: ApiInputs, api: str, accepts: Callable[[Case], bool], rounds: int) -> list[bool]:
    told = []
    for _ in range(rounds):
        for case in inputs.configurations(api, 10):
            told.append(accepts(case))
            inputs.learn(api, case, told[-1])
    return told


@pytest.mark.parametrize(("api", "accepts"), [(PRODUCT, accepts_product), (REDUCTION, accepts_reduction)])
def test_the_last_hundred_are_accepted(api: dict[str, Any], accepts: Callable[[Case], bool]) -> None:
    told = taught(ApiInputs(listing(api), 3), api["name"], accepts, 40)
    assert sum(told[-100:]) >= 90


def test_same_seed_and_same_news_give_the_same_calls() -> None:
    def digests(seed: int) -> list[str]:
        inputs = ApiInputs(listing(PRODUCT), seed)
        taught(inputs, "some.product", accepts_product, 5)
        return [case.digest for case in inputs.configurations("some.product", 5)]

    assert digests(1) == digests(1)
    assert digests(1) != digests(2)


def test_no_call_is_proposed_twice() -> None:
    inputs = ApiInputs(listing(REDUCTION), 0)
    found = [case.digest for _ in range(10) for case in inputs.configurations("some.reduce", 10)]
    assert len(found) == len(set(found)) > 50


def test_relations_are_kept_once_they_were_accepted() -> None:
    inputs = ApiInputs(listing(PRODUCT), 3)
    taught(inputs, "some.product", accepts_product, 30)
    kept = {
        option.says for option in inputs.constraints("some.product", State.KEPT) if option.category is Category.RELATION
    }
    assert kept & {"rank 2, others matmul", "rank 2, square, others same", "rank 2, others same"}
    assert not any(option.accepted for option in inputs.constraints("some.product", State.REFUSED))


def test_what_is_refused_alone_is_refused() -> None:
    option = Constraint(Category.TYPE, ("x",), "int8", "form", 1.0)
    for _ in range(REFUSED_AFTER):
        assert option.state is State.PROPOSED
        option.tell(False, alone=True)
    assert option.state is State.REFUSED
    assert option.promise == 0.0


def test_every_documented_type_is_tried_once_others_are_accepted() -> None:
    """Of four types that the documentation names, the seldom ones too, within the forty calls of a run."""
    doc = "Args:\n  x: A `tf.Tensor` of type `float32`, `float64`, `complex64`, `complex128`\n"
    inputs = ApiInputs(listing({"name": "some.f", "doc": doc, "parameters": [{"name": "x"}]}))
    seen = set()
    for _ in range(5):
        for case in inputs.configurations("some.f", 8):
            seen |= {array.dtype.name for array in case.inputs.values()}
            inputs.learn("some.f", case, True)
    assert seen >= {"float32", "float64", "complex64", "complex128"}


def test_every_mode_string_is_written() -> None:
    inputs = ApiInputs(listing(REDUCTION), 0)
    taught(inputs, "some.reduce", accepts_reduction, 30)
    cases = [case for _ in range(10) for case in inputs.configurations("some.reduce", 10)]
    assert {case.subject.kwargs["mode"] for case in cases if "mode" in case.subject.kwargs} >= {"sum", "mean"}


def test_a_class_is_made_and_then_called() -> None:
    module = {"name": "some.Layer", "kind": "class", "parameters": [{"name": "units"}], "call": [{"name": "x"}]}
    (case,) = ApiInputs(listing(module), 0).configurations("some.Layer", 1)
    assert isinstance(case.subject, ApiCall)
    assert case.subject.api == "()"
    made, given = case.subject.args
    assert made.api == "some.Layer"
    assert isinstance(given, ArrayArg)


def test_other_numbers_leave_indices_alone() -> None:
    gather = {"name": "some.gather", "doc": "", "parameters": [{"name": "x"}, {"name": "indices"}]}
    inputs = ApiInputs(listing(gather), 0)
    (case,) = inputs.configurations("some.gather", 1)
    for other in inputs.values("some.gather", case, len(CLASSES)):
        assert np.array_equal(other.inputs["indices"], case.inputs["indices"])
        assert other.inputs["x"].shape == case.inputs["x"].shape
        assert other.inputs["x"].dtype == case.inputs["x"].dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", CLASSES)
def test_every_class_of_values_in_every_dtype(dtype: str, values: str) -> None:
    array = draw(np.random.default_rng(0), (5, 7), dtype, values)
    assert array.shape == (5, 7)
    assert array.dtype.name == dtype


def test_extremes_are_the_smallest_and_the_largest() -> None:
    array = draw(np.random.default_rng(0), (20, 20), "int8", "extremes")
    assert array.min() == -128
    assert array.max() == 127
    assert np.isnan(draw(np.random.default_rng(0), (20, 20), "float16", "not finite")).any()


TORCH_SUM = {"name": "some.addcmul", "parameters": [{"name": "input"}, {"name": "tensor1"}, {"name": "mask"}]}
TAKEN = {"name": "some.pick", "parameters": [{"name": "input"}, {"name": "index"}]}
LENGTHS = {
    "name": "some.padded",
    "doc": "Args:\n  x: A tensor.\n  valid: the lengths of the rows.\n",
    "parameters": [{"name": "x"}, {"name": "valid"}],
}
COUNTS = {"name": "some.one_hot", "parameters": [{"name": "x"}]}


def shipped(api: dict[str, Any], **arrays: np.ndarray) -> tuple[ApiInputs, Case]:
    call = ApiCall(api["name"], tuple(ArrayArg(name) for name in arrays))
    return ApiInputs(listing(api), 0), Case(call, inputs=arrays)


def values_of(api: dict[str, Any], **arrays: np.ndarray) -> dict[str, np.ndarray]:
    inputs, case = shipped(api, **arrays)
    drawn = inputs.values(api["name"], case, len(CLASSES))
    return {name: np.stack([one.inputs[name] for one in drawn]) for name in arrays}


def test_whole_numbers_of_a_call_that_ships_go_to_the_ends_of_their_type() -> None:
    found = values_of(TORCH_SUM, a=np.ones((4, 5), np.int8), b=np.ones((4, 5), np.int64), c=np.ones((4, 5), bool))
    assert {found["a"].min(), found["a"].max()} == {-128, 127}
    assert {found["b"].min(), found["b"].max()} == {np.iinfo(np.int64).min, np.iinfo(np.int64).max}
    assert not found["c"].all()


@pytest.mark.parametrize(("api", "second"), [(TAKEN, np.int64), (LENGTHS, np.int32)])
def test_what_means_a_place_stays_by_name_or_by_documentation(api: dict[str, Any], second: type) -> None:
    found = values_of(api, a=np.ones((4, 5), np.int8), b=np.ones(4, second))
    assert found["a"].max() >= 126
    assert (found["b"] == 1).all()


def test_functions_whose_argument_means_places_keep_it() -> None:
    assert (values_of(COUNTS, a=np.ones((4, 5), np.int64))["a"] == 1).all()


def test_of_an_object_the_parameters_of_its_call_count() -> None:
    api = {"name": "some.Thing", "kind": "class", "parameters": [{"name": "size"}], "call": [{"name": "x"}]}
    made = ApiCall("()", (ApiCall("some.Thing", (3,)), ArrayArg("a")))
    drawn = ApiInputs(listing(api), 0).values("some.Thing", Case(made, inputs={"a": np.ones((9, 9), np.int16)}), 7)
    assert max(one.inputs["a"].max() for one in drawn) == np.iinfo(np.int16).max


def test_no_call_of_an_optimizer_is_made_up() -> None:
    api = {"name": "some.Adam", "kind": "optimizer", "parameters": [{"name": "lr", "default": 0.1}]}
    assert ApiInputs(listing(api), 0).configurations("some.Adam", 3) == []
