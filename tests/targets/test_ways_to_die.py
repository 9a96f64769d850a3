"""Every way a worker can die, done to a real one: the right outcome, a fresh worker, nothing left behind.

``docs/ways-to-die.md`` is the table of what comes out here.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tensorparity.core.case import Case
from tensorparity.core.errors import UsageError, WorkerStartError
from tensorparity.core.outcome import Outcome, Status
from tensorparity.targets.environments import Environment
from tensorparity.targets.limits import WorkerLimits
from tensorparity.targets.names import parse_target
from tensorparity.targets.requests import End, Request
from tensorparity.targets.runner import LocalRunner, PreparedTarget, RunnerSettings, open_runner
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

VICTIM, BYSTANDER = "misbehaving:victim", "misbehaving:bystander"
ARRAY = np.arange(12.0).reshape(3, 4)

Alive = Callable[[], list[psutil.Process]]
Gone = Callable[[float], list[psutil.Process]]


@dataclass(frozen=True)
class Death:
    """A way to die and what must come of it; ``message`` is a pattern."""

    way: str
    status: Status
    type: str | None = None
    message: str = ""
    args: tuple[Any, ...] = ()
    deadline_factor: float = 1.0

    def __str__(self) -> str:
        return self.way


DEATHS = [
    Death("raise_error", Status.RAISED, "ValueError", "does not like these values"),
    Death("raise_memory_error", Status.OUT_OF_MEMORY, "MemoryError", "bad_alloc"),
    Death("raise_system_exit", Status.RAISED, "SystemExit", "calls sys.exit"),
    Death("raise_keyboard_interrupt", Status.RAISED, "KeyboardInterrupt"),
    Death("raise_unprintable", Status.RAISED, "_UnprintableError", "its message raised RuntimeError"),
    Death("raise_library_missing", Status.UNSUPPORTED, "LibraryMissing", "not installed"),
    Death("recurse", Status.RAISED, "RecursionError", "recursion"),
    Death("return_untravelled", Status.UNSUPPORTED, "ProtocolError", "datetime64.* does not travel"),
    Death("no_such_way", Status.UNSUPPORTED, "Unsupported", "does not exist"),
    Death("segfault", Status.CRASHED, "SIGSEGV", "ended with SIGSEGV"),
    Death("abort", Status.CRASHED, "SIGABRT", "ended with SIGABRT"),
    Death("exit_at_once", Status.CRASHED, "exit code 3", "exit code 3", (3,)),
    Death("exit_at_once", Status.CRASHED, "exit code 0", "exit code 0", (0,)),
    Death("signal_itself", Status.CRASHED, "SIGFPE", "SIGFPE", (int(signal.SIGFPE),)),
    Death("signal_itself", Status.CRASHED, "SIGKILL", "not by us: perhaps the kernel", (int(signal.SIGKILL),)),
    Death("signal_itself", Status.CRASHED, "signal 40", "signal 40", (40,)),
    Death("kill_guardian", Status.CRASHED, "its guardian was killed", "was lost: its guardian was killed"),
    Death("spin", Status.TIMED_OUT, "deadline", "no answer within 1 s of CPU time"),
    Death("ignore_signals", Status.TIMED_OUT, "deadline", "of CPU time"),
    Death("sleep", Status.TIMED_OUT, "deadline", r"no answer within 2 s \(wall limit\)", deadline_factor=0.2),
    Death("chatter_forever", Status.TIMED_OUT, "deadline", "no answer within", deadline_factor=0.2),
    Death("bloat", Status.OUT_OF_MEMORY, "memory limit", r"passed the limit of 0\.5 GiB", deadline_factor=10),
    Death("bloat_in_daemon", Status.OUT_OF_MEMORY, "memory limit", "resident memory", deadline_factor=10),
    Death("write_large_file", Status.RAISED, "OSError", "File too large", (32,)),
    Death("leave_child_and_die", Status.CRASHED, "SIGABRT"),
    Death("leave_daemon_and_spin", Status.TIMED_OUT, "deadline"),
    Death("write_garbage", Status.CRASHED, "protocol", "not a frame: it begins with b'Inte'"),
    Death("write_huge_frame", Status.CRASHED, "protocol", "4611686018427387904 bytes is beyond the cap"),
    Death("write_other_version", Status.CRASHED, "protocol", "version 2 arrived, version 1 is spoken"),
    Death("write_stray_frame", Status.CRASHED, "protocol", "an answer to request .* was expected"),
    Death("write_half_frame", Status.CRASHED, "exit code 0"),
    Death("close_pipe", Status.CRASHED, "exit code 1"),
    # What is bad manners and no death: the answer arrives.
    Death("leave_child", Status.COMPLETED),
    Death("leave_session", Status.COMPLETED),
    Death("leave_daemon", Status.COMPLETED),
    Death("chatter", Status.COMPLETED, args=(8,)),
    Death("close_streams", Status.COMPLETED),
    Death("break_record", Status.COMPLETED),
]


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: "-".join([death.way, *map(str, death.args)]))
def test_it_becomes_its_outcome_and_the_others_are_kept(pair: LocalRunner, death: Death) -> None:
    """The victim dies between two cases of a bystander, and is asked again in the same breath."""
    good = misbehave("echo", x=ARRAY)
    bad = misbehave(death.way, *death.args, x=ARRAY)
    pairs = [(good, BYSTANDER), (bad, VICTIM), (good, VICTIM), (good, BYSTANDER)]
    first, outcome, after, last = pair.run_pairs(pairs, deadline_factor=death.deadline_factor)
    _assert_outcome(outcome, death)
    for other in (first, after, last):
        assert other.completed, other.failure
        assert np.array_equal(other.outputs["x"], ARRAY)
        assert other.record.versions["numpy"] == np.__version__


def _assert_outcome(outcome: Outcome, death: Death) -> None:
    assert outcome.status is death.status, outcome.failure
    assert outcome.target == VICTIM
    assert outcome.seconds > 0
    # Also one that died says in which circumstances: they are known from its start.
    assert outcome.record.versions["numpy"] == np.__version__
    if death.type is None:
        assert outcome.failure is None
        assert np.array_equal(outcome.outputs["x"], ARRAY)
    else:
        assert outcome.failure is not None
        assert outcome.failure.type == death.type
        assert re.search(death.message, outcome.failure.message)
        assert not outcome.outputs


def test_cpu_time_of_a_death_is_recorded(pair: LocalRunner) -> None:
    pair.hanging.forget(VICTIM)  # what timed out before is not run again
    (outcome,) = pair.run_pairs([(misbehave("spin"), VICTIM)])
    assert 0.9 < outcome.cpu_seconds < 5


def test_a_worker_that_answers_is_kept(marked_runner: LocalRunner) -> None:
    """Exceptions cost nothing but themselves: imports take 5 to 20 s in real workers."""
    target = marked_runner.targets[0]
    ways = ["look", "raise_error", "raise_system_exit", "raise_keyboard_interrupt", "raise_memory_error", "look"]
    outcomes = marked_runner.run_pairs([(misbehave(way), target) for way in ways])
    assert outcomes[0].outputs["process"].tolist() == outcomes[-1].outputs["process"].tolist()


@pytest.mark.parametrize("way", ["die_later", "write_later"])
def test_what_happens_while_idle_is_blamed_on_nobody(marked_runner: LocalRunner, way: str) -> None:
    target = marked_runner.targets[0]
    (before,) = marked_runner.run_pairs([(misbehave(way, 0.1, x=ARRAY), target)])
    time.sleep(0.5)
    (after,) = marked_runner.run_pairs([(misbehave("echo", x=ARRAY), target)])
    assert before.completed
    assert after.completed, after.failure


def test_two_answers_at_once_are_garbage(marked_runner: LocalRunner) -> None:
    target = marked_runner.targets[0]
    second_request = 2  # the start was the first
    twice, after = marked_runner.run_pairs(
        [(misbehave("write_twice", second_request), target), (misbehave("echo", x=ARRAY), target)]
    )
    assert twice.status is Status.CRASHED
    assert twice.failure is not None
    assert "2 frames arrived, one answer to request 2 was expected" in twice.failure.message
    assert after.completed


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (misbehave("echo", x=np.array(["2020-01-01"], "datetime64[D]")), r"datetime64\[D\], which does not travel"),
        (misbehave("echo", {1, 2}), "the header is not JSON"),
    ],
    ids=["array", "argument"],
)
def test_a_request_that_does_not_travel_is_answered(marked_runner: LocalRunner, case: Case, reason: str) -> None:
    """Of the first request of a worker, which starts it, and of a later one; the worker is kept."""
    target = marked_runner.targets[0]
    pairs = [(case, target), (misbehave("look"), target), (case, target), (misbehave("look"), target)]
    first, one, second, other = marked_runner.run_pairs(pairs)
    for outcome in (first, second):
        assert outcome.status is Status.UNSUPPORTED
        assert outcome.failure is not None
        assert re.search(reason, outcome.failure.message)
        assert outcome.record.versions["numpy"] == np.__version__
    assert one.outputs["process"].tolist() == other.outputs["process"].tolist()


def test_a_request_beyond_the_cap_is_answered(marked_runner: LocalRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorparity.worker.protocol.MAX_BODY_BYTES", 1000)
    (outcome,) = marked_runner.run_pairs([(misbehave("echo", x=np.zeros(1000)), marked_runner.targets[0])])
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.failure is not None
    assert "8000 bytes is beyond the cap of 1000" in outcome.failure.message


# Limits


def test_the_deadline_counts_cpu_time(pair: LocalRunner) -> None:
    """Waiting is not working: on a loaded machine everything waits."""
    (asleep,) = pair.run_pairs([(misbehave("sleep", 2.0, x=ARRAY), VICTIM)])
    assert asleep.completed, asleep.failure
    (busy,) = pair.run_pairs([(misbehave("burn", 2.0, x=ARRAY), VICTIM)])
    assert busy.status is Status.TIMED_OUT


def test_doing_nothing_is_a_hang_long_before_the_wall_limit() -> None:
    limits = WorkerLimits(cpu_seconds=1.0, wall_factor=1000.0, start_cpu_seconds=20.0, idle_seconds=2.0)
    with external_runner(MISBEHAVING, ["misbehaving"], RunnerSettings(limits=limits, workers=1)) as runner:
        cases = [misbehave("sleep", 1.0, x=ARRAY), misbehave("burn", 0.5, x=ARRAY), misbehave("sleep")]
        asleep, busy, hung = runner.run_pairs([(case, "misbehaving") for case in cases])
    assert hung.status is Status.TIMED_OUT
    assert hung.failure is not None
    assert hung.failure.message == "no answer, and no CPU time used for 2 s"
    assert hung.seconds < 60
    assert asleep.completed
    assert busy.completed


def test_patience_with_doing_nothing_grows_with_the_deadline() -> None:
    limits = WorkerLimits()
    assert [limits.idle(seconds) for seconds in (1.0, 30.0, 120.0, 240.0, 1200.0)] == [5.0, 5.0, 20.0, 40.0, 60.0]


def test_a_hang_can_be_asked_again_with_more_time(pair: LocalRunner) -> None:
    (busy,) = pair.run_pairs([(misbehave("burn", 2.0, x=ARRAY), VICTIM)], deadline_factor=10)
    assert busy.completed, busy.failure


# Nothing survives


def _seen(alive: Alive, count: int) -> bool:
    """Whether so many are there within a few seconds: a child that was forked may not have its environment yet."""
    deadline = time.monotonic() + 5.0
    while len(alive()) != count and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(alive()) == count


@pytest.mark.parametrize("way", ["leave_child", "leave_session", "leave_daemon"])
def test_children_end_with_the_runner(marked_runner: LocalRunner, alive: Alive, gone: Gone, way: str) -> None:
    (outcome,) = marked_runner.run_pairs([(misbehave(way), marked_runner.targets[0])])
    assert outcome.completed
    assert _seen(alive, 3)  # guardian, worker, child: the search does see it
    marked_runner.close()
    assert gone(1) == []


@pytest.mark.parametrize("way", ["leave_daemon_and_spin", "leave_child_and_die", "bloat_in_daemon"])
def test_children_end_with_their_worker(marked_runner: LocalRunner, gone: Gone, way: str) -> None:
    (outcome,) = marked_runner.run_pairs([(misbehave(way), marked_runner.targets[0])])
    assert not outcome.completed
    assert gone(0) == []  # the outcome comes after the cleaning


def test_scratch_folders_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cases = [misbehave("segfault"), misbehave("kill_guardian"), misbehave("write_large_file", 32), misbehave("echo")]
    with external_runner(MISBEHAVING, ["misbehaving"], RunnerSettings(limits=_LIMITS, workers=1)) as runner:
        runner.run_pairs([(case, "misbehaving") for case in cases])
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


_LIMITS = WorkerLimits(cpu_seconds=1.0, start_cpu_seconds=20.0, file_bytes=16 << 20)

#: A user's program: it starts a worker that hangs, and is then ended from outside.
PROGRAM = textwrap.dedent(
    """
    import signal
    import sys
    from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave

    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores it
    way, marker = sys.argv[1:]
    target = f"misbehaving{{MARKER={marker}}}"
    with external_runner(MISBEHAVING, [target]) as runner:
        runner.run_pairs([(misbehave("leave_daemon"), target)])
        print("ready", flush=True)
        runner.run_pairs([(misbehave(way), target)])
    """
)


@pytest.fixture
def program(marker: str, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts the program with a way to hang; returns when the worker is in it."""
    started: list[subprocess.Popen[str]] = []

    def start(way: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, way, marker],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("way", ["sleep", "spin", "leave_daemon_and_spin", "ignore_signals"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda end: end.name)
def test_nothing_survives_the_parent(program, alive: Alive, gone: Gone, tmp_path: Path, way: str, end: int) -> None:
    """Kill -9 leaves the parent no last word, and a worker in C with the lock held cannot notice anything."""
    process = program(way)
    assert len(alive()) >= 4  # the program, the guardian, the worker, the daemon
    process.send_signal(end)
    ended = time.monotonic()
    assert process.wait(10) in (-end, 128 + end, 1)
    assert gone(5) == []
    assert time.monotonic() - ended < 5
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_reaches_the_caller_and_leaves_the_pool_usable(marked_runner: LocalRunner, gone: Gone) -> None:
    target = marked_runner.targets[0]
    answers = marked_runner.pool.ask([Request(target, {"do": "run", "case": misbehave("sleep").header()})])
    with pytest.raises(KeyboardInterrupt):
        _interrupted_after(0.5, lambda: next(answers))
    assert gone(0) == []
    (after,) = marked_runner.run_pairs([(misbehave("echo", x=ARRAY), target)])
    assert after.completed


def _interrupted_after(seconds: float, work: Callable[[], object]) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# What a worker sees of the world


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "HTTPS_PROXY", "PYTHONPATH"):
        monkeypatch.setenv(name, "/secret/of/the/parent")
    with external_runner(MISBEHAVING, ["misbehaving{OWN=1}"], RunnerSettings(limits=_LIMITS)) as runner:
        (outcome,) = runner.run_pairs([(misbehave("look"), runner.targets[0])])
    assert outcome.completed, outcome.failure
    return {name: array.tolist() for name, array in outcome.outputs.items()}


