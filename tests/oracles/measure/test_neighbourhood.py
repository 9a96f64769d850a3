"""What an answer may be, seen from float64 runs on inputs that are moved by rounding."""

from __future__ import annotations

import numpy as np

from tensorparity.core.call import ApiCall, ArrayArg, DtypeArg
from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.oracles.measure.neighbourhood import STEPS, TIMES, in_float64, neighbourhood

U = 2.0**-24


def moved(function, x):  # type: ignore[no-untyped-def]
    """The values of a function where the examiner would have it run."""
    call = ApiCall("torch.f", (ArrayArg("x"),), {"dtype": DtypeArg("float32")})
    case = in_float64(Case(call, Procedure(goal=Goal.CALL), {"x": np.asarray(x, np.float32)}))
    assert case is not None
    assert case.subject.kwargs["dtype"] == DtypeArg("float64")
    assert case.inputs["x"].dtype == np.float64
    return [function(row) for row in case.inputs["x"]]


def test_the_input_itself_comes_first_and_the_others_are_near() -> None:
    rows = moved(lambda row: row, [1.0, 2.0])
    assert len(rows) == 1 + TIMES * len(STEPS)
    assert rows[0].tolist() == [1.0, 2.0]
    far = [np.abs(row / rows[0] - 1).max() / U for row in rows[1:]]
    assert all(0.5 <= distance <= 1.001 for distance in far[:TIMES])
    assert all(8.0 <= distance <= 16.01 for distance in far[TIMES:])


def test_rounding_is_allowed_and_a_wrong_digit_is_not() -> None:
    around = neighbourhood(moved(np.exp, [1.0, 3.0]), "float32")
    assert around is not None
    assert not around.excess(np.exp([1.0, 3.0]) * (1 + 8 * U)).any()
    assert around.excess(np.exp([1.0, 3.0]) * (1 + 1e-4)).all()


def test_cancellation_widens_what_is_allowed() -> None:
    around = neighbourhood(moved(lambda row: np.asarray([row.sum()]), [1e4, -1e4, 1.0]), "float32")
    assert around is not None
    assert not around.excess(np.asarray([1.0 + 1e-4]))
    assert around.excess(np.asarray([1.5]))


def test_between_the_sides_of_a_jump_everything_is_right_and_nothing_beyond() -> None:
    """The slope of abs at zero: anything from -1 to 1."""
    around = neighbourhood(moved(np.sign, [0.0]), "float32")
    assert around is not None
    assert not around.excess(np.asarray([0.5]))
    assert around.excess(np.asarray([3.0]))
    assert around.excess(np.asarray([np.nan]))


def test_what_leaves_the_range_may_be_infinite() -> None:
    around = neighbourhood(moved(lambda row: row * 1e30, [1e20]), "float32")
    assert around is not None
    assert not around.excess(np.asarray([np.inf]))
    assert around.excess(np.asarray([5.0]))


def test_where_the_true_value_is_nan_a_number_is_wrong() -> None:
    with np.errstate(all="ignore"):
        around = neighbourhood(moved(np.log, [-1.0]), "float32")
    assert around is not None
    assert not around.excess(np.asarray([np.nan]))
    assert np.isinf(around.excess(np.asarray([0.0])))


def test_integers_have_no_neighbours() -> None:
    case = Case(ApiCall("torch.f", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": np.arange(3)})
    assert in_float64(case) is None


def test_whole_numbers_are_moved_as_far_as_the_dtype_rounds_that_was_made_of_them() -> None:
    """The sine of a multiple of pi is 0, and a float32 answer is right within what float32 knows of pi."""
    call = Case(ApiCall("torch.f", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": np.asarray([1.0, 2.0])})
    assert in_float64(call) is None
    case = in_float64(call, computed_in="float32")
    assert case is not None
    around = neighbourhood([np.sin(np.pi * row) for row in case.inputs["x"]], "float32")
    assert around is not None
    assert not around.excess(np.sin(np.float32(np.pi) * np.float32([1.0, 2.0]))).any()
    assert around.excess(np.asarray([1e-5, 0.0])).any()


def test_what_is_allowed_is_said_of_the_element_that_lies_furthest_outside() -> None:
    around = neighbourhood([np.asarray([1.0, 1e6])] * 13, "float32")
    assert around is not None
    true, off = 1.0, around.high[0] - 1.0
    assert around.allowed(np.asarray([true + 4 * off, 1e6])) == off
    assert around.allowed(np.asarray([true, 1e6 + 4e6])) == around.high[1] - 1e6
