"""An adapter that misbehaves on demand: every way a library takes its process down, or tries to.

A worker loads it by its path, as it loads any third party's adapter, so this file is also the example of
one. It needs nothing but NumPy and runs on every Python from 3.6 on. ``ApiCall("misbehave.WAY")`` does
what the function WAY below says; the option ``start=WHAT`` of the target does it while starting.
"""

# ruff: noqa: UP006, UP035 (Python 3.6 subscripts only the names of ``typing``)

import contextlib
import ctypes
import fcntl
import itertools
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List

import numpy as np
from tensorparity_worker import protocol  # type: ignore[import-not-found]
from tensorparity_worker.contract import (  # type: ignore[import-not-found]
    Adapter,
    LibraryMissing,
    Result,
    Unsupported,
    import_library,
)

PREFIX = "misbehave."
FOREVER = 3600.0
MEGABYTE = 1 << 20

Arrays = Dict[str, Any]


def make_adapter(flavour: str, options: Dict[str, str]) -> "Misbehaving":
    """Return the adapter; what a worker calls first."""
    return Misbehaving(flavour, options)


class Misbehaving(Adapter):  # type: ignore[misc]
    """Runs calls of the functions in ``WAYS``, and nothing else."""

    ABILITIES = frozenset(["call", "api-call"])

    def start(self) -> None:
        how = self.options.get("start", "well")
        if how not in STARTS:
            raise ValueError(f"start must be one of {sorted(STARTS)}. Received: {how}")
        STARTS[how]()

    def run(self, job: Any) -> Any:
        if job.subject["kind"] != "api-call":
            raise Unsupported(f"misbehaving runs single calls, not {job.subject['kind']}")
        name = job.subject["api"]
        way = WAYS.get(name[len(PREFIX) :]) if name.startswith(PREFIX) else None
        if way is None:
            raise Unsupported(f"{name} does not exist; there are {sorted(WAYS)}")
        result = Result()
        result.outputs = way(job.inputs, *job.subject["args"])
        return result

    def record(self) -> Any:
        if _BROKEN_RECORD:
            raise RuntimeError("the library no longer tells its version")
        return Adapter.record(self)


_BROKEN_RECORD: List[bool] = []


# Well-behaved: what the next case is, and what shows the worker's circumstances


def echo(inputs: Arrays) -> Arrays:
    return dict(inputs)


def look(inputs: Arrays) -> Arrays:
    """What the worker sees of the world, as strings."""
    limits = {"core": resource.RLIMIT_CORE, "file size": resource.RLIMIT_FSIZE}
    open_pipes = [fd for fd in os.listdir("/proc/self/fd") if _is_pipe(int(fd))]
    return {
        "environment": _strings(f"{name}={value}" for name, value in os.environ.items()),
        "home": _strings([os.path.expanduser("~")]),
        "folder": _strings([os.getcwd()]),
        "folder content": _strings(os.listdir(".")),
        "path": _strings(sys.path),
        "modules": _strings(sys.modules),
        "pipes": _strings(sorted(open_pipes)),
        "process": np.array([os.getpid(), os.getpgid(0), os.getppid()]),
        "limits": _strings(f"{name}={resource.getrlimit(limits[name])[0]}" for name in sorted(limits)),
        "signals": _strings(str(signal.getsignal(getattr(signal, name))) for name in ("SIGTERM", "SIGINT", "SIGHUP")),
    }