def test_the_worker_inherits_no_secrets(seen: dict[str, list[Any]]) -> None:
    names = {entry.partition("=")[0] for entry in seen["environment"]}
    assert not [entry for entry in seen["environment"] if "secret" in entry]
    assert names & {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "HTTPS_PROXY", "PYTHONPATH"} == set()
    assert {"OWN", "PATH", "OMP_NUM_THREADS"} <= names


def test_the_worker_lives_in_an_empty_scratch_folder(seen: dict[str, list[Any]]) -> None:
    assert seen["home"] == seen["folder"]
    assert seen["folder content"] == []
    assert "tensorparity-worker-" in seen["folder"][0]
    assert not Path(seen["folder"][0]).exists()


def test_the_worker_leads_its_group_and_dumps_no_core(seen: dict[str, list[Any]]) -> None:
    pid, group, parent = seen["process"]
    assert pid == group
    assert parent not in (1, os.getpid())
    assert seen["limits"] == ["core=0", f"file size={_LIMITS.file_bytes}"]


def test_the_worker_has_no_descriptors_but_its_own(seen: dict[str, list[Any]]) -> None:
    """Standard output and error, and the two of the protocol, moved out of the way."""
    assert seen["pipes"] == ["1", "2", "200", "201"]


# What cannot even start


