"""Valid inputs as they ship inside a library, turned into calls; what could not be read is said."""

import contextlib
import sys
import types

from .forms import Arrays, FormError, to_form

#: Calls kept of one function, so that one with thousands of variants does not drown the others.
KEPT = 40


@contextlib.contextmanager
def standing_in(name):
    """Let an empty module stand in for a package that is not installed, as long as tests of a library are read.

    What only uses it inside of other tests can be imported then; afterwards nobody finds it.
    """
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
        try:
            yield
        finally:
            del sys.modules[name]
    else:
        yield


class Samples(object):
    """Calls with their arrays, and what was missing."""

    def __init__(self, convert, wanted=(), kept=KEPT):
        self._convert = convert
        self._wanted = frozenset(wanted)
        self._kept = kept
        self._calls = []
        self._counts = {}
        self._arrays = {}
        self.missing = []
        self.unwritten = 0

    def full(self, api):
        """Return whether no further call of a function is taken: there are enough, or nobody asked for it."""
        if self._wanted and api not in self._wanted:
            return True
        return self._counts.get(api, 0) >= self._kept

    def add(self, api, args, kwargs, source):
        """Take in one call of a function; returns whether it could be written down."""
        return self._take(api, source, lambda arrays: self._call(api, args, kwargs, arrays))

    def add_method(self, api, args, kwargs, source):
        name = "." + api.rsplit(".", 1)[-1]
        return self._take(api, source, lambda arrays: self._call(name, args, kwargs, arrays))

    def add_object(self, api, constructor, called, source):
        """Take in a class that is constructed and then called: both are (args, kwargs)."""

        def form(arrays):
            made = self._call(api, constructor[0], constructor[1], arrays)
            outer = self._call("()", called[0], called[1], arrays)
            return dict(outer, args=[{"$call": made}] + outer["args"])

        return self._take(api, source, form)

    def _take(self, api, source, form):
        if self.full(api):
            return False
        arrays = Arrays()
        try:
            call = form(arrays)
        except (FormError, ValueError, TypeError, RuntimeError):
            self.unwritten += 1
            return False
        place = str(len(self._calls))
        self._calls.append({"of": api, "source": source, "call": call, "arrays": sorted(arrays.found)})
        self._arrays.update({place + "/" + name: array for name, array in arrays.found.items()})
        self._counts[api] = self._counts.get(api, 0) + 1
        return True

    def _call(self, api, args, kwargs, arrays):
        return {
            "api": api,
            "args": [to_form(value, arrays, self._convert) for value in args],
            "kwargs": {key: to_form(value, arrays, self._convert) for key, value in kwargs.items()},
        }

    def reply(self):
        """Return (JSON, arrays)."""
        facts = {"samples": self._calls, "missing": self.missing, "unwritten": self.unwritten}
        return facts, self._arrays
