"""The clock of phases, on an engine of two phases and a clock of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tensorparity.campaign import phases
from tensorparity.campaign.budget import CampaignBudget, CaseCount, Turn
from tensorparity.campaign.engine_search import EngineSearch
from tensorparity.campaign.events import CaseDone, Confirmed
from tensorparity.campaign.phases import PartTimes, PhaseClock
from tensorparity.core.engine import Phased, Result


@dataclass
class TwoPhases:
    phase: str = "search"
    shares: Mapping[str, float] = field(default_factory=lambda: {"search": 0.75, "judge": 0.25})
    filed: str = "judge"
    settled: bool = False
    left: bool = True

    def end_phase(self) -> bool:
        if self.left:
            self.phase = "judge" if self.phase == "search" else ""
        return self.left


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moment = [100.0]
    monkeypatch.setattr(phases, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    return moment


def test_a_phase_ends_with_its_share_and_the_next_has_its_own(now: list[float]) -> None:
    engine = TwoPhases()
    clock = PhaseClock(engine, 40.0)
    for moment, phase, settled in [(129.9, "search", False), (160.0, "judge", False), (300.0, "judge", True)]:
        now[0], engine.settled = moment, settled
        clock.before_asking()
        clock.after_telling()
        assert engine.phase == phase, "the second one begins at 160, and files something, however late it is"
    clock.before_asking()
    assert (engine.phase, clock.cut) == ("", True)


def test_where_nothing_is_left_nothing_is_cut(now: list[float]) -> None:
    engine = TwoPhases(left=False)
    clock = PhaseClock(engine, 40.0)
    now[0] = 500.0
    clock.before_asking()
    assert (engine.phase, clock.cut) == ("search", False)
    assert isinstance(engine, Phased)


def test_parts_are_timed_without_confirmation(now: list[float]) -> None:
    times = PartTimes()
    for moment, event in [
        (103.0, CaseDone("an engine", Result(0, "d"), part="a")),
        (104.0, CaseDone("an engine", Result(1, "d"), part="a")),
        (150.0, Confirmed(())),
        (152.0, CaseDone("an engine", Result(2, "d"), part="b")),
    ]:
        now[0] = moment
        times(event)
    assert times.seconds == {"a": 4.0, "b": 2.0}


@pytest.mark.parametrize(("filed", "seconds"), [("judge", 300.0), ("", 200.0)])
def test_phases_that_file_nothing_leave_a_third_of_the_time_for_filing(filed: str, seconds: float) -> None:
    engine = SimpleNamespace(**vars(TwoPhases(filed=filed)), name="two", ahead=1, end_phase=lambda: False)
    session = SimpleNamespace(recorded=lambda name: [], searching="")
    search = EngineSearch(session, engine, CaseCount())  # type: ignore[arg-type]
    search._begin(Turn(CampaignBudget(300.0, searching=2 / 3), 1, 0.0))
    assert search._clock is not None
    assert search._clock.seconds == pytest.approx(seconds)
