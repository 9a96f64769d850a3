"""What hangs is found among what is common to the requests that hung, and is not waited for again."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, Case, ModelFile
from tensorparity.core.errors import OutOfTimeError
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import asking_all
from tensorparity.core.time_limit import TimeLimit
from tensorparity.targets.hanging import HASTE, HangMemory, parts_of
from tensorparity.targets.limits import WorkerLimits
from tensorparity.targets.runner import RunnerSettings
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

SLEEPS = "no answer, and no CPU time used for 20 s"


def parts(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: (f"{name}#0",) for name in names}


def test_one_thing_alone_that_hangs_is_known_at_once_and_on_that_target_only() -> None:
    memory = HangMemory()
    memory.has_hung("a", parts("Dense"), SLEEPS)
    assert memory.known("a", parts("ReLU", "Dense")) == ("Dense", SLEEPS)
    assert memory.known("a", parts("ReLU")) is None
    assert memory.known("b", parts("Dense")) is None
    assert memory.spared() == {"a": {"Dense": 1}}


def test_what_answered_before_is_not_suspected() -> None:
    memory = HangMemory()
    memory.has_answered("a", parts("Conv2D", "ReLU"))
    memory.has_hung("a", parts("Conv2D", "Dense", "ReLU"), SLEEPS)
    assert memory.known("a", parts("Dense")) == ("Dense", SLEEPS)


def test_what_answers_afterwards_is_not_suspected_any_more() -> None:
    memory = HangMemory()
    memory.has_hung("a", parts("Conv2D", "Dense"), SLEEPS)
    assert memory.known("a", parts("Dense")) is None
    assert memory.patience("a", parts("Conv2D")) == HASTE
    assert memory.patience("a", parts("ReLU")) == 1.0
    memory.has_answered("a", parts("Conv2D"))
    assert memory.known("a", parts("Dense")) == ("Dense", SLEEPS)
    assert memory.patience("a", parts("Conv2D")) == 1.0


def test_the_node_that_was_running_is_it_at_once() -> None:
    memory = HangMemory()
    memory.has_hung("a", parts("Conv2D", "Dense", "Dense backward"), SLEEPS, "Dense#0")
    assert memory.known("a", parts("Dense")) == ("Dense", SLEEPS)
    assert memory.known("a", parts("Conv2D")) is None


def test_what_two_hangs_have_in_common_is_it() -> None:
    memory = HangMemory()
    memory.has_hung("a", parts("Conv2D", "Dense"), SLEEPS)
    memory.has_hung("a", parts("ReLU", "Dense"), SLEEPS)
    assert memory.known("a", parts("Dense")) == ("Dense", SLEEPS)
    assert memory.known("a", parts("ReLU")) is None


def test_one_layer_in_several_ways_is_one_thing() -> None:
    memory = HangMemory()
    memory.has_hung("a", parts("Conv2D", "Dense", "Dense backward"), SLEEPS)
    memory.has_hung("a", parts("ReLU", "Dense", "Dense backward"), SLEEPS)
    assert memory.known("a", parts("Dense")) == ("Dense", SLEEPS)


def test_what_hangs_sometimes_is_found_alone_and_not_among_others() -> None:
    memory = HangMemory()
    memory.has_answered("a", parts("Dense", "ReLU"))
    memory.has_hung("a", parts("Dense", "ReLU"), SLEEPS)
    assert memory.known("a", parts("Dense")) is None
    memory.has_hung("a", parts("Dense"), SLEEPS)
    assert memory.known("a", parts("Dense")) == ("Dense", SLEEPS)


def test_what_did_not_hang_again_is_asked_anew() -> None:
    memory = HangMemory()
    memory.has_hung("a", parts("Dense"), SLEEPS)
    memory.forget("a")
    assert memory.known("a", parts("Dense")) is None


def test_the_parts_of_cases() -> None:
    build = GraphBuilder("net")
    graph = build.build(build.add("ReLU", build.add("Dense", build.input("x", (2,)), name="d", units=2), name="r"))
    assert parts_of(Case(graph)) == {"Dense": ("d#0",), "ReLU": ("r#0",)}
    step = Procedure(goal=Goal.UPDATE, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    assert list(parts_of(Case(graph, step))) == [
        *("Dense", "ReLU", "Dense training", "ReLU training", "Dense backward", "ReLU backward"),
        *("loss:MeanSquaredError", "optimizer:SGD"),
    ]
    assert parts_of(Case(graph, Procedure(goal=Goal.REPLAY, nodes=("d#0",)))) == {"Dense": ("d#0",)}
    assert parts_of(Case(ApiCall("torch.exp", ()), Procedure(goal=Goal.CALL))) == {"torch.exp": ()}
    assert parts_of(Case(ModelFile("m.onnx", "0" * 64, "onnx"))) == {}


def test_a_worker_waits_once_and_who_asks_with_other_patience_waits_again() -> None:
    limits = WorkerLimits(cpu_seconds=5.0, start_cpu_seconds=20.0, idle_seconds=1.0)
    with external_runner(MISBEHAVING, ["misbehaving"], RunnerSettings(limits=limits, workers=1)) as runner:
        case = (misbehave("sleep"), "misbehaving")
        (first,), began = runner.run_pairs([case]), time.monotonic()
        (again,), took = runner.run_pairs([case]), time.monotonic() - began
        (patient,) = runner.run_pairs([case], deadline_factor=2.0)
        (asked,) = asking_all(runner).run_pairs([case])
        (other,) = runner.run_pairs([(misbehave("echo", x=np.ones(2)), "misbehaving")])
    assert [outcome.status for outcome in (first, again, patient, asked)] == [Status.TIMED_OUT] * 4
    assert first.failure is not None
    assert again.failure == first.failure
    assert took < 0.5 < min(patient.seconds, asked.seconds)
    assert runner.hanging.spared() == {"misbehaving": {"misbehave.sleep": 1}}
    assert other.completed


def test_whoever_waits_when_the_time_is_up_is_told_so_and_the_next_one_is_served() -> None:
    limit = TimeLimit()
    settings = RunnerSettings(workers=1, time_limit=limit)
    with external_runner(MISBEHAVING, ["misbehaving"], settings) as runner:
        limit.at = time.monotonic() + 2.0
        with pytest.raises(OutOfTimeError, match="the time was used up"):
            runner.run_pairs([(misbehave("sleep"), "misbehaving")])
        assert time.monotonic() - limit.at < 10.0
        with pytest.raises(OutOfTimeError):
            runner.run_pairs([(misbehave("echo", x=np.ones(2)), "misbehaving")])
        limit.at = math.inf
        (served,) = runner.run_pairs([(misbehave("echo", x=np.ones(2)), "misbehaving")])
    assert served.completed
