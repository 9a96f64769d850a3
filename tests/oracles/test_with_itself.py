"""A target beside itself: other batch sizes, once more; measured and never judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorparity.core.case import Case, ModelFile
from tensorparity.core.oracle import Answer, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.traits import Traits
from tensorparity.oracles.with_itself import WithItself

CASE = Case(ModelFile("m.onnx", "0" * 64, "onnx"), inputs={"x": np.ones((4, 2), np.float32)}, seed=7)


def outcome(values: Any, target: str = "a") -> Outcome:
    return Outcome(target, Status.COMPLETED, {"y": np.asarray(values, np.float32)})


FIRST = outcome([[1.0, 2.0]] * 4)


def seen(answers: tuple[Answer, ...] = ()) -> Seen:
    return Seen(CASE, ({"a": FIRST},), ({"a": CASE},), Traits(), answers)


def oracle(**settings: Any) -> WithItself:
    return WithItself(Setup(0, ("a",), Traits(), settings))


def answered(judge: WithItself, *outcomes: Outcome) -> Any:
    checks = judge.judge(seen()).checks
    answers = tuple(Answer(check, {"a": o}, None) for check, o in zip(checks, outcomes, strict=True))
    return judge.judge(seen(answers))


def test_nobody_asks_nothing_is_run() -> None:
    assert oracle().judge(seen()).checks == ()


def test_batch_sizes_and_repeats_are_cases_of_their_own() -> None:
    checks = oracle(batch_sizes=(1, 2), repeat=3).judge(seen()).checks
    assert [check.case.procedure.batch_size for check in checks] == [1, 2, None, None]
    assert len({check.case.digest for check in checks} | {CASE.digest}) == 5  # no cache answers for another
    assert all(check.targets == ("a",) for check in checks)


def test_differences_are_measured_and_nobody_is_accused() -> None:
    judged = answered(oracle(batch_sizes=(1,), repeat=2), FIRST, outcome([[1.0, 2.5]] * 4))
    same, other = judged.facts["with_itself"]
    assert (same.way, same.max_abs, same.identical) == ("batch size 1", 0.0, True)
    assert (other.way, other.max_abs, other.identical) == ("run 2", 0.5, False)
    assert judged.suspicions == ()
    assert judged.verdicts == ()


def test_changed_labels_are_counted() -> None:
    (item,) = answered(oracle(repeat=2), outcome([[2.0, 1.0]] + [[1.0, 2.0]] * 3)).facts["with_itself"]
    assert item.labels_changed == 1


def test_a_size_that_fails_says_why() -> None:
    failed = Outcome("a", Status.RAISED, failure=Failure("ValueError", "batch of one\nmore"))
    (item,) = answered(oracle(batch_sizes=(1,)), failed).facts["with_itself"]
    assert item.max_abs is None
    assert item.problem == "batch of one"
