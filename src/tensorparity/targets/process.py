"""One worker process seen from the host: pipes that never block, and a watch on what it costs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from ..core.arrays import EXTENSION_DTYPES, Arrays
from ..worker import protocol

_HERE = Path(__file__).parent
_GUARDIAN = _HERE / "guardian.py"
WORKER_FOLDER = _HERE.parent / "worker"

#: Where a worker notes the node that it runs (see ``worker/contract``): a file beside its home.
_PLACE_VARIABLE, _PLACE = "TENSORPARITY_PLACE", "running-node"
#: Where a worker lives: an empty folder.
_HOME = "home"
_STDERR_TAIL = 32 << 10
_CHUNK = 1 << 20
_MOST = 64 << 20  # bytes per look: a worker that writes without end must not keep us from the other looks
_GUARDIAN_VARIABLES = ("PATH", "LD_LIBRARY_PATH")  # what an interpreter may need to start; no secret is among it
_AT_WORK = "RD"  # running or waiting for a processor; waiting for a disk
_CHILDREN_EVERY = 1.0  # listing children scans /proc, so not at every look


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a worker: interpreter and environment variables."""

    python: str
    variables: Mapping[str, str]
    file_bytes: int
    frame_bytes: int


@dataclass(frozen=True, slots=True)
class Ending:
    """How a worker ended: by signal, by exit code, or it never began."""

    signal: int | None = None
    exit: int | None = None
    failed: str | None = None

    def __str__(self) -> str:
        if self.failed is not None:
            return self.failed
        if self.signal is not None:
            return _signal_name(self.signal)
        return f"exit code {self.exit}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names but the first and the last
        return f"signal {number}"


