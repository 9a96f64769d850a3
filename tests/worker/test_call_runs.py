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


class _Scale:
    """An object with a number that is drawn, and one that calls change."""

    drawn = iter(range(100))

    def __init__(self) -> None:
        self.by, self.calls = next(_Scale.drawn), 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.by * x + self.calls


class TracingWays(NumpyWays):
    VARIANTS = {"traced": lambda function, tensors, kept: kept.setdefault("traced", function)(tensors)}
    TRACING = frozenset(["traced"])

    def resolve(self, name: str) -> Any:
        return _Scale if name == "np.Scale" else NumpyWays.resolve(self, name)

    def state_of(self, value: Any) -> Any:
        return value.calls

    def put_back(self, value: Any, state: Any) -> None:
        value.calls = state


def test_what_is_traced_is_given_objects_that_are_made_once_and_as_new_for_every_input() -> None:
    scaled = {
        "kind": "api-call",
        "api": "()",
        "args": [{"$call": {"api": "np.Scale", "args": [], "kwargs": {}}}],
        "kwargs": {},
    }
    scaled["args"].append({"$array": "x"})  # type: ignore[attr-defined]
    runs = CallRuns(TracingWays())
    _Scale.drawn = iter(range(5, 100))
    result = runs.run(job(scaled, {"x": np.ones((3, 1))}, rows=3, variant="traced"))
    assert [array.tolist() for array in result.outputs.values()] == [[6.0]] * 3
    result = runs.run(job(scaled, {"x": np.ones((2, 1))}, rows=2))  # a plain call makes its own
    assert [array.tolist() for array in result.outputs.values()] == [[7.0], [8.0]]


def test_objects_are_made_in_the_order_of_a_plain_call() -> None:
    made = {"$call": {"kind": "api-call", "api": "np.Scale", "args": [], "kwargs": {}}}
    inner = {"kind": "api-call", "api": "()", "args": [made, {"$array": "x"}], "kwargs": {}}
    nested = {"kind": "api-call", "api": "()", "args": [made, {"$call": inner}], "kwargs": {}}
    found = []
    for variant in ({}, {"variant": "traced"}):
        _Scale.drawn = iter(range(5, 100))
        found.append(CallRuns(TracingWays()).run(job(nested, {"x": np.ones(1)}, **variant)).outputs["0"].tolist())
    assert found == [[36.0]] * 2  # 5 * (6 * 1 + 1) + 1; the other way around it would be 37
