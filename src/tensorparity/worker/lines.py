"""Which Python lines of a package a worker has executed, on request: it makes everything slower.

Tracing begins before the library is imported, so that definitions count, as they do with other tools. A function whose
lines have all been seen is not looked at again, which is what makes it bearable.
"""

import dis
import importlib.util
import os
import sys
import threading


class LineCoverage(object):
    """Records the executed lines of one package, tests that it ships aside."""

    def __init__(self, package):
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise ValueError("{!r} is not an installed package".format(package))
        self._root = os.path.realpath(list(spec.submodule_search_locations)[0]) + os.sep
        self._open = {}  # code object: its lines not seen yet
        self._seen = {}  # file: its lines that were

    def start(self):
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame, event, argument):
        code = frame.f_code
        missing = self._open.get(code)
        if missing is None:
            if not code.co_filename.startswith(self._root):
                return None
            missing = self._open[code] = set(_own_lines(code))
        return self._line if missing else None

    def _line(self, frame, event, argument):
        if event == "line":
            self._open[frame.f_code].discard(frame.f_lineno)
            self._seen.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self._line

    def report(self):
        """Return ``[executed, all]`` lines for each file of the package, by its path in it."""
        found = {}
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".py") and not name.endswith("_test.py"):
                    lines = _all_lines(path)
                    found[path[len(self._root) :]] = [len(lines & self._seen.get(path, set())), len(lines)]
        return found


def _own_lines(code):
    return [line for _, line in dis.findlinestarts(code) if line]


def _all_lines(path):
    """Return every line of a file that can be executed."""
    with open(path, "rb") as stream:
        try:
            waiting = [compile(stream.read(), path, "exec", dont_inherit=True)]
        except SyntaxError:  # a template, or of another Python
            return set()
    lines = set()
    while waiting:
        code = waiting.pop()
        lines.update(_own_lines(code))
        waiting.extend(constant for constant in code.co_consts if hasattr(constant, "co_code"))
    return lines
