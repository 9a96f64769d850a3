"""The pool's loop, on real workers: who goes first, what is cancelled, when a target gets another worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from tensorparity.core.case import Case
from tensorparity.core.outcome import Outcome
from tensorparity.targets.batches import Queues, RequestBatch, WorkerJob
from tensorparity.targets.pool import Pool
from tensorparity.targets.requests import Request
from tensorparity.targets.runner import LocalRunner, RunnerSettings
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

VICTIM, BYSTANDER = "misbehaving:victim", "misbehaving:bystander"


def _pause(seconds: float) -> Case:
    return misbehave("sleep", seconds, x=np.zeros(1))


def _pids(outcomes: list[Outcome]) -> set[int]:
    return {int(outcome.outputs["process"][0]) for outcome in outcomes}


def test_several_threads_may_ask_at_once(pair: LocalRunner) -> None:
    found: dict[int, list[Outcome]] = {}

    def ask(number: int) -> None:
        cases = [misbehave("echo", x=np.array([number, index])) for index in range(5)]
        found[number] = pair.run_pairs([(case, VICTIM) for case in cases])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert [o.outputs["x"].tolist() for o in found[number]] == [[number, index] for index in range(5)]


def test_what_is_waited_for_goes_before_what_was_begun_ahead(pair: LocalRunner) -> None:
    begun = pair.begin_pairs([(_pause(0.3), VICTIM)] * 6)
    (asked,) = pair.run_pairs([(misbehave("echo", x=np.ones(1)), VICTIM)])
    assert asked.completed
    assert begun.ended < 6
    assert all(outcome.completed for outcome in begun.outcomes())


def test_outcomes_of_what_was_begun_come_in_order(pair: LocalRunner) -> None:
    cases = [misbehave("echo", x=np.array([index])) for index in range(8)]
    begun = pair.begin_pairs([(case, target) for case in cases for target in (VICTIM, BYSTANDER)])
    assert [outcome.outputs["x"].tolist() for outcome in begun.outcomes()] == [[i] for i in range(8) for _ in "ab"]


def test_cancelling_ends_what_is_busy_and_nothing_else(
    marked_runner: LocalRunner, alive: Callable[[], list[psutil.Process]]
) -> None:
    target = marked_runner.targets[0]
    marked_runner.run_pairs([(misbehave("look"), target)])
    begun = marked_runner.begin_pairs([(misbehave("sleep"), target)] * 3)
    time.sleep(0.5)
    before = time.monotonic()
    begun.cancel()
    assert time.monotonic() - before < 20
    assert not alive()
    (after,) = marked_runner.run_pairs([(misbehave("echo", x=np.ones(2)), target)])
    assert after.completed


def test_a_target_whose_requests_wait_while_a_core_is_free_gets_another_worker(
    marked_runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = marked_runner.targets[0]
    pool = marked_runner.pool
    monkeypatch.setattr(pool, "_cores", 2)
    monkeypatch.setattr(pool, "_workers", 2)
    monkeypatch.setattr(pool, "_plans", {**pool._plans, "another": pool._plans[target]})  # its share is one of two
    (first,) = marked_runner.run_pairs([(misbehave("look"), target)])
    waits = 2 * pool._start_seconds[target]
    marked_runner.run_pairs([(_pause(waits), target)] * 2 + [(_pause(0.1), target)] * 20)
    outcomes = marked_runner.run_pairs([(_pause(0.5), target), (misbehave("look"), target)])
    assert _pids([first, outcomes[1]]) != _pids([first])


def test_a_pool_that_may_not_grow_stays_as_it_is(marked_runner: LocalRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = marked_runner.pool
    monkeypatch.setattr(pool, "_grow", False)
    monkeypatch.setattr(pool, "_workers", 3)  # more than there are targets
    monkeypatch.setitem(pool._waited, marked_runner.targets[0], 1e9)
    monkeypatch.setitem(pool._start_seconds, marked_runner.targets[0], 0.0)
    cases = [_pause(0.1), misbehave("look"), misbehave("look"), misbehave("look")]
    outcomes = marked_runner.run_pairs([(case, marked_runner.targets[0]) for case in cases])
    assert len(_pids(outcomes[1:])) == 1


def test_steps_of_one_confirmation_share_their_fresh_workers(marked_runner: LocalRunner) -> None:
    target = marked_runner.targets[0]
    look = [(misbehave("look"), target)]
    own = _pids(marked_runner.run_pairs(look))
    with marked_runner.one_fresh_set(), marked_runner.one_fresh_set():
        shared = _pids(marked_runner.run_pairs(look, fresh=True)) | _pids(marked_runner.run_pairs(look, fresh=True))
    later = _pids(marked_runner.run_pairs(look, fresh=True))
    assert len(shared) == 1
    assert not own & shared
    assert not later & shared


def test_fresh_workers_begin_with_one(marked_runner: LocalRunner) -> None:
    """Importing a library twice for a handful of cases takes longer than the cases do."""
    pairs = [(misbehave("look"), marked_runner.targets[0])] * 4
    assert len(_pids(marked_runner.run_pairs(pairs, fresh=True))) == 1


def test_an_error_of_the_loop_reaches_whoever_waits(
    marked_runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Pool) -> None:
        raise RuntimeError("no more")

    target = marked_runner.targets[0]
    monkeypatch.setattr(Pool, "_assign", broken)
    for _ in range(2):  # also who comes later
        with pytest.raises(RuntimeError, match="no more"):
            marked_runner.run_pairs([(misbehave("look"), target)])


def test_queues_are_in_order_by_target_and_background_is_last() -> None:
    queues = Queues()
    late, early = RequestBatch(2, background=True), RequestBatch(2)
    jobs = [
        WorkerJob(batch.background, number, 0, Request(target, {}), batch)
        for number, (batch, target) in enumerate([(late, "a"), (late, "b"), (early, "b"), (early, "b")])
    ]
    for job in jobs:
        queues.add(job)
    assert queues.firsts() == [jobs[2], jobs[0]]
    queues.take(jobs[2])
    assert queues.firsts() == [jobs[3], jobs[0]]
    queues.forget(early)
    assert queues.firsts() == [jobs[0], jobs[1]]


def test_time_that_nobody_waited_in_does_not_count(marked_runner: LocalRunner) -> None:
    target = marked_runner.targets[0]
    marked_runner.run_pairs([(misbehave("look"), target)])
    time.sleep(0.5)  # asleep, with nothing to do
    marked_runner.run_pairs([(misbehave("look"), target)])
    assert marked_runner.pool._waited.get(target, 0.0) < 0.3


def test_nothing_is_begun_in_the_background_while_it_is_held_back(pair: LocalRunner) -> None:
    with pair.pool.holding_back():
        begun = pair.begin_pairs([(misbehave("echo", x=np.ones(1)), VICTIM)] * 3)
        (asked,) = pair.run_pairs([(misbehave("echo", x=np.ones(1)), VICTIM)])
        time.sleep(0.2)
        assert asked.completed
        assert begun.ended == 0
    assert len(begun.outcomes()) == 3


def test_closing_tells_whoever_waits(marker: str) -> None:
    name = f"misbehaving{{MARKER={marker}}}"
    runner = external_runner(MISBEHAVING, [name], RunnerSettings(workers=1))
    begun = runner.begin_pairs([(misbehave("sleep"), name)])
    runner.close()
    with pytest.raises(RuntimeError, match="closed"):
        begun.outcomes()


def test_a_target_that_has_started_before_may_fail_to_start_a_few_times(
    marked_runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = marked_runner.targets[0]
    pool = marked_runner.pool
    marked_runner.run_pairs([(misbehave("abort"), target)])
    good = pool._plans[target]
    python = str(Path("no") / "such" / "python")
    monkeypatch.setitem(pool._plans, target, replace(good, launch=replace(good.launch, python=python)))
    for _ in range(2):
        (outcome,) = marked_runner.run_pairs([(misbehave("look"), target)])
        assert not outcome.completed
    monkeypatch.setitem(pool._plans, target, good)
    (outcome,) = marked_runner.run_pairs([(misbehave("look"), target)])
    assert outcome.completed
