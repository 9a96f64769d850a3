"""What does not fail again in fresh workers is flaky."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.finding import Class
from tensorparity.core.model import Model
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Procedure
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.triage.confirm import HANG_FACTOR, confirm_accusations, confirm_ending, run_fresh, two_answers
from tensorparity.triage.diagnose import Accusation, accuse
from tensorparity.triage.replay import replay_nodes

TRAITS = traits_of(TARGETS)


def bump(array: Array) -> Array:
    return array + np.float32(0.01)


def confirmed(runner: Any, network: Model, images: dict[str, Array]) -> tuple[Accusation, Accusation]:
    """An accusation before and after confirmation."""
    assert network.graph is not None
    trace = runner.run_pairs([(network.case("fake:a", Procedure(trace=True), images), "fake:a")])[0].trace.nodes
    measured = list(replay_nodes(runner, network, network.graph.nodes, images, trace, runner.targets, traits=TRAITS))
    (before,) = accuse(measured, {})
    (after,) = confirm_accusations(runner, network, [before], images, trace, runner.targets, {}, traits=TRAITS)
    return before, after


def test_what_fails_again_stays(fake_runner: Any, network: Model, images: dict[str, Array]) -> None:
    runner = fake_runner(planted={"fake:b": {"conv1": bump}})
    before, after = confirmed(runner, network, images)
    assert after is before
    again = [ran for ran in runner.ran if ran.fresh]
    assert {ran.target for ran in again} == set(runner.targets)
    assert all(ran.case.procedure.nodes == ("conv1#0",) for ran in again)


def test_what_does_not_is_flaky_and_keeps_its_evidence(
    fake_runner: Any, network: Model, images: dict[str, Array]
) -> None:
    before, after = confirmed(fake_runner(planted={"fake:b": {"conv1": bump}}, only_once=True), network, images)
    assert after.diagnosis.klass is Class.FLAKY
    assert after.diagnosis.suspects == before.diagnosis.suspects
    assert sentences(after.diagnosis) == (*sentences(before.diagnosis), "did not fail again in fresh processes")


@pytest.mark.parametrize(("status", "factor"), [(Status.RAISED, 1.0), (Status.TIMED_OUT, HANG_FACTOR)])
def test_an_ending_is_repeated_fresh_and_a_hang_with_more_time(
    fake_runner: Any, network: Model, images: dict[str, Array], status: Status, factor: float
) -> None:
    runner = fake_runner(ends={"fake:b": status})
    case = network.case("fake:b", Procedure(), images)
    first = runner.run_pairs([(case, "fake:b")])[0]
    same, again = confirm_ending(runner, case, first)
    assert same
    assert again.status is status
    assert (runner.ran[-1].fresh, runner.ran[-1].deadline_factor) == (True, factor)


def test_an_ending_that_does_not_come_again(fake_runner: Any, network: Model, images: dict[str, Array]) -> None:
    runner = fake_runner(ends={"fake:b": Status.CRASHED}, only_once=True)
    case = network.case("fake:b", Procedure(), images)
    same, again = confirm_ending(runner, case, runner.run_pairs([(case, "fake:b")])[0])
    assert not same
    assert again.completed


def test_another_exception_is_another_ending(fake_runner: Any, network: Model, images: dict[str, Array]) -> None:
    runner = fake_runner(ends={"fake:b": Status.RAISED})
    other = Outcome("fake:b", Status.RAISED, failure=Failure("OtherError", "it said"))
    same, _ = confirm_ending(runner, network.case("fake:b", Procedure(), images), other)
    assert not same


def test_a_layer_that_is_wrong_otherwise_each_time_is_wrong_and_says_so(
    fake_runner: Any, network: Model, images: dict[str, Array]
) -> None:
    rng = np.random.default_rng(0)
    runner = fake_runner(planted={"fake:b": {"conv1": lambda y: y + rng.uniform(-1, 1, y.shape).astype(np.float32)}})
    _, after = confirmed(runner, network, images)
    assert after.diagnosis.klass is Class.DEFECT
    assert sentences(after.diagnosis)[-1] == "fake:b gives two different answers on the same case"


def test_several_layers_are_replayed_by_one_set_of_workers(
    fake_runner: Any, network: Model, images: dict[str, Array]
) -> None:
    runner = fake_runner(planted={"fake:b": {"conv1": bump}, "fake:c": {"dense": bump}})
    trace = runner.run_pairs([(network.case("fake:a", Procedure(trace=True), images), "fake:a")])[0].trace.nodes
    accusations = accuse(
        list(replay_nodes(runner, network, network.graph.nodes, images, trace, runner.targets, traits=TRAITS)), {}
    )
    assert len(accusations) == 2
    assert (
        confirm_accusations(runner, network, accusations, images, trace, runner.targets, {}, traits=TRAITS)
        == accusations
    )
    assert len([ran for ran in runner.ran if ran.fresh]) == len(runner.targets)


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
