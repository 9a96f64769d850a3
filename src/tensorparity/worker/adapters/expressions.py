"""Calls as they arrive: a public function by name, its arguments JSON values, arrays of the job, or further calls.

``{"$array": name, "perm": axes, "view": bool}`` is an array with its axes turned; ``{"$call": {...}}`` a call
within a call, ``{"$object": place}`` what such a call gave beforehand; ``$dtype``, ``$tuple``, ``$complex`` and
``$slice`` are what JSON lacks. The name ``()`` calls the first argument, ``.name`` a method of it, ``[]`` picks an item
of it, ``[,]`` is the tuple of all. The host has checked names against the enumerated API; where they may begin is
checked again here.
"""

import numpy as np

from ..contract import Unsupported
from ..protocol import Bits


class Expression(object):
    """A job's call, split into its leaves (arrays, by a key) and a function of them."""

    def __init__(self, subject, prefixes, resolve, dtype=None, made=None):
        self._subject = subject
        self._prefixes = prefixes
        self._resolve = resolve
        self._dtype = dtype or (lambda name: name)
        #: What is done with everything that a call gives, before it goes on (a module is cast).
        self._made = made
        self._functions = {}
        #: Modules, layers and the like that are made already.
        self.objects = []
        self.leaves = {}
        self._look(subject)

    def _look(self, subject):
        # What is not there is found out before a compiler hides it; and compilers do not follow imports.
        self._functions[subject["api"]] = self._named(subject["api"])
        for argument in list(subject["args"]) + list(subject["kwargs"].values()):
            self._look_at(argument)

    def _look_at(self, argument):
        if isinstance(argument, dict) and "$array" in argument:
            self.leaves[_key(argument)] = argument
        elif isinstance(argument, dict) and "$call" in argument:
            self._look(argument["$call"])
        elif isinstance(argument, (list, tuple)):
            for item in argument:
                self._look_at(item)
        elif isinstance(argument, dict):
            for item in argument.values():
                self._look_at(item)

    def _named(self, name):
        if name in _SPECIAL:
            return _SPECIAL[name]
        if name.startswith("."):
            if not name[1:2].isalpha():
                raise Unsupported("{} is no public method".format(name))
            return _method(name[1:])
        return self._function(name)

    def tensors(self, inputs, to_tensor):
        """Return the leaves as tensors, by key; ``to_tensor`` takes an array, and axes to turn as a view."""
        found = {}
        for key, leaf in self.leaves.items():
            array, perm = inputs[leaf["$array"]], leaf.get("perm")
            if perm and not leaf.get("view"):
                array, perm = turned(array, perm), None
            found[key] = to_tensor(array, perm) if perm else to_tensor(array)
        return found

    def __call__(self, tensors):
        """Return the value of the whole expression, applied as often as the subject says."""
        value = self._call(self._subject, tensors)
        for _ in range(int(self._subject.get("times", 1)) - 1):
            first = _key(self._subject["args"][0])
            value = self._call(self._subject, dict(tensors, **{first: value}))
        return value

    def with_made(self, made):
        """Return the same expression, with something done to all that its calls give."""
        other = Expression(self._subject, self._prefixes, self._resolve, self._dtype, _both(self._made, made))
        return other

    def with_functions(self, change):
        """Return the same expression of other functions; ``change`` takes the name and the function."""
        other = Expression(self._subject, self._prefixes, self._resolve, self._dtype, self._made)
        other._functions = {name: change(name, called) for name, called in self._functions.items()}
        return other

    def with_objects(self):
        """Return the same expression with the objects that it calls made now, once, and not whenever it is run."""
        objects = []
        other = Expression(
            self._made_now(self._subject, objects), self._prefixes, self._resolve, self._dtype, self._made
        )
        other.objects = objects
        return other

    def _made_now(self, subject, objects):
        # in the order of a plain call, in which what they draw depends on what was drawn before
        args = list(subject["args"])
        if subject["api"] == CALLED and "$call" in _as_mapping(args[0]) and not _has_arrays(args[0]):
            objects.append(self._call(args[0]["$call"], {}))
            args[0] = {"$object": len(objects) - 1}
        args = [self._in_made_now(argument, objects) for argument in args]
        kwargs = {key: self._in_made_now(argument, objects) for key, argument in subject["kwargs"].items()}
        return dict(subject, args=args, kwargs=kwargs)

    def _in_made_now(self, argument, objects):
        if "$call" in _as_mapping(argument):
            return {"$call": self._made_now(argument["$call"], objects)}
        return argument

    def with_library(self, resolve, dtype):
        """Return the same expression in another library's words."""
        return Expression(self._subject, self._prefixes, resolve, dtype)

    @property
    def api(self):
        """The name of the outermost function."""
        return self._subject["api"]

    @property
    def called(self):
        """The outermost function itself."""
        return self._functions[self._subject["api"]]

    @property
    def is_program(self):
        """Whether it is made of several calls."""
        return len(self._functions) > 1 or not self.api[:1].isalpha()

    def with_more(self, tensors, kwargs):
        """Return the value with further arguments of the outermost call, which are tensors already."""
        return self._call(self._subject, tensors, kwargs)

    def _call(self, subject, tensors, more=None):
        function = self._functions[subject["api"]]
        args = [self._value(argument, tensors) for argument in subject["args"]]
        kwargs = {key: self._value(argument, tensors) for key, argument in subject["kwargs"].items()}
        if more:
            kwargs.update(more)
        value = function(*args, **kwargs)
        if self._made is not None:
            value = self._made(value)
        return value if subject.get("pick") is None else value[subject["pick"]]

    def _function(self, name):
        if not name.startswith(self._prefixes):
            raise Unsupported("this target runs {}*, not {}".format(self._prefixes[0], name))
        try:
            return self._resolve(name)
        except (AttributeError, ImportError):
            raise Unsupported("{} does not exist in this version".format(name))

    def _value(self, argument, tensors):
        if isinstance(argument, dict) and "$array" in argument:
            return tensors[_key(argument)]
        if isinstance(argument, dict) and "$call" in argument:
            return self._call(argument["$call"], tensors)
        if isinstance(argument, (list, tuple)):
            return [self._value(item, tensors) for item in argument]
        if isinstance(argument, dict):
            return self._tagged(argument, tensors)
        return argument

    def _tagged(self, argument, tensors):
        if "$object" in argument:
            return self.objects[argument["$object"]]
        if "$dtype" in argument:
            return self._dtype(argument["$dtype"])
        if "$tuple" in argument:
            return tuple(self._value(item, tensors) for item in argument["$tuple"])
        if "$complex" in argument:
            return complex(*argument["$complex"])
        if "$slice" in argument:
            return slice(*argument["$slice"])
        return {key: self._value(item, tensors) for key, item in argument.items()}


