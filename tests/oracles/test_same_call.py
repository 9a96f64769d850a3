"""One call on several targets: float64 runs that agree say who is wrong; a vote alone blames nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.oracles.kinds import make_oracle

NAMES = ("keras:numpy", "keras:torch", "keras:tensorflow", "keras:jax")
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
Function = Callable[[Array], Array]


def refuses(x: Array) -> Array:
    raise ValueError("the axis is out of bounds")


def answered(target: str, given: Case, function: Function) -> Outcome:
    outputs, failures = {}, {}
    for row, array in enumerate(given.inputs["x"]):
        try:
            outputs[f"{row}/0"] = np.asarray(function(array))
        except ValueError as error:
            failures[str(row)] = {"type": "ValueError", "message": str(error)}
    return Outcome(target, Status.COMPLETED, outputs, reply={"rows": failures})


def judged(functions: Mapping[str, Function], x: Array = X, api: str = "keras.ops.mystery") -> Judged:
    case = Case(ApiCall(api, (ArrayArg("x"),)), Procedure(goal=Goal.CALL, rows=len(x)), {"x": x})
    seen = Seen(case, ({t: answered(t, case, f) for t, f in functions.items()},), (dict.fromkeys(functions, case),))
    judge = make_oracle("same_call", Setup(targets=tuple(functions)))
    found = judge.judge(seen)
    while found.checks:
        answers = (Answer(c, {t: answered(t, c.case, functions[t]) for t in c.targets}) for c in found.checks)
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


def all_but(*others: Function) -> dict[str, Function]:
    given = [*others, *[np.exp] * (len(NAMES) - len(others))]
    return dict(zip(reversed(NAMES), given, strict=True))


def wrong_in_32(x: Array) -> Array:
    return np.asarray(np.exp(x) * (1.01 if x.dtype == np.float32 else 1.0)).astype(x.dtype)


def test_all_that_agree_pass() -> None:
    found = judged(all_but())
    assert [verdict.judgement for verdict in found.verdicts] == [Judgement.PASS]
    assert not found.suspicions


def test_the_one_outside_of_two_float64_runs_is_accused() -> None:
    (suspicion,) = judged(all_but(wrong_in_32)).suspicions
    assert suspicion.diagnosis.suspects == ("keras:jax",)
    assert (suspicion.oracle, suspicion.kind) == ("same_call", Kind.INCONSISTENCY)


def test_most_may_be_wrong() -> None:
    (suspicion,) = judged(all_but(wrong_in_32, wrong_in_32, wrong_in_32)).suspicions
    assert set(suspicion.diagnosis.suspects) == set(NAMES[1:])


def test_where_no_two_float64_runs_agree_nobody_is_blamed() -> None:
    others = [lambda x, by=by: (np.exp(x) * by).astype(x.dtype) for by in (1.1, 1.2, 1.3)]
    assert not judged(all_but(*others)).suspicions


def test_one_that_refuses_what_all_others_take_is_accused() -> None:
    (suspicion,) = judged(all_but(refuses)).suspicions
    assert (suspicion.diagnosis.suspects, suspicion.kind) == (("keras:jax",), Kind.ERROR)
    assert not judged(all_but(refuses, refuses)).suspicions


def test_what_one_lacks_is_no_refusal() -> None:
    def lacks(x: Array) -> Array:
        raise ValueError("it is not differentiable")

    assert not judged(all_but(lacks)).suspicions


def test_numbers_that_some_narrow_or_take_for_zero_are_left_out() -> None:
    assert not judged(all_but(wrong_in_32), np.full((1, 3), 1e-44, np.float32)).suspicions
    assert not judged(all_but(lambda x: 2 * np.exp(x)), X.astype(np.float64)).suspicions


def test_outcomes_that_are_missing_are_no_votes() -> None:
    functions = dict.fromkeys(NAMES[:2], np.exp)
    (verdict,) = judged(functions).verdicts
    assert verdict.judgement is Judgement.UNDECIDED
