"""Calls of several jobs as one compiled unit: compiling one takes nearly as long as compiling many.

The jobs are run in one way, pulled back as often, on as many inputs; none shares an input with another. What one of
them cannot do is the failure of all, and the host asks for smaller packs.
"""

from ..contract import Result, Unsupported


class Together(object):
    """Several expressions as one function, of tensors by ``place/key``; it gives the leaves of all, in their order."""

    def __init__(self, expressions, leaves):
        self._members = [
            (expression, [(key, "{}/{}".format(place, key)) for key in expression.leaves])
            for place, expression in enumerate(expressions)
        ]
        self._leaves = leaves
        #: How many leaves each gave when it was called, or traced.
        self.sizes = ()

    def __call__(self, tensors):
        found, sizes = [], []
        for expression, names in self._members:
            leaves = self._leaves(expression({key: tensors[name] for key, name in names}))
            found.extend(leaves)
            sizes.append(len(leaves))
        self.sizes = tuple(sizes)
        return found


class PackedCalls(object):
    """The calls of a pack, on all their inputs.

    ``tensors_of`` gives the tensors of a job's expression for one of its inputs, ``arrays_of`` the arrays of a result.
    """

    def __init__(self, ways, jobs, expressions, tensors_of, arrays_of):
        self._ways, self._jobs, self._expressions = ways, jobs, expressions
        self._tensors_of, self._arrays_of = tensors_of, arrays_of
        self._stacked = jobs[0].option("rows") is not None
        self._rows = int(jobs[0].option("rows") or 1)
        self._results = [Result() for _ in jobs]

    def in_one_function(self, run, order):
        """Compile one function of all calls, and give it one input of each after another."""
        function, kept = Together(self._expressions, self._ways.leaves), {}
        for row in range(self._rows):
            tensors = self._tensors(row)  # anew, for some functions change what they are given
            if order:
                values, gradients = self._ways.pulled_back(lambda f, t: run(f, t, kept), function, tensors, order)
            else:
                values, gradients = run(function, tensors, kept), {}
            self._note_values(row, function.sizes, self._arrays_of(values))
            self._note_gradients(row, gradients)
        if order and not all(result.gradients for result in self._results):
            raise Unsupported("one of the calls has no gradients")
        return self._told()

    def in_one_list(self, mapped):
        """Give all inputs of all calls to a way that compiles them as constants."""
        members = [
            (expression, self._tensors_of(expression, job, row))
            for row in range(self._rows)
            for expression, job in zip(self._expressions, self._jobs)
        ]
        found = mapped(lambda member: member[0](member[1]), members, {})
        for number, value in enumerate(found):
            row, place = divmod(number, len(self._jobs))
            self._put(place, row, self._arrays_of(value))
        return self._told()

    def _tensors(self, row):
        return {
            "{}/{}".format(place, key): tensor
            for place, (expression, job) in enumerate(zip(self._expressions, self._jobs))
            for key, tensor in self._tensors_of(expression, job, row).items()
        }

    def _note_values(self, row, sizes, arrays):
        if not all(sizes):
            raise Unsupported("one of the calls gives no numbers")
        if len(arrays) != sum(sizes):
            raise Unsupported("the calls together give another number of results than each alone")
        begin = 0
        for place, size in enumerate(sizes):
            self._put(place, row, arrays[begin : begin + size])
            begin += size

    def _note_gradients(self, row, gradients):
        for name, value in gradients.items():
            second = "second " if name.startswith("second ") else ""
            place, _, key = name[len(second) :].partition("/")
            found = self._results[int(place)].gradients
            found[self._named(row, "input:" + second + key)] = self._ways.to_numpy(value)

    def _put(self, place, row, arrays):
        for number, array in enumerate(arrays):
            self._results[place].outputs[self._named(row, str(number))] = array

    def _named(self, row, name):
        return "{}/{}".format(row, name) if self._stacked else name

    def _told(self):
        for result in self._results:
            result.reply = {"rows": {}} if self._stacked else None
        return self._results
