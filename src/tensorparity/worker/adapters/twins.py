"""The same thing by two public names: a module and the function of its name, a loss as a class, a raw operation.

Names are a guess; what counts is a trial on ordinary numbers, of both signs and with halves among them.
"""

import functools
import inspect
import re

import numpy as np

from ..contract import Unsupported
from .common_ways import alike, arrays_of, run, tame
from .expressions import Expression

#: Where the other name of what is called so may stand.
_PLACES = (
    ("torch.nn.", ("torch.nn.functional", "torch")),
    ("keras.losses.", ("keras.losses",)),
    ("keras.layers.", ("keras.activations", "keras.ops")),
    ("keras.activations.", ("keras.ops",)),
    (
        "tensorflow.raw_ops.",
        (
            "tensorflow.math",
            "tensorflow",
            "tensorflow.nn",
            "tensorflow.linalg",
            "tensorflow.image",
            "tensorflow.signal",
        ),
    ),
    ("jax.lax.", ("jax.numpy", "jax.nn", "jax.scipy.special", "jax.numpy.linalg")),
    ("jax.nn.", ("jax.scipy.special", "jax.numpy")),
)
#: How often a function's name is tried without its last part: an operation's version, or the word loss.
_ENDINGS = ("", "loss", "v2", "v3", "v4")
#: What an argument is called elsewhere.
_RENAMED = {"dim": ("axis",), "axis": ("dim",), "alpha": ("negative_slope",), "keep_dims": ("keepdims",)}


def by_twin(ways, function, tensors, kept):
    """The function of the same name in another module, or behind the class of that name."""
    if not isinstance(function, Expression):
        raise Unsupported("only a call that is run as it is can be written otherwise")
    if "twin" not in kept:
        kept["twin"] = next(_that_agree(ways, function, arrays_of(ways, tensors)), None)
    if kept["twin"] is None:
        raise Unsupported("no other public name means the same")
    return kept["twin"](tensors)


def _that_agree(ways, expression, arrays):
    """Yield the expressions by another name that give the same on ordinary numbers."""
    for name in list(expression._functions):
        for other in _named_alike(ways, name):
            found = expression.with_functions(_swap(name, other))
            if _agrees(ways, expression, found, arrays):
                yield found


def _named_alike(ways, name):
    """Yield functions elsewhere whose names have the same letters."""
    start, places = next(((s, p) for s, p in _PLACES if name.startswith(s) and "." not in name[len(s) :]), ("", ()))
    wanted = _letters(name[len(start) :])
    for place in places:
        try:
            module = ways.resolve(place)
        except (AttributeError, ImportError):
            continue
        for own in dir(module):
            full = place + "." + own
            if full != name and not own.startswith("_") and _is_called(_letters(own), wanted):
                found = getattr(module, own)
                if callable(found) and not inspect.isclass(found):
                    yield found


def _is_called(own, wanted):
    return any(own == wanted[: len(wanted) - len(end)] for end in _ENDINGS if wanted.endswith(end))


def _letters(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _swap(name, other):
    def change(own, called):
        if own != name:
            return called
        return _as_object(called, other) if inspect.isclass(called) else _as_function(called, other)

    return change


def _as_function(called, other):
    """Return the other function, given arguments in the words of this one."""

    def run_it(*args, **kwargs):
        named = _bound(called, args, kwargs)
        first = [key for key, value in named.items() if _is_tensor(value)]
        rest = {key: value for key, value in named.items() if key not in first}
        return other(*[named[key] for key in first], **_in_words_of(other, rest))

    return run_it


def _as_object(cls, other):
    """Return what makes an object of the function: it is given what the class is made with."""

    def made(*args, **kwargs):
        settings = _bound(cls, args, kwargs)
        whole = _reduced(cls, settings)
        settings = _in_words_of(other, settings)

        @functools.wraps(other)
        def call(*given, **more):
            return whole(other(*given, **dict(settings, **more)))

        return call

    return made


def _reduced(cls, settings):
    """Return what a loss of Keras does with the losses that its function gives."""
    if not cls.__module__.startswith("keras."):
        return lambda value: value
    reduction = settings.pop("reduction", "sum_over_batch_size")
    if "reduction" not in inspect.signature(cls).parameters:
        return lambda value: value
    import keras

    known = {"sum_over_batch_size": keras.ops.mean, "mean": keras.ops.mean, "sum": keras.ops.sum}
    return known.get(reduction, lambda value: value)


def _bound(called, args, kwargs):
    """Return arguments by their names."""
    try:
        bound = inspect.signature(called).bind(*args, **kwargs)
    except (TypeError, ValueError):
        raise Unsupported("its arguments have no names")
    found = dict(bound.arguments)
    if any(isinstance(value, tuple) and key in ("args", "operands") for key, value in found.items()):
        raise Unsupported("its arguments have no names")
    found.update(found.pop("kwargs", {}))
    return found


def _in_words_of(other, named):
    """Return the arguments as the other function calls them; one that it does not have is no argument of a twin."""
    try:
        known = inspect.signature(other).parameters
    except (TypeError, ValueError):
        return named
    found = {}
    for key, value in named.items():
        name = next((own for own in (key,) + _RENAMED.get(key, ()) if own in known), None)
        if name is None and key not in ("name", "inplace", "dtype", "T"):
            raise Unsupported("the other has no argument {}".format(key))
        if name is not None:
            found[name] = value
    return found


def _is_tensor(value):
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _agrees(ways, expression, other, arrays):
    try:
        for numbers in (tame, _of_both_signs):
            for turn in (0, 3):
                given = {key: numbers(array, place + turn) for place, (key, array) in enumerate(arrays.items())}
                if not alike(run(ways, expression, given), run(ways, other, given)):
                    return False
    except Exception:
        return False
    return True


def _of_both_signs(array, turn):
    """Return halves and whole numbers around zero; what has no sign is tame."""
    if array.dtype.kind not in "if":
        return tame(array, turn)
    place = np.arange(array.size).reshape(array.shape)
    halves = ((place * 5 + turn) % 11 - 5) / 2.0
    return halves.astype(array.dtype) if array.dtype.kind == "f" else tame(array, turn)
