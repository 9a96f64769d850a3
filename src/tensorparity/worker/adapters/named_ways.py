"""The same call by other words: defaults written out, another public name, a method, NumPy's function of that name."""

import importlib
import inspect
import re

import numpy as np

from ..contract import Unsupported
from .common_ways import alike, arrays_of
from .expressions import Expression

#: How documentation says that a name is another one's.
_ALIAS = re.compile(r"[Aa]lias (?:for|of|to) :(?:func|meth|class|data):`~?([\w.]+)`")
#: How it says that a function follows NumPy's, or SciPy's, of some name.
_FOLLOWS = (
    re.compile(r"implementation of :(?:func|data|obj|class):`((?:numpy|scipy)\.[\w.]+)`"),
    re.compile(r"variant of NumPy's `([\w.]+)`"),
)
_HEAD = 1500
#: Parameters that libraries call otherwise than NumPy does.
_RENAMED = {"dim": "axis", "keepdim": "keepdims", "dims": "axis"}
#: Those that stand first, whatever they are called.
_FIRST = ("input", "x", "self", "a", "tensor")


def defaults_written(ways, function, tensors, kept):
    """Every argument that was left out is given, as the signature has it."""
    return _expression(function).with_functions(lambda name, called: _written_out(name, called))(tensors)


def by_alias(ways, function, tensors, kept):
    """The function that the documentation says this one is an alias of."""
    expression = _expression(function)

    def other(name, called):
        found = _ALIAS.search((getattr(called, "__doc__", "") or "")[:_HEAD])
        if not found or name != expression.api or found.group(1) == name:
            return called
        return ways.resolve(found.group(1))

    return _changed(expression, other, "its documentation names no alias")(tensors)


def by_method(ways, function, tensors, kept):
    """The method of the first argument that is documented by the function's name."""
    expression = _expression(function)

    def other(name, called):
        return _method(name) if name == expression.api else called

    return expression.with_functions(other)(tensors)


def numpy_twin(ways, function, tensors, kept):
    """NumPy's function of the name that the documentation says, or of the same one where a trial shows it to be it."""
    expression = _expression(function)
    if expression.is_program:
        raise Unsupported("NumPy has no such program")
    twin, documented = _twin(expression.api, expression.called)
    other = expression.with_library(lambda name: _in_numpy_words(twin), np.dtype)
    own = [ways.to_numpy(leaf) for leaf in ways.leaves(function(tensors))]
    if not documented and "meant" not in kept:
        kept["meant"] = _means_the_same(ways, expression, other, arrays_of(ways, tensors))
    if not (documented or kept["meant"]):
        raise Unsupported("NumPy means something else by that name")
    return [_like(leaf, own[place] if place < len(own) else None)
            for place, leaf in enumerate(_evaluated(other, arrays_of(ways, tensors)))]  # fmt: skip


def _expression(function):
    if not isinstance(function, Expression):
        raise Unsupported("only a call that is run as it is can be written otherwise")
    return function


def _changed(expression, change, lack):
    changed = expression.with_functions(change)
    if changed.called is expression.called:
        raise Unsupported(lack)
    return changed


# Defaults


def _written_out(name, called):
    if not name[0].isalpha():
        return called

    def run(*args, **kwargs):
        given = _signature_defaults(called, args, kwargs) or _schema_defaults(name, args, kwargs)
        if given is None:
            raise Unsupported("{} leaves nothing out, or has no signature".format(name))
        return called(*given[0], **given[1])

    return run


def _signature_defaults(called, args, kwargs):
    try:
        signature = inspect.signature(called)
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    before = dict(bound.arguments)
    bound.apply_defaults()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    more = [key for key in bound.arguments if key not in before and signature.parameters[key].kind not in kinds]
    more = [key for key in more if key not in ("name", "out")]
    return (bound.args, bound.kwargs) if more else None


def _schema_defaults(name, args, kwargs):
    """Torch's compiled functions have schemas in place of signatures."""
    if not name.startswith("torch."):
        return None
    import torch

    for schema in torch._C._jit_get_schemas_for_operator("aten::" + name.rsplit(".", 1)[-1]):
        known = schema.arguments
        names = [argument.name for argument in known]
        if any(argument.is_out for argument in known) or len(args) > len(known) or not set(kwargs) <= set(names):
            continue
        given = set(names[: len(args)]) | set(kwargs)
        rest = [argument for argument in known if argument.name not in given]
        if not rest or any(not argument.has_default_value() for argument in rest):
            continue
        written = {a.name: a.default_value for a in rest if a.default_value is not None}
        if written:
            return args, dict(written, **kwargs)
    return None


# Other names


def _method(name):
    last = name.rsplit(".", 1)[-1]

    def run(owner, *args, **kwargs):
        method = getattr(owner, last, None)
        says = (getattr(method, "__doc__", None) or "")[:_HEAD]
        if not re.search(r"(:func:`~?{0}`|Refer to {0}|{0}\()".format(re.escape(name)), says):
            raise Unsupported("no method is documented as {}".format(name))
        return method(*args, **kwargs)

    return run


# NumPy


def _twin(api, called):
    """Return NumPy's function, and whether the documentation names it."""
    head = (getattr(called, "__doc__", None) or "")[:_HEAD]
    said = next((match.group(1) for pattern in _FOLLOWS for match in [pattern.search(head)] if match), "")
    name = said or api.rsplit(".", 1)[-1]
    if not name.startswith(("numpy.", "scipy.")):
        inner = api.split(".")[-2]
        name = "numpy.{}{}".format(inner + "." if inner in ("fft", "linalg") and "." not in name else "", name)
    found = _found(name)
    if not callable(found) or isinstance(found, type):
        raise Unsupported("NumPy has no function of that name")
    return found, bool(said)


def _found(name):
    parts = name.split(".")
    try:
        found = importlib.import_module(parts[0])
        for place, part in enumerate(parts[1:], start=2):
            if not hasattr(found, part):
                importlib.import_module(".".join(parts[:place]))
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def _in_numpy_words(twin):
    def run(*args, **kwargs):
        given = list(args)
        kwargs = {_RENAMED.get(key, key): value for key, value in kwargs.items()}
        if not given:
            first = next((key for key in _FIRST if key in kwargs), None)
            given += [kwargs.pop(first)] if first else []
        if "other" in kwargs:
            given.append(kwargs.pop("other"))
        try:
            return twin(*given, **kwargs)
        except TypeError as error:
            raise Unsupported("NumPy's takes other arguments: {}".format(str(error)[:200]))

    return run


def _evaluated(expression, arrays):
    with np.errstate(all="ignore"):
        value = expression(arrays)
    leaves = list(value) if isinstance(value, (tuple, list)) else [value]
    return [np.asarray(leaf) for leaf in leaves]


def _means_the_same(ways, expression, other, arrays):
    """Run both on tame numbers of the same shapes."""
    from .common_ways import run, tame

    try:
        for turn in (0, 3):
            given = {key: tame(array, place + turn) for place, (key, array) in enumerate(arrays.items())}
            if not alike(run(ways, expression, given), _evaluated(other, given)):
                return False
    except Exception:
        return False
    return True


def _like(leaf, own):
    """Return NumPy's answer in the dtype of the library's where both are of one kind: NumPy sums in 64 bits."""
    if own is None or not hasattr(own, "shape") or own.dtype.kind not in "iufc" or leaf.dtype.kind not in "iufcb":
        return leaf
    if leaf.dtype.kind == "c" and own.dtype.kind != "c":
        return leaf
    with np.errstate(all="ignore"):
        return leaf.astype(own.dtype)
