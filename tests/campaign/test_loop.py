"""The loop with a small engine and fake targets: exact counts, rounds ahead, resumes, events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.budget import CampaignBudget, StopReason, Turn
from tensorparity.campaign.events import CaseDone, Confirmed, EngineEnded, Event, FindingFiled, WorkerDied, silent
from tensorparity.campaign.loop import Loop, run_engines
from tensorparity.campaign.session import CampaignSession
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask, Result
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Check, Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Judgement, Kind, Verdict
from tensorparity.oracles.kinds import ORACLES
from tensorparity.store.database import Store, open_store
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.preparation import Preparation

TARGETS = ("a", "b")


class SumOracle:
    """Passes, and measures the sum of what the first target gave."""

    def __init__(self, setup: Setup) -> None:
        """It needs nothing."""

    def judge(self, seen: Seen) -> Judged:
        verdict = Verdict(Judgement.PASS, seen.targets, "always")
        sums = {target: (float(o.outputs["y"].sum()),) for target, o in seen.completed.items()}
        return Judged((verdict,), measures={"sum": sums})


class SmallEngine:
    """Two cases a round; what it is told goes into the next round, so that order shows."""

    name = "small"

    def __init__(self, seed: int = 0, ahead: int = 0, rounds: int | None = None) -> None:
        self.ahead = ahead
        self._seed, self._rounds = seed, rounds
        self._asked = 0
        self.told: list[list[Result]] = []
        #: By round, how many rounds had been told when it was asked for.
        self.knew: list[int] = []

    def ask(self) -> Sequence[Ask]:
        if self._rounds is not None and self._asked >= self._rounds:
            return []
        self.knew.append(len(self.told))
        self._asked += 1
        return [Ask(self._case(place), oracles=("sum",)) for place in range(2)]

    def tell(self, results: Sequence[Result]) -> None:
        self.told.append(list(results))

    def tables(self) -> Mapping[str, Any]:
        return {"rounds": len(self.told)}

    def _case(self, place: int) -> Case:
        learned = [abs(int(1000 * r.measures["sum"]["a"][0])) for results in self.told for r in results]
        rng = np.random.default_rng([self._seed, self._asked, place, *learned])
        build = GraphBuilder("small")
        graph = build.build(build.add("ReLU", build.input("x", (4,)), name="y"))
        return Case(graph, inputs={"x": rng.standard_normal((1, 4)).astype(np.float32)})


class Runner:
    """Gives back what it is fed; ``ends`` says which calls of which target end otherwise."""

    targets = TARGETS

    def __init__(self, ends: Mapping[int, Status] | None = None) -> None:
        self._ends = ends or {}
        self.runs = 0

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        found = []
        for case, target in pairs:
            status = self._ends.get(self.runs, Status.COMPLETED)
            found.append(Outcome(target, status, {"y": case.inputs["x"]} if status is Status.COMPLETED else {}))
            self.runs += 1
        return found


@pytest.fixture(autouse=True)
def sum_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORACLES._paths, "sum", "nowhere:sum")
    monkeypatch.setitem(ORACLES._loaded, "sum", SumOracle)


def session(
    store: Store | None = None, runner: Runner | None = None, emit: Callable[[Event], None] = silent
) -> CampaignSession:
    examiner = Examiner(runner or Runner(), Setup(0, TARGETS))
    preparation = Preparation(None, examiner, None)  # type: ignore[arg-type]
    campaign = 0
    if store is not None:
        earlier = store.find_campaign("test", 0, {})
        campaign = earlier.id if earlier else store.begin_campaign("test", 0, {})
    return CampaignSession(examiner, preparation, emit, store, campaign)


@pytest.mark.parametrize("cases", [0, 1, 2, 5])
@pytest.mark.parametrize("ahead", [0, 3])
def test_a_count_is_exact(cases: int, ahead: int) -> None:
    events: list[Event] = []
    run_engines(session(emit=events.append), [SmallEngine(ahead=ahead)], cases=cases)
    done = [event.result.index for event in events if isinstance(event, CaseDone)]
    assert done == list(range(cases))


class BreakingEngine(SmallEngine):
    """Ends with an exception where it is told to: as it is asked, told, or asked for its tables."""

    name = "breaking"

    def __init__(self, breaks: str, name: str = "breaking") -> None:
        super().__init__(rounds=2)
        self._breaks, self.name = breaks, name

    def _break(self, where: str) -> None:
        if where == self._breaks:
            raise RuntimeError("out of luck")

    def ask(self) -> Sequence[Ask]:
        if self.told:
            self._break("ask")
        return super().ask()

    def tell(self, results: Sequence[Result]) -> None:
        self._break("tell")
        super().tell(results)

    def tables(self) -> Mapping[str, Any]:
        self._break("tables")
        return super().tables()


@pytest.mark.parametrize("breaks", ["ask", "tell", "tables"])
def test_an_engine_of_somebody_else_that_breaks_ends_alone(breaks: str) -> None:
    events: list[Event] = []
    stop = run_engines(session(emit=events.append), [BreakingEngine(breaks), SmallEngine(rounds=3)])
    ended = {event.engine: event for event in events if isinstance(event, EngineEnded)}
    assert "the engine breaking ended with RuntimeError (test_loop.py, line " in ended["breaking"].failure
    assert ended["breaking"].failure.endswith("out of luck")
    assert ended["small"].tables == {"rounds": 3}
    assert not ended["small"].failure
    assert stop is (StopReason.CASES if breaks == "tables" else StopReason.FAILED)


def test_an_engine_of_ours_that_breaks_is_a_bug_of_ours() -> None:
    with pytest.raises(RuntimeError, match="out of luck"):
        run_engines(session(), [BreakingEngine("ask", name="muffin")])


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_an_engine_is_asked_once_exactly_the_rounds_before_are_told(ahead: int) -> None:
    engine = SmallEngine(ahead=ahead, rounds=7)
    assert run_engines(session(), [engine]) is StopReason.CASES
    assert engine.knew == [max(0, place - ahead) for place in range(7)]
    assert len(engine.told) == 7


def test_a_round_that_was_cut_is_the_last_and_told_for_the_tables() -> None:
    engine = SmallEngine()
    run_engines(session(), [engine], cases=3)
    assert [len(results) for results in engine.told] == [2, 1]
    assert engine.knew == [0, 1]


def test_a_budget_of_nothing_runs_nothing() -> None:
    engine = SmallEngine()
    assert run_engines(session(), [engine], seconds=0.0) is StopReason.BUDGET
    assert engine.told == []


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
@pytest.mark.parametrize("ahead", [0, 2])
def test_a_resume_continues_as_if_never_interrupted(tmp_path: Path, cut: int, ahead: int) -> None:
    def results(folder: str, cases: int) -> list[Result]:
        with open_store(tmp_path / folder) as store:
            run_engines(session(store), [SmallEngine(ahead=ahead)], cases=cases)
            return store.results(1, "small")

    whole = results("whole", 6)
    results("cut", cut)
    assert results("cut", 6) == whole


class KeyedOracle:
    """Convicts every case by a key that all have in common, unless that is known; nothing is seen again."""

    def __init__(self, setup: Setup) -> None:
        pass

    def judge(self, seen: Seen) -> Judged:
        if not seen.answers:
            return Judged(checks=(Check(seen.case, (), key=("forward", "an.api", "x")),))
        measures = {"sum": {"a": (float(np.sum(seen.case.inputs["x"])),)}}
        if seen.answers[0].judged is None or seen.claim is not None:
            return Judged(measures=measures)
        found = Diagnosis(Class.DEFECT, ("a",), api="an.api")
        known_by = seen.answers[0].check.key
        suspicion = Suspicion(Kind.INCONSISTENCY, found, seen.case, seen.targets, oracle="keyed", known_by=known_by)
        return Judged(suspicions=(suspicion,), measures=measures)


class KeyedEngine(SmallEngine):
    def ask(self) -> Sequence[Ask]:
        return [replace(ask, oracles=("keyed",)) for ask in super().ask()]


@pytest.fixture
def keyed_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORACLES._paths, "keyed", "nowhere:keyed")
    monkeypatch.setitem(ORACLES._loaded, "keyed", KeyedOracle)


@pytest.mark.usefixtures("keyed_oracle")
@pytest.mark.parametrize("due", [1, 3, 1000])
def test_what_is_known_does_not_depend_on_when_convictions_are_confirmed(
    tmp_path: Path, due: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are flaky, and confirmed after each round, after some, or in the end."""
    monkeypatch.setattr("tensorparity.campaign.session.CONFIRM_EVERY", due)
    with open_store(tmp_path) as store:
        run_engines(session(store), [KeyedEngine(rounds=5)])
        convicted = [bool(result.convicted) for result in store.results(1, "small")]
    assert convicted == [True] * 2 + [False] * 8


