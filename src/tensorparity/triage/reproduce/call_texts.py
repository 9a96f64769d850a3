"""Calls as a person writes them: as they are, and by the other words of the rules about words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.call import CALLED, ITEM, SEVERAL, ApiCall, ArrayArg, DtypeArg, TupleArg
from . import literals


@dataclass(frozen=True)
class Library:
    """How a library is written.

    Args:
        tensor: makes a tensor of an array.
        numpy: makes an array of a tensor.
        dtype: how its dtypes are written.
        before: lines before it is imported.
        others: in place of its name, what is imported.
    """

    imports: str
    tensor: str
    numpy: str
    dtype: str
    before: str = ""


Named = Callable[[str], str]


def call_text(call: ApiCall, library: Library, named_so: Named = literals.dotted_name) -> str:
    """A call, and what is called within it."""
    arguments = [argument_text(item, library, named_so) for item in call.args]
    named = [f"{literals.name(key)}={argument_text(item, library, named_so)}" for key, item in call.kwargs.items()]
    if call.api == CALLED:
        return f"{arguments[0]}({', '.join([*arguments[1:], *named])})"
    if call.api == ITEM:
        return f"{arguments[0]}[{arguments[1]}]"
    if call.api == SEVERAL:
        return f"({', '.join(arguments)},)"
    if call.api.startswith("."):
        return f"{arguments[0]}.{literals.name(call.api[1:])}({', '.join([*arguments[1:], *named])})"
    return f"{named_so(call.api)}({', '.join([*arguments, *named])})"


def argument_text(item: Any, library: Library, named_so: Named = literals.dotted_name) -> str:
    if isinstance(item, ArrayArg):
        return literals.name(item.name)
    if isinstance(item, ApiCall):
        return call_text(item, library, named_so)
    if isinstance(item, DtypeArg):
        return library.dtype.format(item.name if item.name != "bool" or library.dtype != "jax.numpy.{}" else "bool_")
    if isinstance(item, TupleArg):
        return f"({''.join(argument_text(part, library, named_so) + ', ' for part in item.items)})"
    if isinstance(item, slice):
        return f"slice({item.start}, {item.stop}, {item.step})"
    if isinstance(item, complex):
        return repr(item)
    if isinstance(item, (list, tuple)):
        return f"[{', '.join(argument_text(part, library, named_so) for part in item)}]"
    if isinstance(item, Mapping):
        inside = ", ".join(
            f"{literals.value(str(key))}: {argument_text(part, library, named_so)}" for key, part in item.items()
        )
        return f"{{{inside}}}"
    return literals.value(item)


# The same call by other words


@dataclass(frozen=True)
class Rewritten:
    """A call as text.

    Args:
        replaces_call: whether the way is all in the text of the call.
        written: the call that writes into ``out``.
        library: how arrays are written for it, where that is not as in the library.
    """

    text: str
    replaces_call: bool = False
    helpers: tuple[str, ...] = ()
    written: str = ""
    library: Library | None = None


_WITH_DEFAULTS = (
    "import inspect",
    "",
    "def with_defaults(function):  # every argument that is left out, as the signature has it",
    "    def run(*args, **kwargs):",
    "        bound = inspect.signature(function).bind(*args, **kwargs)",
    "        bound.apply_defaults()",
    '        given = {key: value for key, value in bound.kwargs.items() if key not in ("name", "out")}',
    "        return function(*bound.args, **given)",
    "    return run",
    "",
)
_NAMED = (
    "import operator",
    "import re",
    "",
    "def alias_of(library, function):  # the one that its documentation names",
    '    said = re.search(r"[Aa]lias (?:for|of|to) :(?:func|meth|class|data):`~?([\\w.]+)`", function.__doc__)',
    '    return operator.attrgetter(said[1].partition(".")[2])(library)',
    "",
)
_FROM_THE_END = (
    "import re",
    "",
    "def turned(key, value, rank):",
    '    if isinstance(value, (list, tuple)) and re.match(r"(axis|dim)\\d?$|source|destination|axes|dims", key):',
    '        return type(value)(turned("axis", item, rank) for item in value)',
    '    is_axis = type(value) is int and re.match(r"(axis|dim)\\d?$|source|destination", key)',
    "    return (value - rank if value >= 0 else value + rank) if is_axis else value",
    "",
    "def from_the_end(function):  # every axis is counted from the other end",
    "    def run(*args, **kwargs):",
    "        given = [*args, *kwargs.values()]",
    "        given += [item for value in given if isinstance(value, list) for item in value]",
    '        rank = next(len(item.shape) for item in given if hasattr(item, "shape"))',
    "        return function(*args, **{key: turned(key, value, rank) for key, value in kwargs.items()})",
    "    return run",
    "",
)
#: Libraries whose functions are called in NumPy's words, where there is one of that name.
_IN_NUMPY = {"dim": "axis", "keepdim": "keepdims", "dims": "axis"}


def rewritten(call: ApiCall, variant: str, library: Library, root: str) -> Rewritten:
    """The call in the words of a way that is about words; as it is in any other.

    Raises:
        Unprintable: where it has no such form.
    """
    plain = call_text(call, library)
    if variant == "defaults":
        text = call_text(call, library, lambda name: f"with_defaults({literals.dotted_name(name)})")
        return Rewritten(text, True, _WITH_DEFAULTS)
    if variant == "axis from the end":
        if any(not isinstance(item, ArrayArg) for item in call.args):
            raise literals.Unprintable("an axis that is given by its place")
        text = call_text(call, library, lambda name: f"from_the_end({literals.dotted_name(name)})")
        return Rewritten(text, True, _FROM_THE_END)
    if variant == "alias":
        return Rewritten(_by_alias(call, library, root), True, _NAMED)
    if variant == "method":
        return Rewritten(_as_method(call, library, call.api.rpartition(".")[2], ""), True)
    if variant == "in place":
        return Rewritten(_in_place(call, library), True)
    if variant == "numpy":
        return _in_numpy_words(call, library)
    if variant == "out" or variant.startswith("out "):
        with_out = replace(call, kwargs={**call.kwargs, "out": ArrayArg("out")})
        return Rewritten(plain, written=call_text(with_out, library))
    return Rewritten(plain)


def _by_alias(call: ApiCall, library: Library, root: str) -> str:
    def name(api: str) -> str:
        plain = literals.dotted_name(api)
        return f"alias_of({root}, {plain})" if api == call.api else plain

    return call_text(call, library, name)


def _as_method(call: ApiCall, library: Library, method: str, copied: str) -> str:
    if not call.api[:1].isalpha() or not call.args:
        raise literals.Unprintable("it has no first argument")
    owner, *rest = (argument_text(item, library) for item in call.args)
    named = [f"{literals.name(key)}={argument_text(item, library)}" for key, item in call.kwargs.items()]
    return f"{owner}{copied}.{literals.name(method)}({', '.join([*rest, *named])})"


def _in_place(call: ApiCall, library: Library) -> str:
    """The method with an underscore, or ``inplace=True``, on a copy."""
    if ".functional." not in call.api:
        return _as_method(call, library, call.api.rpartition(".")[2] + "_", ".clone()")
    if not call.args:
        raise literals.Unprintable("it has no first argument")
    first, *rest = (argument_text(item, library) for item in call.args)
    named = [f"{literals.name(key)}={argument_text(item, library)}" for key, item in call.kwargs.items()]
    return f"{literals.dotted_name(call.api)}({', '.join([f'{first}.clone()', *rest, *named, 'inplace=True'])})"


def _in_numpy_words(call: ApiCall, library: Library) -> Rewritten:
    if not call.api[:1].isalpha() or any(inner is not call for inner in call.calls()):
        raise literals.Unprintable("a program is not NumPy's")
    words = {_IN_NUMPY.get(key, key): value for key, value in call.kwargs.items()}
    *_, inner, last = call.api.split(".")
    name = f"np.{inner}.{last}" if inner in ("fft", "linalg") else f"np.{last}"
    own = Library(library.imports, "np.array({})", "np.asarray({})", "np.{}")
    return Rewritten(call_text(replace(call, kwargs=words), own, lambda _: name), True, library=own)
