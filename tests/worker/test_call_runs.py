"""Calls in many ways, by a library that is NumPy: rows one by one, what fails told apart, all rows at once."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from tensorparity.worker.adapters.call_runs import CallRuns, Ways, cotangent, is_program, is_varied
from tensorparity.worker.contract import Job, Unsupported

FUNCTIONS = {"np.log": np.log, "np.divmod": lambda a, b: (a // b, a % b), "np.Scale": lambda by: lambda x: by * x}


def log_of_positive(x: Any) -> Any:
    if (x < 0).any():
        raise ValueError("negative")
    return np.log(x)


class NumpyWays(Ways):
    PREFIXES = ("np.",)
    VARIANTS = {"doubled": lambda function, tensors, kept: [2 * item for item in _list(function(tensors))]}
    MAPPED = {"together": lambda function, rows, kept: [[len(rows) * function(row)] for row in rows]}

    def resolve(self, name: str) -> Any:
        return {**FUNCTIONS, "np.log": log_of_positive}[name]

    def to_tensor(self, array: Any, perm: Any = None) -> Any:
        return np.asarray(array)

    def to_numpy(self, value: Any) -> Any:
        return np.asarray(value)

    def context(self, job: Any) -> Any:
        return contextlib.ExitStack()

    def pulled_back(self, run: Any, function: Any, tensors: Any, order: int) -> Any:
        return run(function, tensors), {"x": np.ones(2) * order}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def job(subject: Any, arrays: Any, **procedure: Any) -> Job:
    case = {"subject": subject, "procedure": {"goal": "call", **procedure}}
    return Job(case, {f"inputs:{name}": array for name, array in arrays.items()})


LOG = {"kind": "api-call", "api": "np.log", "args": [{"$array": "x"}], "kwargs": {}}


def run(subject: Any, arrays: Any, **procedure: Any) -> Any:
    return CallRuns(NumpyWays()).run(job(subject, arrays, **procedure))


def test_every_row_is_run_and_what_fails_is_told() -> None:
    result = run(LOG, {"x": np.array([[1.0, 2.0], [-1.0, 2.0], [3.0, 4.0]])}, rows=3)
    assert list(result.outputs) == ["0/0", "2/0"]
    assert result.outputs["2/0"].tolist() == np.log([3.0, 4.0]).tolist()
    assert result.reply == {"rows": {"1": {"type": "ValueError", "message": "negative"}}}


def test_where_all_rows_fail_the_call_does() -> None:
    with pytest.raises(ValueError, match="negative"):
        run(LOG, {"x": -np.ones((2, 2))}, rows=2)


def test_a_way_changes_what_is_run_and_an_unknown_one_is_unsupported() -> None:
    assert run(LOG, {"x": np.ones(2) * np.e}, variant="doubled").outputs["0"].tolist() == [2.0, 2.0]
    with pytest.raises(Unsupported, match="backwards"):
        run(LOG, {"x": np.ones(2)}, variant="backwards")


def test_all_rows_at_once() -> None:
    result = run(LOG, {"x": np.full((3, 1), np.e)}, rows=3, variant="together")
    assert [array.tolist() for array in result.outputs.values()] == [[3.0]] * 3


def test_gradients_are_named_by_their_inputs() -> None:
    result = run(LOG, {"x": np.ones((2, 2))}, rows=2, derivative=2)
    assert result.gradients["1/input:x"].tolist() == [2.0, 2.0]


def test_a_program_calls_what_another_call_made_and_picks_of_what_it_gives() -> None:
    made = {"$call": {"api": "np.Scale", "args": [{"$complex": [0.0, 2.0]}], "kwargs": {}}}
    called = {"$call": {"api": "()", "args": [made, {"$array": "x"}], "kwargs": {}}}
    subject = {"kind": "api-call", "api": "[]", "args": [called, [{"$slice": [1, None, None]}]], "kwargs": {}}
    assert is_program(job(subject, {}))
    assert run(subject, {"x": np.arange(3.0)}, variant="").outputs["0"].tolist() == [2j, 4j]


def test_several_results_are_several_outputs() -> None:
    subject = {"kind": "api-call", "api": "np.divmod", "args": [{"$array": "a"}, 3], "kwargs": {}}
    assert {name: int(array) for name, array in run(subject, {"a": np.array(7)}).outputs.items()} == {"0": 2, "1": 1}


def test_private_methods_are_not_called() -> None:
    subject = {"kind": "api-call", "api": ".__class__", "args": [{"$array": "x"}], "kwargs": {}}
    with pytest.raises(Unsupported, match="no public method"):
        run(subject, {"x": np.ones(1)})


def test_results_are_pulled_back_with_quarters() -> None:
    assert cotangent((2, 3)).tolist() == [[1.0, 1.25, 1.5], [1.75, 2.0, 1.0]]


def test_a_plain_job_is_no_varied_one() -> None:
    assert not is_varied(job(LOG, {}))
    assert is_varied(job(LOG, {}, rows=1))
