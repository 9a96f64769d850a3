"""What native libraries share: single calls of public functions, as they are or compiled."""

import importlib
import json
import types

from ..contract import Adapter, Result, Unsupported
from .call_runs import CallRuns, is_varied
from .expressions import Expression, Pack, outputs_of

_KEPT = 64


class NativeAdapter(Adapter):
    """A library whose functions are called by name; subclasses say what a tensor is and how to compile."""

    ABILITIES = frozenset(["call", "api-call", "dtype", "pack"])
    #: Where the public names of the library begin.
    PREFIXES = ()
    #: The flavour that compiles nothing.
    EAGER = "eager"

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self._compiled = {}
        self._pack = ("", None)
        self._runs = CallRuns(self.ways())

    def ways(self):
        """Return how the library runs calls."""
        raise NotImplementedError

    def run(self, job):
        self._check(job)
        if is_varied(job):
            return self._runs.run(job)
        with self.context(job):
            expression = self._expression(job.subject)
            values = self.evaluate(expression, self._tensors(expression, job))
            return self._result(job, self._runs.ways.leaves(values))

    def run_pack(self, jobs):
        for job in jobs:
            self._check(job)
        if is_varied(jobs[0]):
            return self._runs.run_pack(jobs)
        if self.flavour == self.EAGER:
            raise Unsupported("this flavour compiles nothing by itself")
        with self.context(jobs[0]):
            pack = self._packed([job.subject for job in jobs])
            tensors = {str(place): self._tensors(pack.expressions[place], job) for place, job in enumerate(jobs)}
            return [self._result(job, values) for job, values in zip(jobs, self.evaluate(pack, tensors))]

    def _check(self, job):
        if job.subject["kind"] != "api-call":
            raise Unsupported("this target runs single calls, not {}".format(job.subject["kind"]))
        if job.goal != "call":
            raise Unsupported("goal {!r} is not supported by this target".format(job.goal))

    def _tensors(self, expression, job):
        tensors = expression.tensors(job.inputs, self.to_tensor)
        if job.option("dtype"):
            tensors = {key: self.cast(tensor, job.option("dtype")) for key, tensor in tensors.items()}
        return tensors

    def _result(self, job, values):
        result = Result()
        result.outputs = outputs_of(job, [self._runs.ways.to_numpy(value) for value in values])
        return result

    def _expression(self, subject):
        """Keep expressions: compilers know again what they have compiled by the function's identity."""
        key = json.dumps(subject, sort_keys=True)
        if key not in self._compiled:
            if len(self._compiled) >= _KEPT:
                self._compiled.clear()
                self.forget()
            self._compiled[key] = Expression(subject, self.PREFIXES, resolve, self._runs.ways.dtype)
        return self._compiled[key]

    def _packed(self, subjects):
        """Return the pack of these calls; only the last one is kept, for it is large."""
        key = json.dumps(subjects, sort_keys=True)
        if self._pack[0] != key:
            self.forget()
            dtype = self._runs.ways.dtype
            self._pack = (key, Pack([Expression(subject, self.PREFIXES, resolve, dtype) for subject in subjects]))
        return self._pack[1]

    def forget(self):
        """Drop what was compiled."""

    def context(self, job):
        """Return the context in which a job runs."""
        raise NotImplementedError

    def evaluate(self, expression, tensors):
        """Return the expression's value, in this flavour."""
        raise NotImplementedError

    def to_tensor(self, array, perm=None):
        """Return the library's tensor of a NumPy array or Bits; ``perm`` turns axes without moving memory."""
        raise NotImplementedError

    def cast(self, tensor, dtype):
        """Return the tensor in a dtype, by name, as the library casts."""
        raise NotImplementedError

    def to_numpy(self, tensor):
        """Return a fresh array or Bits."""
        raise NotImplementedError


#: Whose modules a dotted name may lead through: a library's module also holds those that it imports.
_ROOTS = ("torch", "tensorflow", "jax", "jaxlib", "keras")


def resolve(name):
    """Return the object behind a dotted name; submodules are imported on the way.

    Raises AttributeError where there is none, or where the name leads out of the library.
    """
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for position, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(parts[:position]))
            except ImportError:
                pass
        found = getattr(found, part)
        if isinstance(found, types.ModuleType) and found.__name__.split(".")[0] not in _ROOTS:
            raise AttributeError("{} leads out of {}".format(name, parts[0]))
    return found
