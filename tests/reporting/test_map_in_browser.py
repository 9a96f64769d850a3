"""The localization map in a real browser: drawn, searched, clicked, zoomed; harmless; fast with a thousand layers."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorparity.core.jsontext import Json
from tensorparity.reporting import html
from tensorparity.reporting.facts import Facts

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe", "--window-size=1280,900", "--hide-scrollbars",
)  # fmt: skip
Sample = Callable[[str], Facts]


class Browser:
    """Chromium through the two pipes of its DevTools protocol; no port, no driver."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]

        def connect() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=connect,
            pass_fds=(3, 4, *ends),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        self._ids = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None
        self.errors: list[str] = []

    def close(self) -> None:
        for end in (self._out, self._in):
            os.close(end)
        self._process.kill()
        self._process.wait()

    def call(self, method: str, **parameters: Json) -> Json:
        """One command and its answer; events on the way are kept if they tell of an error."""
        ident = next(self._ids)
        message = {"id": ident, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]))
            if answer.get("id") == ident:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> Any:
        while b"\0" not in self._buffer:
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser is gone"
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def open(self, page: str, folder: Path) -> None:
        file = folder / "report.html"
        file.write_text(page, encoding="utf-8")
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.navigate", url=file.as_uri())
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def run(self, code: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, condition
            time.sleep(0.02)

    def mouse(self, kind: str, x: float, y: float, **more: Json) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
