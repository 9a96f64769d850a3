"""The guardian: a small process between the host and one worker, run by path with ``-I -S``.

It exists so that nothing survives: it adopts every orphan below it (a subreaper), and kills the
worker with all it left behind when the host dies (the lifeline's other end closes), when the host
says so (any byte on the lifeline), or when the worker itself has ended. It reports the worker's
process id and how it ended as lines of JSON, and removes the scratch folder last.

Usage: guardian.py CONFIG, a JSON object: argv, env, cwd, scratch, lifeline, status, pass_fds,
file_size.
"""

import ctypes
import errno
import functools
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

#: Ctrl-C and a closing terminal are the host's business; it ends us by the lifeline.
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the process group alone has to do."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    except (AttributeError, OSError):
        pass


def report(fd: int, **line: object) -> None:
    try:
        os.write(fd, (json.dumps(line) + "\n").encode())
    except OSError:
        pass  # the host is gone; there is nobody to tell


def start_worker(config: Dict[str, Any]) -> Tuple[int, Any]:
    """Fork and exec the worker in a process group of its own; return its pid, and what failed if it did."""
    guardian = os.getpid()
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready)
        try:
            os.setpgid(0, 0)
            for name in IGNORED:
                signal.signal(name, signal.SIG_DFL)  # what is ignored stays ignored across exec
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guardian:
                os._exit(1)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if config["file_size"]:
                resource.setrlimit(resource.RLIMIT_FSIZE, (config["file_size"], config["file_size"]))
            os.chdir(config["cwd"])
            for fd in config["pass_fds"]:
                os.set_inheritable(fd, True)
            os.execve(config["argv"][0], config["argv"], config["env"])
        except Exception as error:  # also a ValueError: this process must never go on as a second guardian
            message = getattr(error, "strerror", None) or str(error)
            os.write(tell, json.dumps({"message": message}).encode())
        os._exit(127)
    os.close(tell)
    failed = os.read(ready, 4096)
    os.close(ready)
    return pid, json.loads(failed) if failed else None


def kill_everything(worker: int) -> Optional[int]:
    """Kill the worker's group and every descendant, adopted ones included; return the worker's status."""
    status = None
    for _ in range(200):
        _kill(lambda: os.killpg(worker, signal.SIGKILL))
        for child in children(os.getpid()):
            _kill(functools.partial(os.kill, child, signal.SIGKILL))
        try:
            while True:
                pid, ended = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == worker:
                    status = ended
        except ChildProcessError:
            return status
        time.sleep(0.01)
    return status


def _kill(action: Callable[[], None]) -> None:
    try:
        action()
    except OSError as error:
        if error.errno not in (errno.ESRCH, errno.EPERM):
            raise


def children(pid: int) -> List[int]:
    try:
        with open("/proc/{0}/task/{0}/children".format(pid)) as listing:
            return [int(word) for word in listing.read().split()]
    except OSError:
        return []


def watch(worker: int, lifeline: int, wakeup: int) -> Optional[int]:
    """Wait for the worker to end or the host to speak or vanish; return the worker's wait status or None."""
    while True:
        readable, _, _ = select.select([lifeline, wakeup], [], [], 1.0)
        if wakeup in readable:
            os.read(wakeup, 4096)
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == worker:
                    return status
        except ChildProcessError:
            return None
        if lifeline in readable:
            return None


def main() -> None:
    config = json.loads(sys.argv[1])
    status_fd, lifeline = config["status"], config["lifeline"]
    for fd in (status_fd, lifeline):
        os.set_inheritable(fd, False)  # the worker has no business on them
    for name in IGNORED:
        signal.signal(name, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup, wake = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    worker, failed = start_worker(config)
    for fd in config["pass_fds"]:
        os.close(fd)
    if failed:
        report(status_fd, failed=failed["message"])
    else:
        report(status_fd, pid=worker)
        status = watch(worker, lifeline, wakeup)
        killed = kill_everything(worker)
        status = killed if status is None else status
        if status is None:
            report(status_fd, lost=True)
        elif os.WIFSIGNALED(status):
            report(status_fd, signal=os.WTERMSIG(status))
        else:
            report(status_fd, exit=os.WEXITSTATUS(status))
    shutil.rmtree(config["scratch"], ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
