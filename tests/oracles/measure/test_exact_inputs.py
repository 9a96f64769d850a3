"""No rounding is charged to inputs that are exact, where somebody shows that it need not be."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.operator_errors import FAR, FEW, measure_targets
from tensorparity.oracles.operator_blame import blame_call

TRAITS = Traits({name: TargetTraits(name, library=name) for name in "abc"})


def _units(name: str, x: float, dtype: str, **answers: float) -> dict[str, float]:
    operator = OPERATORS.get(name)
    truth = operator.evaluate({}, [np.array([[x]])])
    outputs = {target: np.array([[answer]], dtype) for target, answer in answers.items()}
    found = measure_targets(operator, outputs, truth, dtype, TRAITS)
    return {target: float(errors.units[0]) for target, errors in found.items()}


X = float(np.float32(1e6))
TRUE = float(np.sin(X))


def test_a_far_argument_excuses_nobody_where_another_is_right() -> None:
    found = _units("sin", X, "float32", a=TRUE, b=TRUE + 1e-3)
    assert found["a"] <= FEW
    assert found["b"] > K


def test_where_nobody_is_right_it_is_granted() -> None:
    found = _units("sin", X, "float32", a=TRUE + 1e-3, b=TRUE - 1e-3)
    assert max(found.values()) <= K


def test_a_few_ulp_more_than_the_best_are_no_defect() -> None:
    near = TRUE * (1 + 0.9 * FAR * 2.0**-24)
    assert _units("sin", X, "float32", a=TRUE, b=near)["b"] <= K


def test_what_cancels_by_the_documented_formula_stays_granted() -> None:
    x = 1e-3
    true = float(x - np.tanh(x))
    assert _units("tanh_shrink", x, "float32", a=true, b=true + 1e-9)["b"] <= K


@pytest.mark.parametrize("name", ["expm1", "log1p", "hypot", "softplus", "sinc", "sin", "pow", "xlogy"])
def test_functions_that_exist_to_avoid_cancellation_have_none_of_their_own(name: str) -> None:
    assert OPERATORS.get(name).conditioned


def test_logaddexp_and_logsumexp_are_not_granted_the_size_of_what_cancels() -> None:
    half = float(np.log(0.5))
    assert float(OPERATORS.get("logaddexp").evaluate({}, [np.array([half]), np.array([half])]).kappa[0]) <= 1.0
    far = np.array([[-1e4, -1e4 - 1.0]])
    assert float(OPERATORS.get("logsumexp").evaluate({}, [far]).kappa[0]) < 10.0


def test_who_is_blamed() -> None:
    operator = OPERATORS.get("sin")
    case = Case(operator.api_call({}), Procedure(goal=Goal.CALL), inputs={"x": np.array([[X]], np.float32)})
    outputs = {"a": np.array([[TRUE]], np.float32), "b": np.array([[TRUE + 1e-3]], np.float32)}
    found = blame_call(operator, case, "float32", outputs, "b", TRAITS)
    assert (found.klass, found.suspects, found.within) == (Class.DEFECT, ("b",), ("a",))