def burn(inputs: Arrays, seconds: float) -> Arrays:
    """Spend CPU time, then answer."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return echo(inputs)


# Exceptions


def raise_error(inputs: Arrays) -> Arrays:
    raise ValueError("the kernel does not like these values")


def raise_memory_error(inputs: Arrays) -> Arrays:
    raise MemoryError("std::bad_alloc")


def raise_system_exit(inputs: Arrays) -> Arrays:
    sys.exit("a library that calls sys.exit")


def raise_keyboard_interrupt(inputs: Arrays) -> Arrays:
    raise KeyboardInterrupt


def raise_unprintable(inputs: Arrays) -> Arrays:
    raise _UnprintableError


class _UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this works")


def raise_library_missing(inputs: Arrays) -> Arrays:
    """A part of the library that is imported late and is not installed."""
    raise LibraryMissing("an extension module is not installed in this environment")


def recurse(inputs: Arrays) -> Arrays:
    return recurse(inputs)


def break_record(inputs: Arrays) -> Arrays:
    """Answer, but leave the library unable to say what it is."""
    _BROKEN_RECORD.append(True)
    return echo(inputs)


def return_untravelled(inputs: Arrays) -> Arrays:
    """Answer with an array of a dtype that the protocol does not carry."""
    return {"0": np.array(["2020-01-01"], "datetime64[D]")}


# Sudden deaths


def segfault(inputs: Arrays) -> Arrays:
    ctypes.string_at(0)
    return {}


def abort(inputs: Arrays) -> Arrays:
    """End as C++ does when nobody catches: a last word on standard error, then SIGABRT."""
    os.write(2, b"terminate called after throwing an instance of 'std::runtime_error'\n")
    os.abort()


def exit_at_once(inputs: Arrays, code: int) -> Arrays:
    os._exit(code)


def signal_itself(inputs: Arrays, number: int) -> Arrays:
    os.kill(os.getpid(), number)
    time.sleep(FOREVER)
    return {}


def kill_guardian(inputs: Arrays) -> Arrays:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(FOREVER)
    return {}


def die_later(inputs: Arrays, seconds: float) -> Arrays:
    """Answer, and die of a background thread when nobody asks anything."""
    _later(seconds, os.abort)
    return echo(inputs)


# No end


def spin(inputs: Arrays) -> Arrays:
    """Loop inside C with the interpreter's lock held: no Python code of the worker ever runs again."""
    sum(itertools.repeat(0))
    return {}


def sleep(inputs: Arrays, seconds: float = FOREVER) -> Arrays:
    """Wait without spending CPU time, then answer."""
    time.sleep(seconds)
    return echo(inputs)


def ignore_signals(inputs: Arrays) -> Arrays:
    """Hang, deaf to every polite request to end."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    return spin(inputs)


def bloat(inputs: Arrays) -> Arrays:
    """Fill memory, page by page, until somebody stops it."""
    hoard = []
    while True:
        hoard.append(np.ones(8 * MEGABYTE, np.uint8))


def bloat_in_daemon(inputs: Arrays) -> Arrays:
    """Fill memory in a process that has left the worker's tree."""
    _daemon(lambda: bloat({}))
    time.sleep(FOREVER)
    return {}


def write_large_file(inputs: Arrays, megabytes: int) -> Arrays:
    with open("large", "wb") as file:
        for _ in range(megabytes):
            file.write(bytes(MEGABYTE))
    return {}


# Children left behind


def leave_child(inputs: Arrays) -> Arrays:
    _sleeper()
    return echo(inputs)


def leave_session(inputs: Arrays) -> Arrays:
    """A child that leads a session of its own, out of reach of the process group."""
    _sleeper(start_new_session=True)
    return echo(inputs)


def leave_daemon(inputs: Arrays) -> Arrays:
    """Fork twice without exec: not our child any more, and it still holds every descriptor."""
    _daemon(lambda: time.sleep(FOREVER))
    return echo(inputs)


def leave_daemon_and_spin(inputs: Arrays) -> Arrays:
    leave_daemon(inputs)
    return spin(inputs)


def leave_child_and_die(inputs: Arrays) -> Arrays:
    _sleeper()
    os.abort()


# On the protocol's pipe


def write_garbage(inputs: Arrays) -> Arrays:
    _write(b"Intel MKL FATAL ERROR: cannot load libmkl_avx512.so\n" * 100)
    return echo(inputs)


def write_huge_frame(inputs: Arrays) -> Arrays:
    """Announce a body of 2**62 bytes."""
    _write(_preamble(body=1 << 62))
    return echo(inputs)


def write_other_version(inputs: Arrays) -> Arrays:
    _write(_preamble(version=protocol.VERSION + 1))
    return echo(inputs)


def write_stray_frame(inputs: Arrays) -> Arrays:
    """A whole frame, but the answer to nothing that was asked."""
    for view in protocol.encode(protocol.RESPONSE, 10**9, {"status": "completed", "record": {}}):
        _write(bytes(view))
    return echo(inputs)


def write_twice(inputs: Arrays, request_id: int) -> Arrays:
    """Answer the request, and again in the same breath."""
    answer = b"".join(protocol.encode(protocol.RESPONSE, request_id, {"status": "completed", "record": {}}))
    _write(answer * 2)
    time.sleep(FOREVER)
    return {}


def write_half_frame(inputs: Arrays) -> Arrays:
    _write(_preamble(body=MEGABYTE) + b"{")
    os._exit(0)