def _both(first, second):
    return second if first is None else lambda value: second(first(value))


def _method(name):
    return lambda owner, *args, **kwargs: getattr(owner, name)(*args, **kwargs)


#: The name that calls its first argument.
CALLED = "()"


def _as_mapping(argument):
    return argument if isinstance(argument, dict) else {}


def _has_arrays(argument):
    """Tell whether an array stands anywhere in an argument."""
    if isinstance(argument, dict):
        return "$array" in argument or any(map(_has_arrays, argument.values()))
    return isinstance(argument, (list, tuple)) and any(map(_has_arrays, argument))


_SPECIAL = {
    CALLED: lambda called, *args, **kwargs: called(*args, **kwargs),
    "[]": lambda whole, place: whole[tuple(place) if isinstance(place, list) else place],
    "[,]": lambda *items: items,
}


class Pack(object):
    """Several expressions as one function, of which a compiler makes one unit."""

    def __init__(self, expressions):
        self.expressions = expressions

    def __call__(self, tensors):
        """Return a list of results per expression; ``tensors`` has those of each by its place."""
        values = []
        for place, expression in enumerate(self.expressions):
            value = expression(tensors[str(place)])
            values.append(list(value) if isinstance(value, (list, tuple)) else [value])
        return values


def _key(leaf):
    return (
        leaf["$array"] + "".join("/{}".format(axis) for axis in leaf.get("perm") or ()) + "~" * bool(leaf.get("view"))
    )


def turned(array, perm):
    """Return the array with its axes turned, in memory too."""
    if isinstance(array, Bits):
        return Bits(array.dtype, np.ascontiguousarray(array.bits.transpose(perm)))
    return np.ascontiguousarray(np.asarray(array).transpose(perm))


def outputs_of(job, values):
    """Return results by name, as the contract has them: ``0``, ``1`` and so on, their axes turned back."""
    perm = job.subject.get("perm")
    flat = values if isinstance(values, (list, tuple)) else [values]
    return {str(index): turned(value, perm) if perm else value for index, value in enumerate(flat)}
