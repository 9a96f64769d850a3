"""What libraries leave open of single calls, and what is determined all the same."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.oracles.measure.call_freedoms import determined_output, freedom_of_call

ZEROS = np.asarray([0, 1], np.int32)
TABLE = np.ones((5, 4), np.float32)
TIES = np.asarray([1.0, 1.0], np.float32)


def called(api: str, *args: object, **arrays: Array) -> Case:
    named = tuple(ArrayArg(name) for name in arrays)
    return Case(ApiCall(api, (*named[:1], *args, *named[1:])), Procedure(goal=Goal.CALL), inputs=arrays)


def indices(*numbers: int) -> Array:
    return np.asarray(numbers, np.int32)


@pytest.mark.parametrize(
    ("case", "free"),
    [
        (called("torch.gather", 0, x=TABLE, i=indices(3, 0, 1).reshape(1, 3)), False),
        (called("torch.gather", 1, x=TABLE, i=indices(3, 4).reshape(1, 2)), True),
        (called("torch.index_select", 0, x=TABLE, i=indices(4)), False),
        (called("torch.index_select", 0, x=TABLE, i=indices(-1)), True),
        (called("keras.ops.take", 0, x=TABLE, i=indices(-5, 4)), False),
        (called("keras.ops.take", 0, x=TABLE, i=indices(-6)), True),
        (called("jax.numpy.take", x=TABLE, i=indices(19)), False),
        (called("jax.numpy.take", x=TABLE, i=indices(20)), True),
        (called("jax.lax.slice", [0], [1], x=indices(-3, 7)), False),
        (called("keras.ops.one_hot", 5, x=indices(0, 4)), False),
        (called("keras.ops.one_hot", 4, x=indices(0, 4)), True),
        (called("tensorflow.gather_nd", x=TABLE, i=indices(4, 3).reshape(1, 2)), False),
        (called("tensorflow.gather_nd", x=TABLE, i=indices(3, 4).reshape(1, 2)), True),
        (called("torch.nn.functional.embedding", x=indices(4), weight=TABLE), False),
        (called("torch.nn.functional.embedding", x=indices(5), weight=TABLE), True),
        (called("tensorflow.math.segment_sum", x=TABLE, segment_ids=indices(0, 1, 7)), False),
        (called("tensorflow.math.unsorted_segment_sum", 3, x=TABLE, segment_ids=indices(0, 3)), True),
    ],
)
def test_an_index_is_held_against_the_axis_that_it_indexes(case: Case, free: bool) -> None:
    assert bool(freedom_of_call(case)) is free


@pytest.mark.parametrize(
    "op", ["FloorMod", "FloorDiv", "LeftShift", "GatherV2", "SelfAdjointEigV2", "UnsortedSegmentSum"]
)
def test_words_of_raw_operators_are_told_apart(op: str) -> None:
    case = called(f"tensorflow.raw_ops.{op}", x=ZEROS, y=ZEROS - 1)
    assert freedom_of_call(case)


@pytest.mark.parametrize("op", ["ArgMax", "TopKV2"])
def test_ties_are_seen_in_raw_operators(op: str) -> None:
    assert freedom_of_call(called(f"tensorflow.raw_ops.{op}", x=TIES))
    assert not freedom_of_call(called(f"tensorflow.raw_ops.{op}", x=TIES + [0, 1]))


def test_only_what_divides_can_divide_by_zero() -> None:
    assert freedom_of_call(called("keras.ops.floor_divide", x=ZEROS))
    assert not freedom_of_call(called("keras.ops.floor", x=ZEROS))


def test_shifts_by_all_bits_are_open() -> None:
    assert freedom_of_call(called("torch.bitwise_left_shift", x=ZEROS, y=ZEROS + 31))
    assert not freedom_of_call(called("torch.bitwise_left_shift", x=ZEROS, y=ZEROS + 30))


@pytest.mark.parametrize(
    ("api", "x", "result"),
    [
        ("torch.sort", TIES, "0"),
        ("tensorflow.raw_ops.TopKV2", TIES, "0"),
        ("jax.numpy.nanmedian", TIES * np.nan, "0"),
        ("keras.ops.sort", TIES * np.nan, None),
        ("torch.argsort", TIES, None),
        ("torch.mode", TIES, None),
        ("torch.svd", TIES, "1"),
    ],
)
def test_what_is_sorted_is_determined(api: str, x: Array, result: str | None) -> None:
    assert determined_output(called(api, x=x)) == result
