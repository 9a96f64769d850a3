"""The same call with its axes counted from the other end: -1 in the place of the last one's number, and back."""

import inspect
import re

from ..contract import Unsupported
from .expressions import Expression

#: Parameters that are numbers of axes; of several at once only in lists, for alone they may be a count.
_ONE = re.compile(r"^(?:axis|dim)\d?$|^(?:source|destination)$")
_SEVERAL = re.compile(r"^(?:axes|dims)$")
#: What counts the axes of its result, or of two tensors, or means something else by -1.
_OTHERWISE = re.compile(
    r"stack|unsqueeze|expand_?dims|one_?hot|linspace|logspace|geomspace|diag_embed|tensordot|quantiz|iota|^pack$"
)


def from_the_end(ways, function, tensors, kept):
    """Every axis that is given is counted from the other end."""
    if not isinstance(function, Expression) or function.is_program:
        raise Unsupported("only a call that is run as it is can be written otherwise")
    if _OTHERWISE.search(function.api.rpartition(".")[2].lower()):
        raise Unsupported("its axes are not those of what it is given")
    return function.with_functions(_counted_from_the_end)(tensors)


def _counted_from_the_end(name, called):
    def run(*args, **kwargs):
        names = _positional_names(name, called, args, kwargs)
        rank = _rank(list(args) + list(kwargs.values()))
        given = [_other_end(key, value, rank) for key, value in zip(names, args)] + list(args[len(names) :])
        named = {key: _other_end(key, value, rank) for key, value in kwargs.items()}
        if all(a is b for a, b in zip(args, given)) and all(named[key] is kwargs[key] for key in kwargs):
            raise Unsupported("{} is given no axis".format(name))
        return called(*given, **named)

    return run


def _rank(values):
    """Return the rank of the first tensor, which none of the others exceeds."""
    flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    ranks = [len(item.shape) for item in flat if hasattr(item, "shape") and item.shape is not None]
    if not ranks or not ranks[0] or max(ranks) > ranks[0]:
        raise Unsupported("whose axes are counted is not known")
    return ranks[0]


def _other_end(key, value, rank):
    if isinstance(value, (list, tuple)):
        are_axes = bool(_ONE.match(key) or _SEVERAL.match(key)) and all(map(_is_axis, value))
        return type(value)(_turned(item, rank) for item in value) if are_axes and value else value
    return _turned(value, rank) if _is_axis(value) and _ONE.match(key) else value


def _is_axis(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _turned(axis, rank):
    return axis - rank if axis >= 0 else axis + rank


def _positional_names(name, called, args, kwargs):
    """Return the names of what is given by position; of a compiled function of torch's those of its schema."""
    if not any(_is_axis(item) or isinstance(item, (list, tuple)) for item in args):
        return []
    try:
        return [parameter.name for parameter in inspect.signature(called).parameters.values()][: len(args)]
    except (TypeError, ValueError):
        return _schema_names(name, args, kwargs)


def _schema_names(name, args, kwargs):
    if not name.startswith("torch."):
        return []
    import torch

    found = set()
    for schema in torch._C._jit_get_schemas_for_operator("aten::" + name.split(".", 1)[1].replace(".", "_")):
        known = schema.arguments
        names = tuple(argument.name for argument in known)
        placed = sum(not argument.kwarg_only for argument in known)
        if len(args) <= placed and set(kwargs) <= set(names) and all(map(_fits, known, args)):
            found.add(names[: len(args)])
    if len(found) != 1:
        raise Unsupported("its arguments have no names")
    return list(found.pop())


def _fits(argument, value):
    kind = str(argument.type)
    if _is_axis(value):
        return "int" in kind or kind == "number"  # one number stands for a list of one
    if isinstance(value, (list, tuple)):
        return "List" in kind
    return ("Tensor" in kind) == hasattr(value, "shape")
