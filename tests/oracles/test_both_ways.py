"""A freedom excuses a library only while it answers one way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_named
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Answer, Seen
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Kind
from tensorparity.oracles.both_ways import answered_both_ways
from tensorparity.reporting.words import sentence

TRAITS = Traits(
    {
        "a:eager": TargetTraits("a:eager", library="a", calls="torch"),
        "a:compiled": TargetTraits("a:compiled", library="a", calls="torch", compiled=True),
        "b:eager": TargetTraits("b:eager", library="b", calls="jax"),
    }
)


pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")


def _case(x: list, dtype: str = "float32") -> Case:
    array = np.array(x, dtype_named(dtype))
    return Case(ApiCall("op.relu", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), inputs={"x": array})


def _done(target: str, y: np.ndarray) -> Outcome:
    return Outcome(target, Status.COMPLETED, outputs={"0": np.asarray(y)})


def _keeping(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.where(np.isnan(x), x, np.zeros_like(x)))


def _losing(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.zeros_like(x))


def _losing_in_the_body(x: np.ndarray) -> np.ndarray:
    flat = _keeping(x).ravel()
    body = flat.size // 16 * 16
    flat[:body] = np.where(np.isnan(flat[:body]), 0, flat[:body])
    return flat.reshape(x.shape)


def _losing_from_16_on(x: np.ndarray) -> np.ndarray:
    return _keeping(x) if x.size < 16 else _losing(x)


def _over_the_rows(x: np.ndarray) -> np.ndarray:
    return np.where(len(x) > 1, _losing(x), _keeping(x))


def _found(case: Case, **functions) -> list:
    targets = {name.replace("_", ":"): function for name, function in functions.items()}
    own = {target: _done(target, function(case.inputs["x"])) for target, function in targets.items()}
    asking = answered_both_ways(Seen(case, (own,), (dict.fromkeys(own, case),), TRAITS), own)
    try:
        checks = next(asking)
        while True:
            answers = []
            for check in checks:
                outcomes = {t: _done(t, targets[t](check.case.inputs["x"])) for t in check.targets}
                answers.append(Answer(check, outcomes))
            checks = asking.send(answers)
    except StopIteration as ended:
        return ended.value


def test_each_library_in_its_own_way_is_free() -> None:
    assert _found(_case([[np.nan, 1.0, -2.0]]), a_eager=_keeping, b_eager=_losing) == []


def test_by_position() -> None:
    (found,) = _found(_case([[np.nan, 1.0, -2.0]]), a_eager=_losing_in_the_body, b_eager=_losing)
    assert (found.kind, found.diagnosis.klass, found.diagnosis.suspects) == (Kind.NAN, Class.DEFECT, ("a:eager",))
    again = _found(found.case, a_eager=_losing_in_the_body, b_eager=_losing)
    assert [one.key for one in again] == [found.key], "the case that is filed shows it by itself"


def test_by_compilation() -> None:
    (found,) = _found(_case([[np.nan, 1.0, -2.0]]), a_eager=_keeping, a_compiled=_losing)
    assert found.diagnosis.suspects == ("a:compiled",)


def test_finite_inputs_ask_for_nothing() -> None:
    assert _found(_case([[0.0, 1.0, -2.0]]), a_eager=_losing_in_the_body, b_eager=_losing) == []


def test_by_size() -> None:
    (found,) = _found(_case([[np.nan, 1.0, -2.0], [1.0, 2.0, 3.0]]), a_eager=_losing_from_16_on, b_eager=_losing)
    assert (found.kind, found.diagnosis.suspects) == (Kind.NAN, ("a:eager",))
    said = found.diagnosis.observations[0]
    assert (said.data["how"], said.data["index"]) == ("size", [0, 0])
    assert sentence(said) == (
        "a:eager answers NaN or a number at [0, 0], depending on how many equal rows are given at once"
    )


def test_a_function_of_several_rows_is_no_matter_of_size() -> None:
    assert _found(_case([[np.nan, 1.0, -2.0]]), a_eager=_over_the_rows, b_eager=_over_the_rows) == []


@pytest.mark.parametrize("wrong", [_losing_in_the_body, _losing_from_16_on])
def test_bfloat16_is_looked_at_as_well(wrong: Callable) -> None:
    (found,) = _found(_case([[np.nan, 1.0, -2.0]], "bfloat16"), a_eager=wrong, b_eager=_losing)
    assert found.diagnosis.suspects == ("a:eager",)


def test_compiled_bfloat16_is_looked_at_as_well() -> None:
    (found,) = _found(_case([[np.nan, 1.0, -2.0]], "bfloat16"), a_eager=_keeping, a_compiled=_losing)
    assert found.diagnosis.suspects == ("a:compiled",)
