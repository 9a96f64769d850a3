"""Calls in many ways: on one input after another, compiled or mapped or on other memory, pulled back.

A job with ``rows`` holds that many inputs, stacked along the first axis of every array; results are named
``row/output``, and rows that fail are told in the reply. Adapters say how their library does each thing: see ``Ways``.
"""

import json

import numpy as np

from ..contract import Result, Unsupported
from ..protocol import Bits
from . import axis_ways, common_ways, named_ways, twins
from .call_packs import PackedCalls
from .expressions import Expression

_KEPT = 8
#: So many directions are pushed forward, one after another.
_DIRECTIONS = 48
#: Between the names of ways that are taken one inside the other.
AND = " + "


class Ways(object):
    """How a library runs a call; subclasses know the library."""

    #: Where the public names of the library begin.
    PREFIXES = ()
    #: By name: a function of (function of tensors, tensors, kept), which returns what the function gives.
    VARIANTS = {}
    #: By the beginning of a name: a function of (rest of the name), which returns such a function.
    PREFIXED = {}
    #: Likewise for all rows at once: (function, list of tensors, kept) to a list of values.
    MAPPED = {}
    #: Names of ways that trace or compile: the objects that a call is made of are no part of what these see.
    TRACING = frozenset()

    def resolve(self, name):
        """Return the object behind a public name."""
        raise NotImplementedError

    def seed(self, number):
        """Make what the library draws reproducible."""

    def to_tensor(self, array, perm=None):
        """Return the library's tensor of an array."""
        raise NotImplementedError

    def to_numpy(self, value):
        """Return one leaf of a result as an array."""
        raise NotImplementedError

    def cast(self, tensor, dtype):
        """Return a floating tensor in another precision, any other as it is."""
        raise NotImplementedError

    def dtype(self, name):
        """Return the library's dtype of NumPy's name."""
        return name

    def state_of(self, value):
        """Return what a call may change in an object, for ``put_back``; None where there is nothing."""
        return None

    def put_back(self, value, state):
        """Give an object the state that it had."""

    def made(self, dtype):
        """Return what is done with everything a call gives, where a job asks for a precision; None for nothing."""
        return None

    def leaves(self, value):
        """Return the tensors and numbers of a result, in their order."""
        return flat(value)

    def pulled_back(self, run, function, tensors, order):
        """Return (values, gradients by key); ``run`` is the variant."""
        raise Unsupported("this target pulls no calls back")

    def pushed_forward(self, function, tensors):
        """Return what ``pulled_back`` gives in first order, computed from the inputs to the outputs."""
        raise Unsupported("this target has no forward mode")

    def context(self, job):
        """Return the context in which a job runs."""
        raise NotImplementedError