def write_later(inputs: Arrays, seconds: float) -> Arrays:
    """Answer, and write garbage on the pipe when nobody asks anything."""
    _later(seconds, lambda: _write(b"late words"))
    return echo(inputs)


def close_pipe(inputs: Arrays) -> Arrays:
    os.close(_protocol_descriptor())
    return echo(inputs)


# On the other descriptors


def chatter(inputs: Arrays, megabytes: int) -> Arrays:
    """Talk on both streams, through Python, through C's buffers and through the bare descriptors."""
    line = "W0000 a library that talks too much\n"
    library = ctypes.CDLL(None)
    for _ in range(megabytes * MEGABYTE // (5 * len(line))):
        sys.stdout.write(line)
        sys.stderr.write(line)
        os.write(1, line.encode())
        os.write(2, line.encode())
        library.printf(line.encode())
    library.fflush(None)
    return echo(inputs)


def chatter_forever(inputs: Arrays) -> Arrays:
    line = b"retrying\n" * 4096
    while True:
        os.write(2, line)


def close_streams(inputs: Arrays) -> Arrays:
    sys.stdout.close()
    sys.stderr.close()
    for fd in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(fd)
    return echo(inputs)


# While starting


def _start_well() -> None:
    pass


def _start_missing() -> None:
    import_library("tensorparity_no_such_library", "no-such-library")


def _start_old() -> None:
    import_library("numpy", least=(999, 1))


def _start_broken() -> None:
    """What a library with a broken shared object does to ``import``."""
    raise ImportError("libcudart.so.12: cannot open shared object file: No such file or directory")


def _start_segfault() -> None:
    ctypes.string_at(0)


def _start_spin() -> None:
    sum(itertools.repeat(0))


def _start_spin_once() -> None:
    """Hang unless the file SPUN is there, as a start does that met a loaded machine; leave it behind."""
    marker = os.environ["SPUN"]
    if os.path.exists(marker):
        return
    with open(marker, "w"):
        pass
    _start_spin()


def _start_other_version() -> None:
    _write(_preamble(version=protocol.VERSION + 1))


# What the ways are made of


def _strings(items: Any) -> Any:
    found = [str(item) for item in items]
    array = np.empty(len(found), object)
    array[:] = found
    return array


def _sleeper(**how: Any) -> None:
    subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({FOREVER})"], **how)


def _daemon(work: Callable[[], Any]) -> None:
    """Run ``work`` in a process whose parent has ended and which leads its own session."""
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    os.setsid()
    if os.fork() == 0:
        work()
    os._exit(0)


def _later(seconds: float, work: Callable[[], Any]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


def _is_pipe(fd: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")
    except OSError:
        return False


def _protocol_descriptor() -> int:
    """Find the descriptor answers are written to: of the pipes moved out of the way, the one for writing."""
    moved = [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 100]
    return next(fd for fd in moved if _is_pipe(fd) and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_WRONLY)


def _write(data: bytes) -> None:
    fd = _protocol_descriptor()
    while data:
        data = data[os.write(fd, data) :]


def _preamble(version: int = protocol.VERSION, body: int = 0) -> bytes:
    return struct.pack("<4sHHQIQI", protocol.MAGIC, version, protocol.RESPONSE, 1, 2, body, 0)


_FUNCTIONS = (
    (echo, look, burn)
    + (raise_error, raise_memory_error, raise_system_exit, raise_keyboard_interrupt, raise_unprintable)
    + (raise_library_missing, recurse, break_record, return_untravelled)
    + (segfault, abort, exit_at_once, signal_itself, kill_guardian, die_later)
    + (spin, sleep, ignore_signals, bloat, bloat_in_daemon, write_large_file)
    + (leave_child, leave_session, leave_daemon, leave_daemon_and_spin, leave_child_and_die)
    + (write_garbage, write_huge_frame, write_other_version, write_stray_frame, write_twice, write_half_frame)
    + (write_later, close_pipe, chatter, chatter_forever, close_streams)
)

#: What may be called, by name.
WAYS: Dict[str, Callable[..., Arrays]] = {function.__name__: function for function in _FUNCTIONS}

#: What may happen while starting, by the value of the option ``start``.
STARTS: Dict[str, Callable[[], None]] = {
    "well": _start_well,
    "missing": _start_missing,
    "old": _start_old,
    "broken": _start_broken,
    "segfault": _start_segfault,
    "spin": _start_spin,
    "spin_once": _start_spin_once,
    "other_version": _start_other_version,
}
