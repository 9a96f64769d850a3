"""What is written down comes back as it was when it is executed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tensorparity.core.arrays import Array
from tensorparity.triage.reproduce import literals


def back(text: str) -> Array:
    return eval(text, {"np": np})  # noqa: S307


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.float16, np.int32, np.bool_]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_come_back(array: Array) -> None:
    again = back(literals.array(array))
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([[1, 2]], np.float32), 'np.array([[1, 2]], "float32")'),
        (np.array([0.1, -0.5], np.float32), 'np.array([0.1, -0.5], "float32")'),
        (np.ones((2, 3), np.float32), 'np.full((2, 3), 1, "float32")'),
        ((np.arange(30) % 7 - 3).astype(np.float32), '(np.arange(30) % 7 - 3).reshape((30,)).astype("float32")'),
        (np.array([np.nan, np.inf, -np.inf], np.float32), 'np.array([np.nan, np.inf, -np.inf], "float32")'),
        (np.array([-0.0, 1e30], np.float32), 'np.array([-0.0, 1e+30], "float32")'),
    ],
)
def test_arrays_read_well(array: Array, text: str) -> None:
    assert literals.array(array) == text


def test_long_arrays_with_few_numbers() -> None:
    array = np.zeros(1000, np.float32)
    array[7] = 2.5
    text = literals.array(array)
    assert len(text) < 120
    np.testing.assert_array_equal(back(text), array)


def test_what_nobody_would_read_is_refused() -> None:
    with pytest.raises(literals.Unprintable, match="whose values matter"):
        literals.array(np.random.default_rng(0).standard_normal(1000))


def test_what_numpy_lacks_is_written_in_float32() -> None:
    array = np.array([0.1, 3.0], "float32").astype(ml_dtypes.bfloat16)
    with pytest.raises(literals.Unprintable, match="no bfloat16"):
        literals.array(array)
    again = back(literals.wide(array))
    assert again.dtype == np.float32
    np.testing.assert_array_equal(again.astype(ml_dtypes.bfloat16), array)


@pytest.mark.parametrize(
    ("value", "text"),
    [([2, 2], "(2, 2)"), ([3], "(3,)"), ("same", '"same"'), (None, "None"), (True, "True"), (["a", 1], '["a", 1]')],
)
def test_values(value: object, text: str) -> None:
    assert literals.value(value) == text


@given(st.text())
def test_texts_come_back_and_stay_in_their_line(text: str) -> None:
    written = literals.value(text)
    assert eval(written) == text  # noqa: S307
    assert "\n" not in written
    assert "\r" not in written


@pytest.mark.parametrize("text", ["", "a b", "a=1", "a.b", "lambda", "x\n", "1a", 3])
def test_what_is_no_name_is_refused(text: object) -> None:
    with pytest.raises(literals.Unprintable, match="no name in Python"):
        literals.name(text)


def test_names() -> None:
    assert literals.name("axis") == "axis"
    assert literals.dotted_name("keras.ops.sum") == "keras.ops.sum"
    for text in ("keras..sum", "Dense()", "Dense.x()"):
        with pytest.raises(literals.Unprintable):
            literals.dotted_name(text)


def test_a_list_that_a_layer_was_given_stays_one() -> None:
    assert literals.as_given([-2, [1, 0.5]]) == literals.as_given((-2, (1, 0.5))) == "[-2, [1, 0.5]]"
    assert literals.as_given("same") == '"same"'