class CallRuns(object):
    """Runs the calls of one library; keeps what was compiled of the last few."""

    def __init__(self, ways):
        self.ways = ways
        self._kept = {}

    def run(self, job):
        """Return the result of a job that says how, or on how many inputs, it is run."""
        with self.ways.context(job):
            if job.option("rows") is None:
                return self._alone(job)
            return self._stacked(job)

    def run_pack(self, jobs):
        """Return the results of jobs that are run in one way, compiled as one unit."""
        first, ways = jobs[0], self.ways
        with ways.context(first):
            expressions = [self._with_objects(job, self._new_expression(job), {}) for job in jobs]
            ways.seed(first.seed)
            pack = PackedCalls(ways, jobs, expressions, self._tensors_of_row, self._arrays)
            if self._mapped(first) is not None:
                return pack.in_one_list(self._mapped(first))
            return pack.in_one_function(self._variant(first), first.option("derivative", 0))

    def _tensors_of_row(self, expression, job, row):
        stacked = job.option("rows") is not None
        inputs = {name: row_of(array, row) if stacked else array for name, array in job.inputs.items()}
        return self._tensors(expression, job, inputs)

    def _alone(self, job):
        result = Result()
        if self._mapped(job) is not None:
            values, gradients = self._together(job, [job.inputs])[0], {}
        else:
            values, gradients = self._once(job, job.inputs)
        result.outputs = {str(place): value for place, value in enumerate(values)}
        result.gradients = gradients
        return result

    def _stacked(self, job):
        result, failures, first = Result(), {}, None
        inputs = [
            {name: row_of(array, row) for name, array in job.inputs.items()} for row in range(int(job.option("rows")))
        ]
        answers = self._together(job, inputs) if self._mapped(job) is not None else None
        for row, own in enumerate(inputs):
            try:
                values, gradients = (answers[row], {}) if answers is not None else self._once(job, own)
            except Exception as error:
                first = first or error
                failures[str(row)] = {"type": type(error).__name__, "message": _text(error)[:2000]}
                continue
            result.outputs.update({"{}/{}".format(row, place): value for place, value in enumerate(values)})
            result.gradients.update({"{}/{}".format(row, name): value for name, value in gradients.items()})
        if len(failures) == len(inputs):
            raise first
        result.reply = {"rows": failures}
        return result

    def _mapped(self, job):
        """Return the way that takes all rows at once; what stands behind it is run inside of it."""
        first, _, rest = job.option("variant", "").partition(AND)
        mapped = self.ways.MAPPED.get(first)
        if mapped is None or not rest:
            return mapped
        inner = self._way(rest)
        return lambda function, rows, kept: mapped(lambda given: inner(function, given, {}), rows, kept)

    def _gradients(self, job):
        """Return the other way to a gradient, where a job asks for one."""
        if job.option("variant") not in ("slopes", "forward mode"):
            return None
        if job.option("derivative", 0) != 1:
            raise Unsupported("first derivatives only")
        from .slopes import by_slopes

        way = self._pushed_forward if job.option("variant") == "forward mode" else by_slopes
        return lambda function, tensors: way(self.ways, function, tensors)

    def _pushed_forward(self, ways, function, tensors):
        from .slopes import filled

        values, pushed = ways.pushed_forward(function, tensors)
        _, pulled = ways.pulled_back(lambda f, t: f(t), function, tensors, 1)
        arrays = [{key: ways.to_numpy(value) for key, value in found.items()} for found in (pushed, pulled)]
        if any(isinstance(array, Bits) for found in arrays for array in found.values()):
            raise Unsupported("its gradients are not of NumPy's numbers")
        return values, filled(*arrays)

    def _prepared(self, job, inputs):
        expression, kept = self._expression(job)
        tensors = self._tensors(expression, job, inputs)
        self.ways.seed(job.seed)
        return self._with_objects(job, expression, kept), tensors, kept

    def _with_objects(self, job, expression, kept):
        """Return the expression for a way that traces: its objects are made once, and are as new for every input."""
        names = job.option("variant", "").split(AND)
        if not self.ways.TRACING.intersection(names):
            return expression
        if kept.get("seed") != job.seed:
            kept.clear()
            self.ways.seed(job.seed)
            made = expression.with_objects()
            kept.update(seed=job.seed, made=(made, [self.ways.state_of(value) for value in made.objects]))
        made, states = kept["made"]
        for value, state in zip(made.objects, states):
            self.ways.put_back(value, state)
        return made

    def _tensors(self, expression, job, inputs):
        tensors, dtype = expression.tensors(inputs, self.ways.to_tensor), job.option("dtype")
        if dtype:
            tensors = {key: self.ways.cast(tensor, dtype) for key, tensor in tensors.items()}
        return tensors

    def _once(self, job, inputs):
        expression, tensors, kept = self._prepared(job, inputs)
        run, order = self._variant(job), job.option("derivative", 0)
        gradients, other = {}, self._gradients(job)
        if other is not None:
            values, found = other(expression, tensors)
            gradients = {"input:" + name: np.asarray(value) for name, value in found.items()}
        elif order:
            values, found = self.ways.pulled_back(lambda f, t: run(f, t, kept), expression, tensors, order)
            gradients = {"input:" + name: self.ways.to_numpy(value) for name, value in found.items()}
        else:
            values = run(expression, tensors, kept)
        return self._arrays(values), gradients

    def _together(self, job, inputs):
        prepared = [self._prepared(job, own) for own in inputs]
        expression, _, kept = prepared[0]
        found = self._mapped(job)(expression, [tensors for _, tensors, _ in prepared], kept)
        return [self._arrays(values) for values in found]

    def _arrays(self, values):
        found = [self.ways.to_numpy(leaf) for leaf in self.ways.leaves(values)]
        if not found:
            raise Unsupported("the call gives no numbers")
        return found

    def _variant(self, job):
        name = job.option("variant", "")
        if not name or self._gradients(job) is not None:
            return lambda function, tensors, kept: function(tensors)
        return self._way(name)

    def _way(self, name):
        """Return the way of a name, or the first with the others inside of it."""
        first, _, rest = name.partition(AND)
        outer = self._one_way(first)
        if not rest:
            return outer
        inner = self._way(rest)

        def both(function, tensors, kept):
            return outer(lambda given: inner(function, given, kept.setdefault(rest, {})), tensors, kept)

        return both

    def _one_way(self, name):
        if name in self.ways.VARIANTS:
            return self.ways.VARIANTS[name]
        for start, made in self.ways.PREFIXED.items():
            if name.startswith(start):
                return made(name[len(start) :])
        if name not in COMMON:
            raise Unsupported("this target does not run calls in the way {!r}".format(name))
        return lambda function, tensors, kept: COMMON[name](self.ways, function, tensors, kept)

    def _expression(self, job):
        """Return the expression, and what was compiled of it."""
        key = json.dumps([job.subject, job.option("variant"), job.option("derivative"), job.option("dtype")])
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = (self._new_expression(job), {})
        return self._kept[key]

    def _new_expression(self, job):
        ways = self.ways
        return Expression(job.subject, ways.PREFIXES, ways.resolve, ways.dtype, ways.made(job.option("dtype")))


