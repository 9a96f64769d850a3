"""Ctrl-C in every command that takes long: once ends with a report, twice at once; never a traceback, nothing is left.

Like a terminal, each signal goes to the whole process group of the command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tensorparity.cli.interrupts import INTERRUPTED

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.onnxruntime]

#: Each would go on for minutes.
COMMANDS = {
    "hunt": ("hunt", "--budget", "8m", "--targets", "torch:eager,onnxruntime"),
    "fuzz": ("fuzz", "--budget", "8m", "--targets", "torch:eager,onnxruntime"),
    "precision": ("precision", "--budget", "8m", "--targets", "torch:eager,onnxruntime"),
    "compare": (
        "compare",
        "zoo:resnet20",
        "--targets",
        "keras:torch,onnxruntime",
        "--localize",
        "always",
        "--no-cache",
    ),
    "mutate": ("mutate", "zoo:lenet5", "--budget", "8m", "--targets", "keras:torch,onnxruntime"),
    "equiv": ("equiv", "--budget", "8m", "--targets", "torch:eager"),
}
#: An interrupted run still confirms what it has convicted, in processes that import their library anew.
REPORTED, AT_ONCE = 240.0, 10.0
#: So long a command is left to work before it is interrupted.
_AT_WORK = 15.0


@contextmanager
def under_way(name: str, out: Path) -> Iterator[subprocess.Popen[str]]:
    """The command in a process group of its own, when its workers are at work."""
    run = [sys.executable, "-m", "tensorparity", *COMMANDS[name], "--format", "json", "--out", str(out)]
    with (out.with_suffix(".log")).open("w+") as log:
        process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        try:
            deadline = time.monotonic() + 120
            while not psutil.Process(process.pid).children() and time.monotonic() < deadline:
                time.sleep(0.2)
            time.sleep(_AT_WORK)
            assert process.poll() is None, f"{name} has ended by itself: {out.with_suffix('.log').read_text()}"
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def interrupt(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGINT)


def ends(process: subprocess.Popen[str], out: Path, seconds: float) -> tuple[str, str]:
    """What it said on both channels; it, and all that it started, is gone."""
    started = psutil.Process(process.pid).children(recursive=True)
    said, _ = process.communicate(timeout=seconds)
    _, left = psutil.wait_procs(started, timeout=10)
    assert not left
    log = out.with_suffix(".log").read_text()
    assert "Traceback" not in log
    return said, log


@pytest.mark.parametrize("name", COMMANDS)
def test_once_ends_with_a_report(name: str, tmp_path: Path, valid: Callable[[Any], Any]) -> None:
    out = tmp_path / "out"
    with under_way(name, out) as process:
        interrupt(process)
        said, log = ends(process, out, REPORTED)
    document = valid(json.loads(said))
    new = [finding for finding in document["findings"] if finding["class"] == "defect"]
    assert process.returncode == (1 if new else INTERRUPTED), log
    assert document["command"] == name
    assert (out / "report.html").exists()
    assert "Ctrl-C again ends at once" in log


@pytest.mark.parametrize("name", COMMANDS)
def test_twice_ends_at_once(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with under_way(name, out) as process:
        interrupt(process)
        time.sleep(0.5)
        interrupt(process)
        _, log = ends(process, out, AT_ONCE)
    assert process.returncode == INTERRUPTED, log
    assert log.splitlines()[-1] == "tensorparity: interrupted"
