"""The one registry: every extension point maps names to dotted paths, ours and others' alike.

A third party adds to a point by an entry point in the group ``tensorparity.<point>``; nothing is
imported until the name is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from .errors import TensorParityError, UsageError
from .messages import gist
from .near_misses import meant

T = TypeVar("T")

#: The extension points of decision 12.
POINTS = ("target", "engine", "oracle", "rule", "layer", "operator", "report")


_PACKAGE = __name__.partition(".")[0]


class Registry(Generic[T]):
    """Names of one extension point.

    Args:
        point: one of ``POINTS``; also the end of the entry point group's name.
        builtin: our own names, as ``package.module:attribute``.
    """

    def __init__(self, point: str, builtin: Mapping[str, str]) -> None:
        if point not in POINTS:
            raise TensorParityError(f"no extension point {point!r}; there are {', '.join(POINTS)}")
        self.point = point
        self._paths = dict(builtin)
        self._ours = frozenset(builtin)
        self._loaded: dict[str, T] = {}
        self._scanned = False

    def names(self) -> list[str]:
        self._scan()
        return sorted(self._paths)

    def is_ours(self, name: str) -> bool:
        """Whether a name is no plug-in's."""
        return name in self._ours

    def __contains__(self, name: object) -> bool:
        self._scan()
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def get(self, name: str) -> T:
        """The object behind ``name``, imported on first use.

        Raises:
            UsageError: if nobody registered the name, or what it points at cannot be imported.
        """
        self._scan()
        if name not in self._loaded:
            if name not in self._paths:
                known = ", ".join(self.names()) or "none"
                raise UsageError(f"unknown {self.point} {name!r}{meant(name, self.names())}; known are {known}")
            self._loaded[name] = resolve(self.point, name, self._paths[name])
        return self._loaded[name]

    def make(self, name: str, *given: object) -> Any:
        """What the factory behind ``name`` makes.

        Raises:
            UsageError: for an unknown name, or a plug-in's factory that fails.
        """
        factory: Any = self.get(name)
        try:
            return factory(*given)
        except Exception as error:
            if isinstance(error, TensorParityError) or self.is_ours(name):
                raise
            raise UsageError(f"{self.point} {name!r} cannot be made: {_said(error)}") from error

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        for entry in entry_points(group=f"tensorparity.{self.point}"):
            self._paths.setdefault(entry.name, entry.value)  # ours win: a plug-in adds, it does not replace


def resolve(point: str, name: str, path: str) -> Any:
    """The object that ``package.module:attribute`` names.

    Raises:
        UsageError: where it cannot be imported; a module of a plug-in may fail in any way.
    """
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in filter(None, attribute.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{point} {name!r} points at {path!r}, which cannot be loaded: {error}") from error
    except Exception as error:
        if module.partition(".")[0] == _PACKAGE:
            raise
        raise UsageError(f"{point} {name!r} points at {path!r}, which cannot be loaded: {_said(error)}") from error
    return found


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {gist(str(error))}"
