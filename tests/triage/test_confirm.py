"""What does not fail again in fresh workers is flaky."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.endings import KIND_OF_ENDING
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.model import Model
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.triage.confirm import HANG_FACTOR, run_fresh, two_answers
from tensorparity.triage.examine import Examiner

TRAITS = traits_of(TARGETS)


def bump(array: Array) -> Array:
    return array + np.float32(0.01)


def looked_at(runner: Any, network: Model, images: dict[str, Array]) -> tuple[list[Suspicion], list[Suspicion]]:
    """The suspicions of a model before and after confirmation."""
    examiner = Examiner(runner, Setup(0, tuple(runner.targets), TRAITS))
    found = examiner.examine([Ask(network.case("fake:a", Procedure(), images), oracles=("parity",))])
    return list(found[0].judged.suspicions), [suspicion for suspicion, _ in examiner.confirm(found)]


def test_what_fails_again_stays(fake_runner: Any, network: Model, images: dict[str, Array]) -> None:
    runner = fake_runner(planted={"fake:b": {"conv1": bump}})
    (before,), (after,) = looked_at(runner, network, images)
    assert after == before
    again = [ran for ran in runner.ran if ran.fresh]
    assert {ran.target for ran in again} == set(runner.targets)
    assert {ran.case.digest for ran in again} == {before.case.digest}


def test_what_does_not_is_flaky_and_keeps_its_evidence(
    fake_runner: Any, network: Model, images: dict[str, Array]
) -> None:
    runner = fake_runner(planted={"fake:b": {"conv1": bump}}, only_once=True)
    (before,), (after,) = looked_at(runner, network, images)
    assert after.diagnosis.klass is Class.FLAKY
    assert after.diagnosis.suspects == before.diagnosis.suspects
    assert sentences(after.diagnosis) == (*sentences(before.diagnosis), "did not fail again in fresh processes")


@pytest.mark.parametrize(("status", "factor"), [(Status.RAISED, 1.0), (Status.TIMED_OUT, HANG_FACTOR)])
def test_an_ending_is_repeated_fresh_and_a_hang_with_more_time(
    fake_runner: Any, network: Model, images: dict[str, Array], status: Status, factor: float
) -> None:
    runner = fake_runner(ends={"fake:b": status})
    (before,), (after,) = looked_at(runner, network, images)
    assert (after.kind, after.diagnosis.klass) == (KIND_OF_ENDING[status], Class.DEFECT)
    last = [ran for ran in runner.ran if ran.fresh and ran.target == "fake:b"][-1]
    assert last.deadline_factor == factor


def test_an_ending_that_does_not_come_again(fake_runner: Any, network: Model, images: dict[str, Array]) -> None:
    _, (after,) = looked_at(fake_runner(ends={"fake:b": Status.CRASHED}, only_once=True), network, images)
    assert after.diagnosis.klass is Class.FLAKY


def test_a_layer_that_is_wrong_otherwise_each_time_is_wrong_and_says_so(
    fake_runner: Any, network: Model, images: dict[str, Array]
) -> None:
    rng = np.random.default_rng(0)
    runner = fake_runner(planted={"fake:b": {"conv1": lambda y: y + rng.uniform(-1, 1, y.shape).astype(np.float32)}})
    _, (after,) = looked_at(runner, network, images)
    assert after.diagnosis.klass is Class.DEFECT
    assert after.diagnosis.wavering == ("fake:b",)
    assert sentences(after.diagnosis)[-1] == "fake:b gives two different answers on the same case"


def test_several_layers_are_confirmed_by_one_set_of_workers(
    fake_runner: Any, network: Model, images: dict[str, Array]
) -> None:
    class Counting(fake_runner):  # type: ignore[misc]
        fresh_batches = 0

        def run_pairs(self, pairs: Any, *, fresh: bool = False, **options: Any) -> Any:
            self.fresh_batches += fresh
            return super().run_pairs(pairs, fresh=fresh, **options)

    runner = Counting(planted={"fake:b": {"conv1": bump}, "fake:c": {"dense": bump}})
    before, after = looked_at(runner, network, images)
    assert len(before) == 2
    assert after == before
    assert runner.fresh_batches == 1


def test_who_does_not_answer_in_time_is_asked_alone(fake_runner: Any, network: Model, images: dict[str, Array]) -> None:
    runner = fake_runner(ends={"fake:b": Status.TIMED_OUT})
    case = network.case("fake:a", Procedure(), images)
    run_fresh(runner, [(case, target) for target in runner.targets])
    assert [(ran.target, ran.deadline_factor) for ran in runner.ran[3:]] == [("fake:b", HANG_FACTOR)]


class TestTwoAnswers:
    def said(self, *arrays: float, suspects: tuple[str, ...] = ("lib:a",)) -> list[str]:
        before, again = ({"lib:a": Outcome("lib:a", Status.COMPLETED, {"y": np.float32([1.0, a])})} for a in arrays)
        return two_answers(suspects, {"lib:a": "lib"}, before, again)

    def test_rounding_is_no_other_answer(self) -> None:
        assert self.said(2.0, 2.0 + 1e-6) == []

    def test_more_is(self) -> None:
        assert self.said(2.0, 2.1) == ["lib:a"]
        assert self.said(2.0, float("nan"), suspects=("lib",)) != []

    def test_who_is_no_suspect_may_do_as_he_likes(self) -> None:
        assert self.said(2.0, 2.1, suspects=("lib:b",)) == []