@pytest.mark.usefixtures("keyed_oracle")
@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("ahead", [0, 2])
def test_what_is_known_survives_a_resume(tmp_path: Path, cut: int, ahead: int) -> None:
    def results(folder: str, cases: int) -> list[Result]:
        with open_store(tmp_path / folder) as store:
            run_engines(session(store), [KeyedEngine(ahead=ahead)], cases=cases)
            return store.results(1, "small")

    whole = results("whole", 6)
    results("cut", cut)
    assert results("cut", 6) == whole
    assert [bool(result.convicted) for result in whole] == [True] * 2 + [False] * 4


def test_what_is_known_is_not_run_again(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        run_engines(session(store), [SmallEngine()], cases=4)
        runner = Runner()
        events: list[Event] = []
        run_engines(session(store, runner, events.append), [SmallEngine()], cases=6)
    assert runner.runs == 2 * len(TARGETS)
    assert [event.resumed for event in events if isinstance(event, CaseDone)] == [True] * 4 + [False] * 2


def test_time_outs_never_teach() -> None:
    engine = SmallEngine(rounds=1)
    events: list[Event] = []
    run_engines(session(runner=Runner({0: Status.TIMED_OUT, 3: Status.CRASHED}), emit=events.append), [engine])
    first, second = engine.told[0]
    assert first.endings == {"a": None, "b": Status.COMPLETED}
    assert second.endings == {"a": Status.COMPLETED, "b": Status.CRASHED}
    died = [(event.target, event.status) for event in events if isinstance(event, WorkerDied)]
    assert died == [("a", Status.TIMED_OUT), ("b", Status.CRASHED)]


def test_a_verdict_of_a_hang_is_kept_and_not_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    hang = Verdict(Judgement.UNDECIDED, TARGETS, "a timed out", kind=Kind.HANG)
    monkeypatch.setattr(SumOracle, "judge", lambda self, seen: Judged((hang,), measures={"sum": {"a": (1.0,)}}))
    engine, events = SmallEngine(rounds=1), list[Event]()
    run_engines(session(emit=events.append), [engine])
    assert {event.result.verdicts for event in events if isinstance(event, CaseDone)} == {(hang,)}
    assert {result.verdicts for results in engine.told for result in results} == {()}


def test_an_engine_that_ends_says_what_its_paper_prints() -> None:
    events: list[Event] = []
    run_engines(session(emit=events.append), [SmallEngine(rounds=2)])
    (ended,) = [event for event in events if isinstance(event, EngineEnded)]
    assert ended.tables == {"rounds": 2}


def test_ctrl_c_ends_the_run_and_not_the_report(tmp_path: Path) -> None:
    class Interrupted(SmallEngine):
        def tell(self, results: Sequence[Result]) -> None:
            super().tell(results)
            if len(self.told) == 2:
                raise KeyboardInterrupt

    with open_store(tmp_path) as store:
        assert run_engines(session(store), [Interrupted()], cases=100) is StopReason.INTERRUPTED
        assert len(store.results(1, "small")) == 4


def budget_of(seconds: float, spent: float = 0.0, searching: float = 0.5) -> CampaignBudget:
    return CampaignBudget(seconds, searching, time.monotonic() - spent)


def test_a_budget_leaves_time_for_what_waits() -> None:
    budget = budget_of(10.0, spent=6.0)
    turn = Turn(budget, 1, 0.0)
    assert not budget.is_used_up
    assert turn.is_over(waiting=True, own=0)
    assert not turn.is_over(waiting=False, own=0)
    budget.has_confirmed()
    assert not budget.turn(1).is_over(waiting=True, own=0), "four seconds are left, two of them for searching"
    later = budget.turn(1)
    budget.began -= 2.5
    assert later.is_over(waiting=True, own=0)
    budget.began -= 2.0
    assert budget.is_used_up


def test_a_turn_is_an_equal_share_of_what_is_left_for_searching() -> None:
    budget = budget_of(300.0, searching=2 / 3)
    ends = [Turn(budget, 5, 0.0), Turn(budget, 4, 20.0), Turn(budget, 1, 180.0)]
    late = 300.0 / 12
    assert [round(t.give_up(True, 0) - budget.began - late) for t in ends] == [40, 65, 200]


def test_who_has_found_much_searches_no_further() -> None:
    """Half of the turn in any case; what one suspicion takes is learned."""
    budget = budget_of(300.0, searching=2 / 3)
    turn, late = Turn(budget, 1, 0.0), 300.0 / 12
    assert [round(turn.give_up(True, n) - budget.began - late) for n in (0, 17, 20, 30, 100)] == [
        200,
        200,
        185,
        135,
        100,
    ]
    budget.has_handled(95, 75.0)
    assert budget.expected(10) == pytest.approx(10.0)
    assert round(turn.give_up(True, 100) - budget.began - late) == 185


def test_what_was_asked_for_by_number_has_no_hurry() -> None:
    budget = CampaignBudget()
    assert not budget.is_used_up
    assert not budget.turn(1).is_over(waiting=True, own=9)
    assert not budget.turn(3, beside=True).is_over(waiting=True, own=9)


def test_phases_divide_a_turn_beside_others_and_everything_alone() -> None:
    budget = budget_of(300.0, searching=2 / 3)
    assert Turn(budget, 1, 100.0).of_phases == pytest.approx(200.0)
    assert Turn(budget, 2, 100.0, beside=True).of_phases == pytest.approx(50.0)
    assert Turn(budget, 1, 100.0, beside=True).of_phases == pytest.approx(100.0)
    assert CampaignBudget().turn(1).of_phases is None


def test_phases_that_are_all_for_searching_divide_the_search_alone_too() -> None:
    budget = budget_of(300.0, searching=2 / 3)
    assert Turn(budget, 1, 100.0).of_search == pytest.approx(100.0)
    assert Turn(budget, 2, 100.0, beside=True).of_search == pytest.approx(50.0)
    assert CampaignBudget().turn(1).of_search is None


def test_a_loop_emits_the_oracle_that_decided() -> None:
    events: list[Event] = []
    Loop(session(emit=events.append), [SmallEngine(rounds=1)], CampaignBudget()).run()
    assert {event.oracle for event in events if isinstance(event, CaseDone)} == {"sum"}


class Suspects:
    """Convicts every case, of a key of its own."""

    def __init__(self, setup: Setup) -> None:
        """It needs nothing."""

    def judge(self, seen: Seen) -> Judged:
        diagnosis = Diagnosis(Class.DEFECT, ("a",), api=f"keras.layers.L{seen.case.digest}")
        verdict = Verdict(Judgement.FAIL, seen.targets, "always", kind=Kind.ERROR)
        found = Suspicion(Kind.ERROR, diagnosis, seen.case, seen.targets, oracle="sum")
        return Judged((verdict,), (found,), measures={"sum": {"a": (float(seen.case.inputs["x"].sum()),)}})


class Named(SmallEngine):
    """An engine with a name of its own."""

    def __init__(self, name: str, rounds: int | None = None) -> None:
        super().__init__(seed=len(name), rounds=rounds)
        self.name = name


@pytest.fixture
def suspecting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORACLES._loaded, "sum", Suspects)


