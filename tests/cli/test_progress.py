"""What is shown of a run while it runs: a clock, counts that stay within their totals, a line for each finding."""

from __future__ import annotations

import io

import pytest

from tensorparity.campaign.events import EngineEnded, FindingFiled, Progress, WorkerDied
from tensorparity.cli import progress as module
from tensorparity.cli.progress import Standing, found_line, plain_lines, progress
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.outcome import Status
from tensorparity.core.verdict import Kind, Stage

HANG = Finding(
    "muffin-1",
    "muffin",
    Kind.HANG,
    Stage.FORWARD,
    ("keras:torch",),
    Diagnosis(Class.DEFECT, ("keras:torch",), api="keras.layers.Dense"),
    "signature",
)


def test_a_clock_runs_and_says_what_is_left() -> None:
    standing = Standing(budget=360.0)
    standing.began -= 151.2
    assert standing.clock() == "2:31 of 6:00, 3:28 left"
    standing.began -= 3600.0
    assert standing.clock() == "1:02:31 of 6:00, 0:00 left"
    assert Standing().clock() == "0:00"


def test_counts_stay_within_their_total() -> None:
    standing = Standing()
    standing(Progress("replaying layers", 7, 5, "keras:torch"))
    assert standing.work() == "replaying layers 5 of 5, keras:torch"


def test_restarts_are_counted_beside_their_target() -> None:
    standing = Standing(targets=("keras:jax", "keras:torch"))
    for status in (Status.CRASHED, Status.TIMED_OUT):
        standing(WorkerDied("keras:torch", status, "digest"))
    assert standing.workers() == "workers: keras:jax, keras:torch (2 restarts)"


def test_a_log_has_a_line_for_each_phase_each_half_minute_and_each_finding() -> None:
    stream, now = io.StringIO(), [0.0]
    listen = plain_lines(Standing(targets=("a",)), stream, lambda: now[0])
    for at, event in [
        (0.0, Progress("muffin", 1, 10)),
        (5.0, Progress("muffin", 2, 10)),
        (31.0, Progress("muffin", 3, 10)),
        (32.0, FindingFiled("muffin", HANG)),
        (33.0, EngineEnded("muffin", "all cases were run", 1.0, 1.0)),
    ]:
        now[0] = at
        listen(event)
    lines = [line.partition("] ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["muffin 1 of 10", "muffin 3 of 10", found_line(HANG)]
    assert found_line(HANG) == "defect: keras.layers.Dense never ends on keras:torch [muffin-1]"


def test_quiet_says_nothing_and_short_commands_write_no_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress(True, targets=("a",)) as listen:
        listen(Progress("muffin", 1, 10))
    with progress(False) as listen:
        listen(Progress("examining", 1, 10))
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_live_view_and_the_findings_stay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    with progress(False, budget=60.0, targets=("keras:torch",)) as listen:
        listen(Progress("muffin", 3, 10, "1 finding"))
        listen(FindingFiled("muffin", HANG))
    shown = capsys.readouterr().err
    assert "muffin 3 of 10, 1 finding" in shown
    assert "keras.layers.Dense never ends on keras:torch" in shown
    assert "workers: keras:torch" in shown
