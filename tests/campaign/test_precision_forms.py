"""Answers of a wrong shape or dtype are findings, and a lack of one variant is one of that variant alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.finding import Class
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.runner import run_case
from tensorparity.core.verdict import Kind
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.spec import Evaluation
from tensorparity.oracles.operator_forms import wrong_form
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.reproduce.expectations import claim_of
from tensorparity.triage.reproduce.literals import Unprintable
from tensorparity.triage.reproduce.scripts import render

from .operator_runs import Exact, exact, findings_of, searched


def is_same(case: Case) -> bool:
    assert isinstance(case.subject, ApiCall)
    return case.subject.kwargs.get("padding") == "same"


def too_short(case: Case) -> Array:
    return exact(case)[:, :-1] if is_same(case) else exact(case)


def too_wide(case: Case) -> Array:
    return exact(case).astype(np.float64)


def lacking(case: Case) -> Outcome | Array:
    if is_same(case):
        return Outcome("jax:jit", Status.UNSUPPORTED, failure=Failure("Unsupported", "no such padding"))
    return exact(case)


def test_a_wrong_shape_of_one_variant_is_a_finding() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": too_short})
    notebooks = searched(runner, "conv1d")
    (item,) = findings_of(runner, notebooks)
    assert (item.finding.kind, item.finding.diagnosis.klass) == (Kind.SHAPE, Class.DEFECT)
    assert item.finding.diagnosis.suspects == ("jax:jit",)
    assert item.finding.diagnosis.parameters["padding"] == "same"
    assert sentences(item.finding.diagnosis)[0].startswith("jax:jit wrong shape: shape (")
    assert set(item.suspicion.case.inputs["x"].ravel().tolist()) == {1.0}
    assert runner.fresh == 1
    run = next(run for run in notebooks[0].runs() if run.target == "jax:jit")
    assert run.status == "measured"
    assert any("padding=same" in lack and "instead of" in lack for lack in run.lacks)


def test_a_wrong_shape_that_does_not_come_again_is_flaky() -> None:
    runner = Exact(
        ["torch:eager", "jax:jit"], {"jax:jit": lambda case: exact(case) if runner.fresh else too_short(case)}
    )
    (item,) = findings_of(runner, searched(runner, "conv1d"))
    assert item.finding.diagnosis.klass is Class.FLAKY


def test_a_wrong_dtype_is_a_finding() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": too_wide})
    notebooks = searched(runner, "tanh")
    (item,) = findings_of(runner, notebooks)
    assert (item.finding.kind, item.finding.diagnosis.suspects) == (Kind.DTYPE, ("jax:jit",))
    run = next(run for run in notebooks[0].runs() if run.target == "jax:jit")
    assert (run.status, run.reason) == ("wrong dtype", "answers in float64 instead of float32")


def test_nobody_is_blamed_for_a_shape_that_all_implementations_agree_on() -> None:
    runner = Exact(["torch:eager", "jax:jit"], dict.fromkeys(("torch:eager", "jax:jit"), too_short))
    notebooks = searched(runner, "conv1d")
    assert findings_of(runner, notebooks) == []
    assert all(any("instead of" in lack for lack in run.lacks) for run in notebooks[0].runs())


def test_a_lack_of_one_variant_leaves_out_that_variant_only() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": lacking})
    found = searched(runner, "conv1d")
    (notebook,) = found
    own = [case.subject.kwargs for case, target in runner.asked if target == "jax:jit"]  # type: ignore[union-attr]
    first = next(place for place, params in enumerate(own) if params.get("padding") == "same")
    assert any(params.get("padding") != "same" for params in own[first:])
    run = next(run for run in notebook.runs() if run.target == "jax:jit")
    assert run.status == "measured"
    assert [lack for lack in run.lacks if "padding=same" in lack and lack.endswith("no such padding")]
    assert findings_of(runner, found) == []


def test_a_wrong_shape_has_a_script() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"torch:eager": too_short})
    (item,) = findings_of(runner, searched(runner, "conv1d"))
    outcomes = run_case(runner, item.suspicion.case, item.suspicion.targets)  # type: ignore[arg-type]
    claim = claim_of(item.suspicion, outcomes, "torch:eager")
    assert claim is not None
    assert claim.expected.shape != outcomes["torch:eager"].outputs["0"].shape
    assert "observed shape" in render(item.suspicion, "torch:eager", claim, traits_of(["torch:eager"]))


def test_a_wrong_dtype_has_a_script_that_looks_at_the_dtype() -> None:
    runner = Exact(["torch:eager", "jax:jit"], {"torch:eager": too_wide})
    (item,) = findings_of(runner, searched(runner, "tanh"))
    outcomes = run_case(runner, item.suspicion.case, item.suspicion.targets)  # type: ignore[arg-type]
    claim = claim_of(item.suspicion, outcomes, "torch:eager")
    assert claim is not None
    assert claim.dtype == "float32"
    assert 'sys.exit(0 if str(observed.dtype) == "float32" else 1)' in render(
        item.suspicion, "torch:eager", claim, traits_of(["torch:eager"])
    )
    with pytest.raises(Unprintable, match="no bfloat16 to tell it from others"):
        render(item.suspicion, "torch:eager", replace(claim, dtype="bfloat16"), traits_of(["torch:eager"]))


def test_keras_narrows_float64_as_jax_does_but_for_tensorflow() -> None:
    truth = Evaluation(np.zeros(1), np.zeros(1))
    answer = {"0": np.zeros(1, np.float32)}
    told = {
        target: wrong_form(
            OPERATORS.get("cumsum"), Outcome(target, Status.COMPLETED, answer), truth, "float64", traits_of([target])
        )
        for target in ("keras:torch", "keras:jax", "keras:tensorflow", "torch:eager")
    }
    assert [target for target, form in told.items() if form] == ["keras:tensorflow", "torch:eager"]