def order_of(events: Sequence[Event]) -> list[str]:
    """Who searched, confirmed and filed, without repetitions."""
    names = [
        event.engine if isinstance(event, CaseDone) else type(event).__name__
        for event in events
        if isinstance(event, CaseDone | Confirmed)
    ]
    return [name for place, name in enumerate(names) if not place or names[place - 1] != name]


@pytest.mark.usefixtures("suspecting")
def test_where_time_is_limited_all_search_before_anything_is_confirmed() -> None:
    events: list[Event] = []
    engines = [Named("one", 2), Named("second", 1), Named("third-", 2)]
    one = session(emit=events.append)
    assert run_engines(one, engines, seconds=60.0) is StopReason.CASES
    assert order_of(events) == ["one", "second", "third-", "Confirmed"]
    assert sorted(finding.engine for finding in one.findings.values()) == ["one"] * 4 + ["second"] * 2 + ["third-"] * 4
    assert [event.engine for event in events if isinstance(event, EngineEnded)] == ["one", "second", "third-"]
    filed = [event.engine for event in events if isinstance(event, FindingFiled)]
    assert filed[:4] == ["one", "second", "third-", "one"], "one of each after another"


@pytest.mark.usefixtures("suspecting")
def test_where_cases_are_counted_each_engine_is_filed_before_the_next() -> None:
    events: list[Event] = []
    run_engines(session(emit=events.append), [Named("one"), Named("second")], cases=2)
    assert order_of(events) == ["one", "Confirmed", "second", "Confirmed"]


@pytest.mark.usefixtures("suspecting")
def test_engines_that_never_end_have_a_turn_each_and_more_laps() -> None:
    events: list[Event] = []
    one = session(emit=events.append)
    stop = run_engines(one, [Slow("one"), Slow("second")], seconds=4.0)
    assert stop is StopReason.BUDGET
    order = order_of(events)
    assert order[:3] == ["one", "second", "Confirmed"]
    assert order[3:6] == ["one", "second", "Confirmed"], "what was left was divided anew"
    assert not one.unconfirmed


class Slow(Named):
    """Whose rounds take a while."""

    def tell(self, results: Sequence[Result]) -> None:
        super().tell(results)
        time.sleep(0.1)
