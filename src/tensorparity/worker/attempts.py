"""Trying calls of unknown functions: each group of calls in a forked child, so that one that dies costs itself alone.

The library is imported once; its runtime is never touched in this process, for a runtime with threads does not survive
a fork. Only whether a call was accepted comes back, and how it failed otherwise.
"""

import json
import os
import resource
import select
import signal
import sys

from .contract import Job, Unsupported

_LONGEST_MESSAGE = 300
_MORE_MEMORY = 4 << 30
#: Silence of so many times the CPU time of a call is a hang: whoever sleeps uses none, and machines have other work.
_PATIENCE = 15


def attempt_groups(adapter, groups, seconds):
    """Return for each group of jobs a list of ``[how, type, message]``; a call may use ``seconds`` of CPU time."""
    if not hasattr(os, "fork"):
        raise Unsupported("calls are tried in forked processes, which this system does not have")
    return [_attempt_group(adapter, jobs, seconds) for jobs in groups]


def _attempt_group(adapter, jobs, seconds):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _run_in_child(adapter, jobs, seconds, write)
    os.close(write)
    text, late = _read_all(read, seconds * _PATIENCE)
    os.close(read)
    if late:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    results = [json.loads(line) for line in text.decode("utf-8", "replace").splitlines() if line.endswith("]")]
    if len(results) < len(jobs):
        results.append(_ending(status, late))
    return results


def _read_all(descriptor, seconds):
    """Return what the child wrote, and whether it was silent for too long."""
    found = []
    while True:
        ready, _, _ = select.select([descriptor], [], [], seconds)
        if not ready:
            return b"".join(found), True
        data = os.read(descriptor, 1 << 16)
        if not data:
            return b"".join(found), False
        found.append(data)


def _ending(status, late):
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return ["timed out", "deadline", ""]
    if os.WIFSIGNALED(status):
        return ["crashed", signal.Signals(os.WTERMSIG(status)).name, ""]
    return ["crashed", "exit {}".format(os.WEXITSTATUS(status)), ""]


def _run_in_child(adapter, jobs, seconds, write):
    """Run the jobs, writing a line for each; never returns."""
    try:
        _limit_memory()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        for job in jobs:
            _limit_time(seconds)
            line = json.dumps(_attempt(adapter, job)) + "\n"
            os.write(write, line.encode("utf-8"))
    finally:
        os._exit(0)


def _limit_time(seconds):
    """Let the next call use so much CPU time; past it the process dies by SIGXCPU."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def _limit_memory():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _MORE_MEMORY, used + _MORE_MEMORY))


def _attempt(adapter, job):
    try:
        adapter.run(job)
    except BaseException as error:
        how = "unsupported" if isinstance(error, Unsupported) else "raised"
        return [how, type(error).__name__, str(error)[:_LONGEST_MESSAGE]]
    return ["completed", "", ""]


def jobs_of(header, arrays):
    """Return the groups of jobs of a request; array names begin with the case's place."""
    own = {}
    for name, array in arrays.items():
        place, _, rest = name.partition("/")
        own.setdefault(int(place), {})[rest] = array
    jobs, place = [], 0
    for group in header["groups"]:
        jobs.append([])
        for case in group:
            jobs[-1].append(Job(case, own.get(place, {})))
            place += 1
    return jobs
