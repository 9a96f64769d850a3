"""Hangs are confirmed beside the campaign: once per API, on the smallest case, within the time there is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.budget import CampaignBudget, Turn
from tensorparity.campaign.hangs import HangConfirmations, names_of, split_hangs
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.errors import OutOfTimeError
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Setup
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.reporting.words import left_open
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.hanging import HangMemory
from tensorparity.triage.examine import Examined

TORCH, JAX = "keras:torch", "keras:jax"


def suspected(size: int, api: str = "keras.layers.ReLU", kind: Kind = Kind.HANG) -> Suspicion:
    build = GraphBuilder("one")
    graph = build.build(build.add("ReLU", build.input("x", (size,)), name="y"))
    case = Case(graph, inputs={"x": np.ones((1, size), np.float32)})
    return Suspicion(kind, Diagnosis(Class.DEFECT, (TORCH,), api=api), case, (TORCH, JAX), "deadline")


class Examiner:
    """Confirms what it is told to; remembers what it was asked."""

    def __init__(self, klass: Class = Class.DEFECT, error: Exception | None = None) -> None:
        self.setup = Setup(0, (TORCH, JAX), traits_of(TARGETS))
        self.runner = SimpleNamespace()
        self.asked: list[Suspicion] = []
        self.go_on = threading.Event()
        self._klass, self._error = klass, error

    def on(self, runner: Any) -> Examiner:
        return self

    def confirm_all(self, suspicions: Sequence[Suspicion]) -> list[Suspicion]:
        self.asked += suspicions
        assert self.go_on.wait(20.0)
        if self._error:
            raise self._error
        return [replace(s, diagnosis=replace(s.diagnosis, klass=self._klass)) for s in suspicions]


def test_once_per_api_on_the_smallest_case_while_others_go_on() -> None:
    examiner = Examiner()
    hangs = HangConfirmations(examiner)  # type: ignore[arg-type]
    hangs.begin([suspected(8), suspected(2), suspected(4)])
    hangs.begin([suspected(1)])
    assert hangs.are_pending
    assert hangs.collect(wait=False) == [], "it is still waited for, and nobody waits with it"
    examiner.go_on.set()
    ((again, first),) = hangs.collect(wait=True)
    assert [s.case.inputs["x"].size for s in examiner.asked] == [2]
    assert (again.diagnosis.klass, again.targets, first.targets) == (Class.DEFECT, (TORCH, JAX), (TORCH, JAX))
    hangs.begin([suspected(1)])
    assert not hangs.are_pending, "it is known by now"


def test_what_does_not_hang_again_is_asked_anew_by_everybody_twice() -> None:
    examiner, memory = Examiner(Class.FLAKY), HangMemory()
    examiner.go_on.set()
    memory.has_hung(TORCH, {"ReLU": ()}, "no answer")
    local = SimpleNamespace(hanging=memory, within=lambda limit: None)
    hangs = HangConfirmations(examiner, local)  # type: ignore[arg-type]
    hangs.begin([suspected(2)])
    ((again, _),) = hangs.collect(wait=True)
    assert again.diagnosis.klass is Class.FLAKY
    assert memory.known(TORCH, {"ReLU": ()}) is None
    for _ in range(3):
        hangs.begin([suspected(2)])
        hangs.collect(wait=True)
    assert len(examiner.asked) == 2


def test_what_the_time_did_not_suffice_for_is_left_open() -> None:
    examiner = Examiner(error=OutOfTimeError())
    examiner.go_on.set()
    hangs = HangConfirmations(examiner)  # type: ignore[arg-type]
    hangs.begin([suspected(2)])
    assert hangs.collect(wait=True) == []
    assert names_of(hangs.open) == ["keras.layers.ReLU on keras:torch"]


def test_what_could_not_be_confirmed_is_named_the_worst_first() -> None:
    digits = [suspected(2, f"keras.layers.{name}", Kind.PRECISION) for name in ("Softmax", "ELU", "GELU")]
    (said,) = left_open([*digits, digits[0], suspected(2)], [], {})
    assert said.startswith(
        "5 suspicions could not be confirmed in the time that was left, a longer --budget has more: "
    )
    assert "more: keras.layers.ReLU never ends on keras:torch; keras.layers.Softmax " in said, "a hang is the worst"
    assert said.endswith("; 1 more"), "and what is said twice counts once"


def test_hangs_are_told_from_other_suspicions() -> None:
    hang, crash = suspected(2), suspected(2, kind=Kind.CRASH)
    examined = Examined(Ask(hang.case), ({},), Judged((), (hang, crash)))
    hangs, rest = split_hangs(examined)
    assert (hangs, list(rest.judged.suspicions)) == ([hang], [crash])


class TestBudget:
    """A budget is the whole time on the wall, a third of it for confirming and reducing."""

    def budget(self, spent: float) -> CampaignBudget:
        budget = CampaignBudget(seconds=360.0)
        budget.began -= spent
        return budget

    @pytest.mark.parametrize(("spent", "confirms"), [(239.0, False), (241.0, True)])
    def test_two_thirds_are_for_searching(self, spent: float, confirms: bool) -> None:
        budget = self.budget(spent)
        assert Turn(budget, 1, 0.0).is_over(waiting=True, own=1) is confirms
        assert not budget.is_used_up

    def test_nothing_is_begun_that_could_not_be_confirmed(self) -> None:
        budget = self.budget(250.0)
        budget.has_confirmed()
        assert not budget.is_used_up
        budget.began -= 51.0
        assert budget.is_used_up, "the last sixth of the time is for what was found"

    def test_without_a_suspicion_all_of_it_is_for_searching(self) -> None:
        assert not self.budget(341.0).is_used_up
        assert self.budget(343.0).is_used_up

    def test_what_is_under_way_is_given_up_in_time(self) -> None:
        budget = self.budget(0.0)
        turn = budget.turn(1)
        ends = (turn.give_up(True, 1), turn.give_up(False, 0), budget.end_of_reducing)
        assert [round(end - budget.began) for end in (*ends, budget.end_of_confirming)] == [270, 342, 342, 390]

    def test_a_number_of_cases_has_no_end(self) -> None:
        budget = CampaignBudget()
        assert {budget.turn(1).give_up(True, 1), budget.end_of_reducing, budget.end_of_confirming} == {float("inf")}
