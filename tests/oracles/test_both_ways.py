"""A freedom excuses a library only while it answers one way."""

from __future__ import annotations

import numpy as np

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Answer, Seen
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Kind
from tensorparity.oracles.both_ways import answered_both_ways

TRAITS = Traits(
    {
        "a:eager": TargetTraits("a:eager", library="a", calls="torch"),
        "a:compiled": TargetTraits("a:compiled", library="a", calls="torch", compiled=True),
        "b:eager": TargetTraits("b:eager", library="b", calls="jax"),
    }
)


def _case(x: list) -> Case:
    array = np.array(x, np.float32)
    return Case(ApiCall("op.relu", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), inputs={"x": array})


def _done(target: str, y: np.ndarray) -> Outcome:
    return Outcome(target, Status.COMPLETED, outputs={"0": np.asarray(y, np.float32)})


def _keeping(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.where(np.isnan(x), np.nan, 0))


def _losing(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, 0)


def _losing_in_the_body(x: np.ndarray) -> np.ndarray:
    flat = _keeping(x).ravel()
    body = flat.size // 16 * 16
    flat[:body] = np.nan_to_num(flat[:body], nan=0.0)
    return flat.reshape(x.shape)


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
