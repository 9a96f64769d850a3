"""A function that is documented as another library's is held against that one, and not against a third."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Judgement
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.peers import defined_value, said_of
from tensorparity.operators.functions.spec import Tensor, call
from tensorparity.oracles.defined_elsewhere import defined_elsewhere
from tensorparity.reporting.words import sentence
from tensorparity.triage.examine import Examiner

JAX, TORCH, RUNTIME, ONNX = "jax:eager", "torch:eager", "onnxruntime", "onnx:reference"
TRAITS = Traits(
    {
        JAX: TargetTraits(JAX, library="jax", calls="jax"),
        TORCH: TargetTraits(TORCH, library="torch", calls="torch"),
        RUNTIME: TargetTraits(RUNTIME, library="onnxruntime", calls="onnx"),
        ONNX: TargetTraits(ONNX, library="onnx", calls="onnx", arbiter=True),
    }
)
A, B = (np.array([[value]], np.float32) for value in (np.inf, np.nan))


def _case(name: str, **inputs: Array) -> Case:
    return Case(OPERATORS.get(name).api_call({}), Procedure(goal=Goal.CALL), inputs)


def test_numpy_is_asked_with_the_arguments_of_the_call() -> None:
    total = call("jax.numpy.add", call("jax.numpy.max", Tensor("a", (1, 0)), axis=0), Tensor("b"))
    arrays = {"a": np.array([[1.0, 5.0], [2.0, 3.0]]), "b": np.array([10.0, 20.0])}
    assert defined_value(total, arrays) is not None
    np.testing.assert_array_equal(defined_value(total, arrays), [15.0, 23.0])
    assert said_of(total) == "JAX implementation of numpy.add; JAX implementation of numpy.max"
    mixed = call("jax.numpy.add", call("jax.nn.relu", Tensor("b")), Tensor("b"))
    assert defined_value(mixed, arrays) is None, "relu is JAX's own"
    assert defined_value(call("jax.numpy.not_there", Tensor("b")), arrays) is None


@pytest.mark.parametrize(("answer", "right"), [(np.inf, True), (np.nan, False), (3.0, False)])
def test_who_answers_as_numpy_is_right(answer: float, right: bool) -> None:
    """numpy.hypot(inf, nan) is infinite."""
    outputs = {JAX: np.array([[answer]], np.float32), TORCH: np.array([[np.nan]], np.float32)}
    operator, case = OPERATORS.get("hypot"), _case("hypot", a=A, b=B)
    found = defined_elsewhere(operator, case, outputs, JAX, TRAITS)
    assert (found is not None) is right
    assert defined_elsewhere(operator, case, outputs, TORCH, TRAITS) is None, "torch documents itself"
    if found is not None:
        assert sentence(found) == f"{JAX} agrees with the library that defines the function: {found.data['words']}"


def test_onnx_is_what_its_own_evaluator_says() -> None:
    case = _case("tanh", x=np.array([[0.5]], np.float32))
    outputs = {RUNTIME: np.array([[9.0]], np.float32), TORCH: np.tanh(case.inputs["x"])}
    operator = OPERATORS.get("tanh")
    assert defined_elsewhere(operator, case, outputs, RUNTIME, TRAITS) is None
    outputs[ONNX] = np.array([[9.0]], np.float32)
    assert defined_elsewhere(operator, case, outputs, RUNTIME, TRAITS) is not None
    assert defined_elsewhere(operator, case, outputs, ONNX, TRAITS) is None, "it is no witness of itself"


class _Answers:
    """Two targets with fixed answers."""

    targets = (JAX, TORCH)

    def __init__(self, **answers: Array) -> None:
        self._answers = {JAX: answers["jax"], TORCH: answers["torch"]}

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [Outcome(target, Status.COMPLETED, {"0": self._answers[target]}) for _, target in pairs]


def _judged(case: Case, **answers: Array) -> Any:
    runner = _Answers(**answers)
    (found,) = Examiner(runner, Setup(targets=runner.targets, traits=TRAITS)).examine(
        [Ask(case, oracles=("precision",))]
    )
    return found.judged


def test_a_docstring_that_names_its_limits_is_no_defect() -> None:
    """The fast variance of a large mean is cancelled, as the documentation says; NaN is not what it says."""
    operator = OPERATORS.get("layer_norm")
    x = np.array([[4096.0, 4097.0, 4098.0, 4103.0]], np.float32)
    inputs = {"x": x, "scale": np.ones(4, np.float32), "offset": np.zeros(4, np.float32)}
    case = replace(_case("layer_norm", **inputs))
    right = operator.evaluate({}, operator.operand_arrays(inputs)).value.astype(np.float32)
    judged = _judged(case, jax=1.5 * right, torch=right)
    (suspicion,) = judged.suspicions
    assert suspicion.diagnosis.klass is Class.SPECIFICATION
    assert any("catastrophic cancellation" in str(item) for item in suspicion.diagnosis.evidence)
    assert judged.verdicts[0].judgement is Judgement.PASS
    (suspicion,) = _judged(case, jax=right * np.float32("nan"), torch=right).suspicions
    assert suspicion.diagnosis.klass is Class.DEFECT
    (suspicion,) = _judged(case, jax=right, torch=1.5 * right).suspicions
    assert suspicion.diagnosis.klass is Class.DEFECT, "torch says nothing of the kind"
