"""A pytest plug-in that changes one symbol of the package before anything imports it.

``-p mutating`` with ``TENSORPARITY_MUTATION`` set to JSON of module, symbol, old and new: where the module is loaded,
the text of the symbol's definition is changed. Whoever imports the symbol gets the changed one, under whatever name.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import os
import sys
from pathlib import Path
from types import CodeType


def definition(source: str, symbol: str) -> tuple[int, int]:
    """Where the definition of a symbol (``name`` or ``Class.name``) begins and ends in a source.

    Raises:
        LookupError: if there is none, or several.
    """
    body: list[ast.stmt] = ast.parse(source).body
    *holders, name = symbol.split(".")
    for holder in holders:
        (owner,) = [node for node in body if isinstance(node, ast.ClassDef) and node.name == holder]
        body = owner.body
    found = [node for node in body if name in _names(node)]
    if len(found) != 1:
        raise LookupError(f"{symbol} is defined {len(found)} times")
    lines = source.splitlines(keepends=True)
    ends = [sum(map(len, lines[:count])) for count in (found[0].lineno - 1, found[0].end_lineno or 0)]
    return ends[0], ends[1]


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return {part.id for part in names}


def mutated(source: str, symbol: str, old: str, new: str) -> str:
    """The source with ``old``, which stands once in the symbol's definition, replaced.

    Raises:
        LookupError: if there is no such symbol, or the text does not stand in it exactly once.
    """
    start, end = definition(source, symbol)
    text = source[start:end]
    if text.count(old) != 1:
        raise LookupError(f"{old!r} stands {text.count(old)} times in {symbol}")
    return source[:start] + text.replace(old, new) + source[end:]


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one module from its changed text."""

    change: tuple[str, str, str] = ("", "", "")

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(mutated(Path(path).read_text(encoding="utf-8"), *self.change), path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds that module before anybody else does."""

    def __init__(self, module: str, change: tuple[str, str, str]) -> None:
        self._module, self._change = module, change

    def find_spec(self, fullname, path=None, target=None):  # type: ignore[no-untyped-def]
        if fullname != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(fullname, spec.origin)
        loader.change = self._change
        spec.loader = loader
        return spec


if _MUTATION := os.environ.get("TENSORPARITY_MUTATION"):
    _asked = json.loads(_MUTATION)
    assert _asked["module"] not in sys.modules, "the module was imported before it could be changed"
    sys.meta_path.insert(0, _Finder(_asked["module"], (_asked["symbol"], _asked["old"], _asked["new"])))