def basis(shape):
    """Yield every direction of a tensor of this shape; of many there are none."""
    size = int(np.prod(shape)) if len(shape) else 1
    if size > _DIRECTIONS:
        raise Unsupported("a direction for each of {} numbers".format(size))
    for place in range(size):
        found = np.zeros(size)
        found[place] = 1.0
        yield found.reshape(shape)


def is_varied(job):
    """Tell whether a job says how, or on how many inputs, its call is run."""
    return bool(job.option("variant") or job.option("derivative") or job.option("rows") is not None)


def is_program(job):
    """Tell whether a job's outermost call is no function, but one of an object that another call made."""
    return not job.subject["api"][0].isalpha()


def row_of(array, row):
    """Return one of the stacked arrays."""
    return Bits(array.dtype, array.bits[row]) if isinstance(array, Bits) else np.asarray(array)[row]


def flat(value):
    """Return the leaves of nested lists, tuples and mappings; what is None is no leaf."""
    if value is None:
        return []
    if isinstance(value, dict):
        value = [value[key] for key in value]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def cotangent(shape):
    """Return what a result of this shape is pulled back with: quarters from 1 to 2, exact in every precision."""
    count = 1
    for size in shape:
        count *= int(size)
    return (1.0 + 0.25 * (np.arange(count) % 5)).reshape([int(size) for size in shape])


def _text(error):
    try:
        return str(error)
    except Exception:
        return "(it does not say)"


#: Ways that every library has: functions of (ways, function, tensors, kept).
COMMON = {
    "by element": common_ways.by_element,
    "without axes": common_ways.without_axes,
    "among others": common_ways.among_others,
    "row by row": common_ways.row_by_row,
    "of nothing": common_ways.of_nothing,
    "defaults": named_ways.defaults_written,
    "alias": named_ways.by_alias,
    "axis from the end": axis_ways.from_the_end,
    "method": named_ways.by_method,
    "numpy": named_ways.numpy_twin,
    "other name": twins.by_twin,
}
