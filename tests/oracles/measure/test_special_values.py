"""What an operator may answer where its inputs hold NaN or infinities."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.oracles.measure.special_values import special, wrong_elements

NAN, INF = float("nan"), float("inf")


def wrong(name: str, x: object, y: object, dtype: str = "float32") -> list[bool]:
    arrays = [np.array([x], np.float64)]
    answer: Array = np.array([y], dtype)
    return np.ravel(wrong_elements(OPERATORS.get(name), {}, arrays, answer, dtype)).tolist()


@pytest.mark.parametrize(
    ("name", "x", "right", "false"),
    [
        ("tanh", INF, (1.0,), (NAN, INF, 0.5)),
        ("exp", NAN, (NAN,), (INF, 0.0)),
        ("exp", -INF, (0.0,), (NAN,)),
        ("sin", INF, (NAN,), (0.0, 1.0)),
        ("log", INF, (INF,), (NAN, 88.0)),
        ("silu", -INF, (0.0,), (NAN, INF, -INF, 1.0)),  # the limit, which a product of infinity and 0 does not excuse
        ("relu", NAN, (NAN, 0.0), ()),  # told by comparisons, which a NaN fails
        ("soft_shrink", INF, (INF,), (NAN,)),
    ],
)
def test_functions_of_one_number(name: str, x: float, right: tuple[float, ...], false: tuple[float, ...]) -> None:
    for y in right:
        assert wrong(name, [x], [y]) == [False], y
    for y in false:
        assert wrong(name, [x], [y]) == [True], y


def test_a_largest_number_is_none_where_one_of_them_is_no_number() -> None:
    assert wrong("max", [1.0, NAN, 3.0], NAN) == [False]
    assert wrong("max", [1.0, NAN, 3.0], 3.0) == [True]
    assert wrong("max", [-INF, -INF], -3.4e38) == [True]


def test_softmax_beside_an_infinity() -> None:
    assert not any(wrong("softmax", [-INF, 0.0], [0.0, 1.0]))
    assert any(wrong("softmax", [-INF, 0.0], [NAN, NAN]))
    assert not any(wrong("softmax", [INF, 0.0], [NAN, NAN]))
    assert not any(wrong("softmax", [INF, 0.0], [1.0, 0.0]))
    assert any(wrong("softmax", [NAN, 0.0], [0.0, 0.0]))


def test_a_sum_is_no_number_only_where_both_infinities_are_in_it() -> None:
    assert wrong("sum", [INF, 1.0, 2.0], INF) == [False]
    assert wrong("sum", [INF, 1.0, 2.0], NAN) == [True]
    assert wrong("sum", [INF, 1.0, 2.0], 3.0) == [True]
    for order in ([INF, 1.0, -INF], [-INF, INF, 1.0], [1.0, -INF, INF]):
        assert wrong("sum", order, NAN) == [False]


@pytest.mark.parametrize("name", ["max", "min", "l1_norm", "l2_norm", "mean"])
def test_infinities_of_one_sign_are_no_reason_for_a_nan(name: str) -> None:
    assert wrong(name, [INF, INF], INF) == [False]
    assert wrong(name, [INF, INF], NAN) == [True]


def test_nor_is_it_among_the_largest_so_far() -> None:
    assert wrong("cummax", [1.0, INF, 2.0], [1.0, INF, INF]) == [False, False, False]
    assert wrong("cummax", [1.0, INF, 2.0], [1.0, NAN, INF]) == [False, True, False]


@pytest.mark.parametrize("name", ["max_pool1d", "avg_pool1d"])
def test_nor_under_a_window(name: str) -> None:
    assert wrong(name, [[INF], [1.0], [2.0], [2.0]], [[INF], [2.0]]) == [False, False]
    assert wrong(name, [[INF], [1.0], [2.0], [2.0]], [[NAN], [2.0]]) == [True, False]


def test_products_with_zeros_are_no_numbers() -> None:
    operator = OPERATORS.get("matmul")
    for zero, expected in ((0.0, False), (1.0, True)):
        arrays = [np.array([[[INF, 1.0]]]), np.array([[[zero], [1.0]]])]
        assert wrong_elements(operator, {}, arrays, np.array([[[NAN]]], np.float32), "float32").any() == expected


def test_a_folded_normalization_subtracts_its_own_infinity() -> None:
    """X scale + (offset - mean scale) with an infinite scale is inf - inf, and (x - mean) scale is not."""
    arrays = [np.full((1, 1, 1, 1), 2.0), *(np.array([item]) for item in (1.0, 1.0, INF, 0.0))]
    for answer in (INF, NAN):
        output = np.full((1, 1, 1, 1), answer, np.float32)
        assert not wrong_elements(OPERATORS.get("norm"), {}, arrays, output, "float32").any()


def test_a_nan_stays_where_it_is() -> None:
    """A reference that writes windows as matrices has zero times NaN; who does better is right as well."""
    operator = OPERATORS.get("conv1d_transpose")
    sizes = operator.sizes({}, operator.shapes[0])
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal((2, *sizes[operand.name]) if operand.stacked else sizes[operand.name])
        for operand in operator.operands
    ]
    finite = operator.evaluate({}, arrays).value
    arrays[0][0].reshape(-1)[0] = NAN
    touched = finite.copy()
    touched[0][: len(arrays[1])] = NAN
    rows = wrong_elements(operator, {}, arrays, touched.astype(np.float32), "float32").reshape(2, -1).any(axis=1)
    assert not rows[1]
    assert wrong_elements(operator, {}, arrays, finite.astype(np.float32), "float32")[0].any()


def test_the_dtype_decides_what_is_infinite() -> None:
    assert wrong("square", [INF, 300.0], [INF, INF], "float16") == [False, False]
    assert wrong("square", [INF, 300.0], [INF, INF], "float32") == [False, True]


def test_which_arrays_are_special() -> None:
    assert special([np.zeros(2), np.array([1.0, NAN])])
    assert not special([np.zeros(2)])
