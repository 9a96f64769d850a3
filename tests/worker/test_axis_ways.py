"""Axes counted from the other end: which arguments are axes, and of what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.worker.adapters.axis_ways import from_the_end
from tensorparity.worker.adapters.expressions import Expression
from tensorparity.worker.contract import Unsupported

X = np.arange(24.0).reshape(2, 3, 4)


def total(x: Any, axis: Any = None) -> Any:
    return np.sum(x, axis=tuple(axis) if isinstance(axis, list) else axis), axis


def both(first: Any, second: Any, axis: int = 0) -> Any:
    return axis


FUNCTIONS = {"np.sum": total, "np.both": both, "np.one_hot": total}


def said(api: str, *more: Any, arrays: tuple[Any, ...] = (X,), **kwargs: Any) -> Any:
    named = {f"x{place}": array for place, array in enumerate(arrays)}
    args = [{"$array": name} for name in named] + list(more)
    subject = {"kind": "api-call", "api": api, "args": args, "kwargs": kwargs}
    expression = Expression(subject, ("np.",), FUNCTIONS.__getitem__)
    return from_the_end(None, expression, named, {})


@pytest.mark.parametrize(("axis", "other"), [(0, -3), (2, -1), (-1, 2), ([0, -1], [-3, 2])])
def test_every_axis_is_the_same_axis_by_its_other_number(axis: Any, other: Any) -> None:
    for value, given in (said("np.sum", axis=axis), said("np.sum", axis)):
        assert given == other
        assert (value == total(X, axis)[0]).all()


def test_axes_are_those_of_a_tensor_that_no_other_exceeds() -> None:
    assert said("np.both", 1, arrays=(X, X[0])) == -2
    with pytest.raises(Unsupported, match="whose axes"):
        said("np.both", 1, arrays=(X[0], X))
    with pytest.raises(Unsupported, match="whose axes"):
        said("np.both", 0, arrays=(np.float64(1), np.float64(1)))


def test_where_no_axis_is_given_or_it_is_one_of_the_result_nothing_is_said() -> None:
    with pytest.raises(Unsupported, match="no axis"):
        said("np.sum")
    with pytest.raises(Unsupported, match="axes are not those"):
        said("np.one_hot", axis=0)


@pytest.mark.torch
def test_compiled_functions_have_the_names_of_their_schemas() -> None:
    import torch

    args = [{"$array": "x"}]
    for api, more in (("torch.cumsum", [0]), ("torch.sum", [[0, 2]]), ("torch.mean", [1]), ("torch.select", [0, 1])):
        subject = {"kind": "api-call", "api": api, "args": args + more, "kwargs": {}}
        called = getattr(torch, api[6:])
        expression = Expression(subject, ("torch.",), lambda name, called=called: called)
        tensors = {"x": torch.tensor(X)}
        assert (from_the_end(None, expression, tensors, {}) == expression(tensors)).all()