@dataclass(frozen=True)
class BadStart:
    """What goes wrong while starting, and the patterns its message must have: what, and what to do."""

    start: str
    patterns: tuple[str, ...] = field(default_factory=tuple)

    def __str__(self) -> str:
        return self.start


BAD_STARTS = [
    BadStart("missing", ("no-such-library is not installed in this environment", "pip install")),
    BadStart("old", (r"numpy [\d.]+ is installed, this adapter needs 999\.1 or newer", "pip install")),
    BadStart("broken", ("starting it raised ImportError: libcudart", "tensorparity doctor")),
    BadStart("segfault", (r"ended while starting \(SIGSEGV\)", "tensorparity doctor")),
    BadStart("spin", (r"ended while starting \(past its deadline\)", "tensorparity doctor")),
    BadStart("other_version", ("protocol version 2 arrived, version 1 is spoken here", "tensorparity doctor")),
    BadStart("sideways", ("ValueError: start must be one of .* Received: sideways", "tensorparity doctor")),
]


@pytest.mark.parametrize("bad", BAD_STARTS, ids=str)
def test_a_worker_that_cannot_start_says_why_and_what_to_do(bad: BadStart) -> None:
    name = f"misbehaving{{start={bad.start}}}"
    limits = WorkerLimits(start_cpu_seconds=1.0)
    with external_runner(MISBEHAVING, [name, BYSTANDER], RunnerSettings(limits=limits)) as runner:
        pairs = [(misbehave("echo"), name), (misbehave("echo", x=ARRAY), BYSTANDER), (misbehave("echo"), name)]
        first, other, second = runner.run_pairs(pairs)
        error = runner.broken[name]
    assert isinstance(error, WorkerStartError)
    assert str(error).startswith(f"{name}: ")
    for pattern in bad.patterns:
        assert re.search(pattern, str(error)), str(error)
    for outcome in (first, second):  # the second is not tried again: it would only cost time
        assert outcome.status is Status.UNSUPPORTED
        assert outcome.failure is not None
        assert outcome.failure.message == error.reason
    assert other.completed