class WorkerProcess:
    """A started worker. Not thread-safe; the pool's loop is its only user.

    ``pump_in`` and ``pump_out`` do as much as is possible without blocking. A worker that dies
    shows as ``ending``; what it wrote last to standard error is ``stderr_tail``.
    """

    def __init__(self, launch: Launch) -> None:
        self.scratch = tempfile.mkdtemp(prefix="tensorparity-worker-")
        self._home = os.path.join(self.scratch, _HOME)
        os.mkdir(self._home)
        self._place = os.path.join(self.scratch, _PLACE)
        self.ending: Ending | None = None
        self.pid: int | None = None
        self._outgoing: deque[memoryview] = deque()
        self._reader = protocol.FrameReader(EXTENSION_DTYPES, max_body=launch.frame_bytes)
        self._stderr = bytearray()
        self._status_text = b""
        self._children: list[psutil.Process] = []
        self._children_seen = 0.0
        self._process: psutil.Process | None = None
        self._closed = False
        self._ended_fds: set[int] = set()
        self._spawn(launch)

    def _spawn(self, launch: Launch) -> None:
        request_read, self.request_fd = os.pipe()
        self.response_fd, response_write = os.pipe()
        self.status_fd, status_write = os.pipe()
        self.stderr_fd, stderr_write = os.pipe()
        lifeline_read, self._lifeline = os.pipe()
        variables = {**launch.variables, "HOME": self._home, "TMPDIR": self._home, _PLACE_VARIABLE: self._place}
        bootstrap = (WORKER_FOLDER / "bootstrap.py").read_text()
        config = {
            "argv": [launch.python, "-c", bootstrap, str(WORKER_FOLDER), str(request_read), str(response_write)],
            "env": variables,
            "cwd": self._home,
            "scratch": self.scratch,
            "lifeline": lifeline_read,
            "status": status_write,
            "pass_fds": [request_read, response_write],
            "file_size": launch.file_bytes,
        }
        theirs = (request_read, response_write, status_write, lifeline_read)
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARDIAN), json.dumps(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr_write,
            pass_fds=theirs,
            start_new_session=True,
            env={name: os.environ[name] for name in _GUARDIAN_VARIABLES if name in os.environ},
        )
        for fd in (*theirs, stderr_write):
            os.close(fd)
        for fd in (self.request_fd, self.response_fd):
            _widen(fd)
        for fd in (self.request_fd, self.response_fd, self.status_fd, self.stderr_fd):
            os.set_blocking(fd, False)

    @property
    def running_node(self) -> str | None:
        """The node that the worker says it is at."""
        with contextlib.suppress(OSError, UnicodeDecodeError), open(self._place, "rb") as file:
            return file.read().rstrip(b"\0").decode() or None
        return None

    @property
    def alive(self) -> bool:
        return self.ending is None and not self._closed

    @property
    def wants_to_write(self) -> bool:
        return bool(self._outgoing)

    @property
    def stderr_tail(self) -> str:
        return bytes(self._stderr).decode("utf-8", "replace")

    def send(self, request_id: int, header: Mapping[str, Any], arrays: Arrays) -> None:
        self._outgoing.extend(protocol.encode(protocol.REQUEST, request_id, header, arrays))

    def pump_out(self) -> None:
        """Write what fits into the pipe."""
        while self._outgoing:
            try:
                protocol.write_some(self.request_fd, self._outgoing)
            except BlockingIOError:
                return
            except OSError:  # the worker is gone; its ending is on the status pipe
                self._outgoing.clear()
                return

    def pump_in(self) -> list[protocol.Frame]:
        """Read what is there, up to a limit.

        Raises:
            protocol.ProtocolError: if it is not ours.
        """
        frames: list[protocol.Frame] = []
        total = 0
        while total < _MOST:
            wanted = self._reader.wanted()
            count = 0
            if len(wanted):
                try:
                    count = os.readv(self.response_fd, [wanted[: 4 * _CHUNK]])
                except OSError:
                    return frames
                if count == 0:
                    self._ended_fds.add(self.response_fd)
                    return frames
            total += count
            frame = self._reader.advance(count)
            if frame is not None:
                frames.append(frame)
        return frames

    def silent(self) -> bool:
        """Whether nothing has arrived since the last frame; what an idle worker must be."""
        try:
            return not self.pump_in() and self._reader.idle
        except protocol.ProtocolError:
            return False

    def pump_stderr(self) -> None:
        data = self._drain(self.stderr_fd)
        if data:
            self._stderr += data
            del self._stderr[:-_STDERR_TAIL]

    def forget_stderr(self) -> None:
        """What was written so far belongs to earlier requests."""
        self.pump_stderr()
        self._stderr.clear()

    def pump_status(self) -> None:
        """Learn the pid, or how the worker ended."""
        gone = self._guardian.poll() is not None  # asked first: its last words may still be in the pipe
        self._status_text += self._drain(self.status_fd)
        *lines, self._status_text = self._status_text.split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "pid" in said:
                self.pid = said["pid"]
            else:
                lost = "its guardian lost sight of it" if "lost" in said else None
                self.ending = Ending(said.get("signal"), said.get("exit"), said.get("failed", lost))
        if self.ending is None and gone:
            self.ending = Ending(failed="its guardian was killed")

    def cost(self) -> tuple[float, int]:
        """CPU seconds so far and resident bytes now, of the worker and all it started.

        Looked for below the guardian, not below the worker: a daemon has left the worker's tree.
        """
        if self.pid is None:
            return 0.0, 0
        try:
            if self._process is None:
                self._process = psutil.Process(self.pid)
            now = time.monotonic()
            if now - self._children_seen > _CHILDREN_EVERY:
                below = psutil.Process(self._guardian.pid).children(recursive=True)
                self._children = [child for child in below if child.pid != self.pid]
                self._children_seen = now
            seconds, resident = _cost_of(self._process)
        except psutil.Error:
            return 0.0, 0
        for child in self._children:
            with contextlib.suppress(psutil.Error):
                more_seconds, more_resident = _cost_of(child)
                seconds, resident = seconds + more_seconds, resident + more_resident
        return seconds, resident

    def asleep(self) -> bool:
        """Whether nothing of the worker runs, waits for a processor or waits for a disk; True where nobody can tell."""
        if self.pid is None:
            return True
        pids = [self.pid, *(child.pid for child in self._children)]
        return not any(state in _AT_WORK for pid in pids for state in _thread_states(pid))

    def kill(self) -> None:
        """End the worker and all below it; returns at once, the ending arrives on the status pipe."""
        with contextlib.suppress(OSError):
            os.write(self._lifeline, b"k")

    def close(self, patience: float = 5.0) -> None:
        """Kill, wait for the guardian, remove the scratch folder, free the descriptors. Safe to call twice."""
        if self._closed:
            return
        self.kill()
        deadline = time.monotonic() + patience
        while self._guardian.poll() is None and time.monotonic() < deadline:
            self.pump_stderr()  # a full pipe would hold the guardian back
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guardian.wait(0.02)
        if self._guardian.poll() is None:
            self._guardian.kill()
            self._guardian.wait()
        self.pump_stderr()
        self.pump_status()
        if os.path.exists(self.scratch):  # the guardian did not come to it: it was killed
            self._clean_up_alone()
        self._closed = True
        for fd in (self.request_fd, self.response_fd, self.status_fd, self.stderr_fd, self._lifeline):
            os.close(fd)

    def _clean_up_alone(self) -> None:
        if self.pid is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def descriptors(self) -> Sequence[int]:
        """What to wait for; a pipe at its end would be readable for ever, so it is left out."""
        return [fd for fd in (self.response_fd, self.status_fd, self.stderr_fd) if fd not in self._ended_fds]

    def _drain(self, fd: int) -> bytes:
        parts: list[bytes] = []
        total = 0
        while total < _MOST:
            try:
                data = os.read(fd, _CHUNK)
            except OSError:
                break
            if not data:
                self._ended_fds.add(fd)
                break
            parts.append(data)
            total += len(data)
        return b"".join(parts)


def _widen(fd: int) -> None:
    """A pipe of 64 KiB makes both sides wait for each other all the time; this doubles the throughput."""
    with contextlib.suppress(AttributeError, OSError):  # Linux only, and within the user's quota
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _CHUNK)


def _thread_states(pid: int) -> list[str]:
    """The state of each thread, as Linux abbreviates it; nothing on other systems, or where it has ended."""
    states: list[str] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                states.append(chr(file.read().rpartition(b") ")[2][0]))
    return states


def _cost_of(process: psutil.Process) -> tuple[float, int]:
    with process.oneshot():
        times = process.cpu_times()
        ended = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        return times.user + times.system + ended, process.memory_info().rss
