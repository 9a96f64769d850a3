"""Ctrl-C in a process of its own: once it is an exception, twice the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

_PROGRAM = """
import time
from tensorparity.cli.interrupts import two_interrupts
import tensorparity.triage.reproduce.scripts
with two_interrupts():
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("reporting", flush=True)
        time.sleep({seconds})
    print("ended", flush=True)
"""


@pytest.mark.parametrize(("interrupts", "code", "said"), [(1, 0, ["reporting", "ended"]), (2, 3, ["reporting"])])
def test_once_ends_with_a_report_twice_at_once(interrupts: int, code: int, said: list[str]) -> None:
    program = textwrap.dedent(_PROGRAM).format(seconds=0 if interrupts == 1 else 60)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        lines = []
        process.send_signal(signal.SIGINT)
        lines.append(process.stdout.readline().strip())
        if interrupts == 2:
            process.send_signal(signal.SIGINT)
        out, err = process.stdout.read(), process.stderr.read()  # communicate() would not see what is buffered
        process.wait(timeout=60)
    assert (process.returncode, lines + out.split()) == (code, said)
    assert "Traceback" not in err
    assert err.splitlines()[0].endswith("(press Ctrl-C again to end at once)")
    assert err.splitlines()[-1].endswith("interrupted") is (interrupts == 2)