def test_a_start_that_was_too_slow_is_tried_once_more(tmp_path: Path) -> None:
    name = f"misbehaving{{start=spin_once,SPUN={tmp_path / 'started'}}}"
    limits = WorkerLimits(start_cpu_seconds=1.0)
    with external_runner(MISBEHAVING, [name], RunnerSettings(limits=limits)) as runner:
        (outcome,) = runner.run_pairs([(misbehave("echo", x=ARRAY), runner.targets[0])])
        assert runner.broken == {}
    assert outcome.completed, outcome.failure


def test_only_the_lasting_workers_say_that_a_target_is_broken() -> None:
    """A fresh worker that does not start in a confirmation is that run's outcome, not the target's end."""
    name = "misbehaving{start=broken}"
    with external_runner(MISBEHAVING, [name]) as runner:
        (fresh,) = runner.run_pairs([(misbehave("echo"), name)], fresh=True)
        assert runner.broken == {}
        runner.run_pairs([(misbehave("echo"), name)])
        assert set(runner.broken) == {name}
    assert fresh.status is Status.UNSUPPORTED


def test_the_error_reaches_whoever_asks_directly() -> None:
    name = "misbehaving{start=missing}"
    with external_runner(MISBEHAVING, [name]) as runner, pytest.raises(WorkerStartError, match="not installed"):
        runner.ask(name, {"do": "run"}, {}, 1.0)


