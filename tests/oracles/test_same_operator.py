"""One of ONNX's operators on several runtimes: what its node test expects, and its evaluator, say who is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.oracles.kinds import make_oracle
from tensorparity.targets.catalogue import traits_of

NAMES = ("onnxruntime", "openvino", "onnx:reference")
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
CASE = Case(ApiCall("onnx.Exp", (ArrayArg("x"),), {"opset": 13}), Procedure(goal=Goal.CALL), {"x": X})
Function = Callable[[Array, str], Array]


def right(x: Array, way: str) -> Array:
    return np.exp(x)


def wrong(x: Array, way: str) -> Array:
    return right(x, way) * np.float32(1.01)


def slightly_off(x: Array, way: str) -> Array:
    return right(x, way) * np.float32(1.0005)


def wrong_but_in_other_words(x: Array, way: str) -> Array:
    return right(x, way) if way == "converted" else wrong(x, way)


def refuses(x: Array, way: str) -> Array:
    raise ValueError("axis 3 is out of bounds")


def lacks(x: Array, way: str) -> Array:
    raise ValueError("Exp is not implemented for this type")


def answered(target: str, case: Case, function: Function) -> Outcome:
    try:
        return Outcome(target, Status.COMPLETED, {"0": function(case.inputs["x"], case.procedure.variant)})
    except ValueError as error:
        return Outcome(target, Status.RAISED, failure=Failure("ValueError", str(error)))


def judged(*functions: Function, expected: Array | None = None, case: Case = CASE) -> Judged:
    by_name: Mapping[str, Function] = dict(zip(NAMES, functions, strict=True))
    case = replace(case, labels={"0": expected}) if expected is not None else case
    outcomes = {target: answered(target, case, function) for target, function in by_name.items()}
    seen = Seen(case, (outcomes,), (dict.fromkeys(by_name, case),), traits_of(NAMES))
    judge = make_oracle("same_operator", Setup(targets=NAMES))
    found = judge.judge(seen)
    while found.checks:
        answers = [Answer(c, {t: answered(t, c.case, by_name[t]) for t in c.targets}) for c in found.checks]
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


def suspects(found: Judged) -> list[str]:
    return [name for suspicion in found.suspicions for name in suspicion.diagnosis.suspects]


EXPECTED = np.exp(X)


def test_all_that_agree_pass() -> None:
    assert [verdict.judgement for verdict in judged(right, right, right).verdicts] == [Judgement.PASS]
    assert not judged(right, slightly_off, right, expected=EXPECTED).suspicions


@pytest.mark.parametrize("expected", [EXPECTED, None])
def test_a_runtime_that_differs_from_what_is_documented_is_accused(expected: Array | None) -> None:
    found = judged(wrong, right, right, expected=expected)
    assert suspects(found) == ["onnxruntime"]
    assert found.suspicions[0].diagnosis.api == "onnx.Exp"


def test_the_evaluator_is_accused_where_it_alone_differs_from_what_is_expected() -> None:
    assert suspects(judged(right, right, wrong, expected=EXPECTED)) == ["onnx:reference"]


def test_a_vote_alone_blames_nobody() -> None:
    found = judged(right, right, wrong)
    assert not found.suspicions
    assert found.verdicts[0].judgement is Judgement.UNDECIDED
    assert not judged(wrong, wrong, right).suspicions


def test_the_evaluator_is_accused_by_its_own_words() -> None:
    assert suspects(judged(right, right, wrong_but_in_other_words)) == ["onnx:reference"]


def test_nobody_is_accused_of_what_no_target_gives() -> None:
    assert not judged(right, right, right, expected=EXPECTED * 2).suspicions


def test_who_alone_raises_is_accused_unless_it_lacks_the_operator() -> None:
    found = judged(right, refuses, right, expected=EXPECTED)
    assert suspects(found) == ["openvino"]
    assert found.suspicions[0].kind is Kind.ERROR
    assert not judged(right, lacks, right, expected=EXPECTED).suspicions


def test_a_shape_and_a_dtype_count() -> None:
    flat = judged(lambda x, way: np.exp(x).ravel(), right, right, expected=EXPECTED)
    assert flat.suspicions[0].kind is Kind.SHAPE
    wide = judged(lambda x, way: np.exp(x).astype(np.float64), right, right, expected=EXPECTED)
    assert wide.suspicions[0].kind is Kind.DTYPE


def test_what_draws_is_left_open() -> None:
    drawing = replace(CASE, subject=replace(CASE.subject, kwargs={"opset": 13, "training_mode": 1}))  # type: ignore[type-var]
    assert not judged(wrong, right, right, expected=EXPECTED, case=drawing).suspicions
