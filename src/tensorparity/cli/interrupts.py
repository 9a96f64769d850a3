"""Ctrl-C: once ends a run with its report, twice at once and without a word more than that."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: What an interrupted run ends with.
INTERRUPTED = 3
_ONCE = "tensorparity: interrupted; ending with what was found so far (press Ctrl-C again to end at once)\n"
_TWICE = "tensorparity: interrupted\n"
#: Gives a terminal its cursor back, which a live view has hidden.
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def two_interrupts() -> Iterator[None]:
    """The first Ctrl-C raises KeyboardInterrupt, as ever; the second ends the process, and with it every worker."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    count = 0

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            _end()
        _say(_ONCE)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end() -> None:
    """Without waiting for threads: workers die with their parent (their guardians see to that)."""
    from ..triage.reproduce.scripts import end_scripts

    end_scripts()
    _say((_SHOW_CURSOR if sys.stderr.isatty() else "") + _TWICE)
    os._exit(INTERRUPTED)


def _say(text: str) -> None:
    """Straight to the descriptor: what was interrupted may be in the middle of a write."""
    os.write(2, text.encode())