def _start_with(python: str) -> str:
    """The message of a worker whose environment's interpreter is ``python``."""
    settings = RunnerSettings(limits=WorkerLimits(start_cpu_seconds=5.0))
    desk = PreparedTarget(parse_target("misbehaving"), settings, MISBEHAVING)
    desk.environment = Environment("elsewhere", python)
    with LocalRunner([desk], settings) as runner:
        ((_, reply),) = runner.pool.ask([Request("misbehaving", {"do": "run"})])
    assert reply.end is End.NOT_STARTED
    return str(reply.error)


def test_an_interpreter_that_has_vanished_is_named(tmp_path: Path) -> None:
    python = str(tmp_path / "bin" / "python")
    message = _start_with(python)
    assert f"its interpreter {python!r} cannot be run (No such file or directory)" in message
    assert "correct the environment's python in tensorparity.toml" in message


def test_an_interpreter_that_is_not_executable_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("no program")
    assert "cannot be run (Permission denied)" in _start_with(str(python))
    python.chmod(0o755)
    assert "cannot be run (Exec format error)" in _start_with(str(python))


def test_an_interpreter_that_is_no_python_is_noticed(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho this is not Python >&2\nexit 4\n")
    python.chmod(0o755)
    assert "ended while starting (exit code 4): this is not Python; 'tensorparity doctor'" in _start_with(str(python))


def test_a_declared_interpreter_must_exist(tmp_path: Path) -> None:
    config = tmp_path / "tensorparity.toml"
    config.write_text('[environments.legacy]\npython = "/no/such/python"\n')
    with pytest.raises(UsageError, match="no interpreter at '/no/such/python'; correct it in tensorparity.toml"):
        open_runner(["keras:jax@legacy"], RunnerSettings(config=config))
    with pytest.raises(UsageError, match=r"unknown environment 'other'; declared are: legacy. Add \[environments"):
        open_runner(["keras:jax@other"], RunnerSettings(config=config))


@pytest.mark.parametrize(
    ("target", "library"), [("keras:jax", "jax"), ("keras:torch", "torch"), ("onnxruntime", "onnxruntime")]
)
def test_a_real_adapter_without_its_library(tmp_path: Path, target: str, library: str) -> None:
    """An environment that has NumPy and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    packages = next((tmp_path / "bare" / "lib").glob("python*/site-packages"))
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    config = tmp_path / "tensorparity.toml"
    config.write_text(f'[environments.bare]\npython = "{python}"\n')
    with open_runner([f"{target}@bare"], RunnerSettings(config=config)) as runner:
        ((_, reply),) = runner.pool.ask([Request(f"{target}@bare", {"do": "run"})])
    assert f"{library} is not installed in this environment; {python} -m pip install" in str(reply.error)


def test_the_documentation_has_every_way() -> None:
    table = Path(__file__).parents[2].joinpath("docs", "ways-to-die.md").read_text()
    ways = {death.way for death in DEATHS} - {"no_such_way"} | {"die_later", "write_later", "burn"}
    assert {way for way in ways if f"`{way}`" not in table} == set()
