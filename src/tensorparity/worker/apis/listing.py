"""The public functions of an installed library as JSON: names, signatures, documentation, and what is left out.

An entry is ``{"name", "kind", "aliases", "parameters", "doc"}``; a class has ``call`` beside it, the parameters of
calling its instance; a raw operation has ``types``. What must never be called is in ``excluded`` with the reason
and nothing else: it is decided here, before anything could call it.
"""

import ast
import inspect
import re

from . import denied
from .forms import FormError, to_form

_LONGEST_DOC = 12000
_SKIPPED = ("self", "cls")


class Listing(object):
    """Entries by the callable behind them: a further name for one that is known becomes its alias."""

    def __init__(self):
        self._entries = {}
        self._known = {}
        self.excluded = {}

    def add(self, name, kind, function, parameters=None, key=None, **more):
        """Take in one public name; ``key`` identifies the callable where the object itself does not."""
        key = key if key is not None else id(function)
        if key in self._known:
            known = self._known[key]
            if known in self._entries and name not in self._entries[known]["aliases"]:
                self._entries[known]["aliases"].append(name)
            return
        self._known[key] = name
        doc = inspect.getdoc(function) or ""
        parameters = signature_of(function) if parameters is None else parameters
        reason = denied.reason(name, doc, parameters, more.get("call"))
        if reason:
            self.excluded[name] = reason
            return
        entry = {"name": name, "kind": kind, "aliases": [], "parameters": parameters, "doc": doc[:_LONGEST_DOC]}
        entry.update(more)
        self._entries[name] = entry

    def exclude(self, name, reason):
        """Leave a name out for a reason that only the caller knows."""
        self.excluded[name] = reason

    def alias(self, name, other):
        """Say that ``name`` is another name of a known entry."""
        if other in self._entries and name not in self._entries[other]["aliases"]:
            self._entries[other]["aliases"].append(name)

    def __contains__(self, name):
        return name in self._entries or name in self.excluded

    def reply(self, library):
        """Return the listing as JSON, sorted by name."""
        apis = [self._entries[name] for name in sorted(self._entries)]
        return {"library": library, "apis": apis, "excluded": dict(sorted(self.excluded.items()))}


def signature_of(function):
    """Return the parameters of a callable, or None where Python cannot say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return None
    return [parameter_of(item) for item in parameters if item.name not in _SKIPPED]


def documented(function, name):
    """Return the parameters out of the documentation's first line, ``name(a, b=1, *, c=None) -> ...``."""
    first = re.match(r"\s*" + re.escape(name) + r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)", inspect.getdoc(function) or "")
    if not first:
        return None
    try:
        tree = ast.parse("def f({}): pass".format(first.group(1)))
    except SyntaxError:
        return None
    arguments = tree.body[0].args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    found = [_documented(item, default) for item, default in zip(arguments.args, defaults)]
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        found.append(dict(_documented(item, default), keyword=True))
    return found


def _documented(item, default):
    found = {"name": item.arg}
    if default is not None:
        try:
            found["default"] = default_form(ast.literal_eval(default))
        except ValueError:
            found["default"] = {"$unwritten": "expression"}
    return found


def parameter_of(item):
    """Return one parameter as JSON; a default that has no form is said to be there, and never written."""
    found = {"name": item.name}
    if item.kind is item.VAR_POSITIONAL:
        found["many"] = True
    elif item.kind is item.VAR_KEYWORD:
        found["any"] = True
    elif item.kind is item.KEYWORD_ONLY:
        found["keyword"] = True
    if item.annotation is not item.empty:
        found["type"] = annotation_text(item.annotation)
    if item.default is not item.empty:
        found["default"] = default_form(item.default)
    return found


def default_form(value):
    try:
        return to_form(value, None)
    except FormError:
        return {"$unwritten": type(value).__name__}


def annotation_text(annotation):
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None)
    return text if text and "Union" not in str(annotation) else str(annotation)


def public_names(module):
    """Return the names a module offers, in order."""
    return sorted(name for name in dir(module) if not name.startswith("_"))


def functions_of(module):
    """Yield (name, object) of what can be called and is no class."""
    for name in public_names(module):
        found = getattr(module, name, None)
        if callable(found) and not inspect.isclass(found):
            yield name, found


def classes_of(module, base):
    """Yield (name, class) of the public classes derived from ``base``."""
    for name in public_names(module):
        found = getattr(module, name, None)
        if inspect.isclass(found) and issubclass(found, base) and found is not base:
            yield name, found
