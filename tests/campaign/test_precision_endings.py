"""Calls that raised or died: which are one finding, which are a lack, and on which input they are shown."""

from __future__ import annotations

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.finding import Class
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.reporting.words import sentences

from .operator_runs import Exact, exact, filed_call, findings_of, searched


def raised(message: str, kind: str = "RuntimeError", status: Status = Status.RAISED) -> Outcome:
    return Outcome("jax:jit", status, failure=Failure(kind, message))


def dtype_of(case: Case) -> str:
    return str(next(iter(case.inputs.values())).dtype)


def no_double(case: Case) -> Outcome | Array:
    return raised("assertion failed in kernel") if dtype_of(case) == "float64" else exact(case)


def no_double_kernel(case: Case) -> Outcome | Array:
    message = "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Tanh(13)"
    return raised(message, "NotImplemented") if dtype_of(case) == "float64" else exact(case)


def test_a_wider_dtype_that_fails_is_accused() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": no_double})
    (item,) = findings_of(runner, searched(runner, "tanh", ("float32", "float64")))
    assert item.finding.diagnosis.parameters["dtype"] == "float64"


def test_a_wider_dtype_without_a_kernel_is_a_lack() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": no_double_kernel})
    assert findings_of(runner, searched(runner, "tanh", ("float32", "float64"))) == []


def test_what_is_excused_beside_measured_variants_is_listed() -> None:
    def no_half_same(case: Case) -> Outcome | Array:
        assert isinstance(case.subject, ApiCall)
        lacks = dtype_of(case) == "float16" and case.subject.kwargs.get("padding") == "same"
        return raised("no kernel for 'Half'") if lacks else exact(case)

    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": no_half_same})
    notebooks = searched(runner, "conv1d", ("float16", "float32"))
    assert findings_of(runner, notebooks) == []
    run = next(run for run in notebooks[0].runs() if run.target == "jax:jit")
    assert (run.status, run.dtype) == ("measured", "float16")
    assert any("padding=same" in lack and lack.endswith("RuntimeError: no kernel for 'Half'") for lack in run.lacks)


def test_two_unrelated_exceptions_of_one_type_are_two_findings() -> None:
    def two(case: Case) -> Outcome | Array:
        assert isinstance(case.subject, ApiCall)
        if case.subject.kwargs.get("padding") == "same":
            return raised("padding of 3 is wrong")
        return raised("stride out of memory") if case.subject.kwargs.get("strides", 1) != 1 else exact(case)

    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": two})
    filed = findings_of(runner, searched(runner, "conv1d"))
    assert len(filed) == len({item.finding.id for item in filed}) == 2
    assert {sentences(item.finding.diagnosis)[0].partition(": ")[2] for item in filed} == {
        "RuntimeError: padding of 3 is wrong",
        "RuntimeError: stride out of memory",
    }


def case_with_sevens(row: int) -> Case:
    x = np.arange(1, 41, dtype=np.float32).reshape(20, 2) / 64
    x[row] = 7.0
    return Case(OPERATORS.get("tanh").api_call({}), inputs={"x": x})


def test_the_input_that_raises_is_the_one_that_is_shown() -> None:
    for status in (Status.RAISED, Status.CRASHED):
        answer = raised("seven", status=status)
        runner = Exact(
            ["jax:jit"], {"jax:jit": lambda case, a=answer: a if (case.inputs["x"] == 7).any() else exact(case)}
        )  # type: ignore[misc]
        (item,) = filed_call(runner, case_with_sevens(13))
        assert item.finding.diagnosis.klass is Class.DEFECT
        assert set(item.suspicion.case.inputs["x"].ravel().tolist()) == {7.0}
        assert item.suspicion.case.inputs["x"].size <= 2


def test_ones_that_raise_something_else_are_not_the_simplest_input() -> None:
    def picky(case: Case) -> Outcome | Array:
        if (case.inputs["x"] == 1).all():
            return raised("ones are dull")
        return raised("seven") if (case.inputs["x"] == 7).any() else exact(case)

    runner = Exact(["jax:jit"], {"jax:jit": picky})
    (item,) = filed_call(runner, case_with_sevens(0))
    assert set(item.suspicion.case.inputs["x"].ravel().tolist()) == {7.0}
