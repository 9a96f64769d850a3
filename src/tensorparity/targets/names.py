"""Target names: ``framework[:flavour][@environment][{setting=value,...}]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..core.errors import UnknownTargetError

_NAME = re.compile(
    r"(?P<framework>[a-z][a-z0-9_]*)(?::(?P<flavour>[a-z0-9_.]+))?"
    r"(?:(?:@(?P<environment>[\w.-]+))|(?:\{(?P<settings>[^{}]*)\}))*"
)
_GRAMMAR = "framework[:flavour][@environment][{NAME=value,...}], for example keras:jax or onnxruntime@nightly"


@dataclass(frozen=True, slots=True)
class TargetName:
    """A parsed target name; ``str`` gives the canonical form, settings sorted."""

    framework: str
    flavour: str = ""
    environment: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(sorted(self.settings.items()))))

    @property
    def base(self) -> str:
        """Framework and flavour alone: what the table of targets knows."""
        return f"{self.framework}:{self.flavour}" if self.flavour else self.framework

    @property
    def environment_variables(self) -> dict[str, str]:
        """Settings in capitals are environment variables of the worker."""
        return {name: value for name, value in self.settings.items() if name.isupper()}

    @property
    def options(self) -> dict[str, str]:
        """All other settings are options of the adapter (``threads=2``)."""
        return {name: value for name, value in self.settings.items() if not name.isupper()}

    def __str__(self) -> str:
        text = self.base
        if self.environment:
            text += f"@{self.environment}"
        if self.settings:
            text += "{" + ",".join(f"{name}={value}" for name, value in self.settings.items()) + "}"
        return text


def parse_target(text: str) -> TargetName:
    """Parse one target name.

    Raises:
        UnknownTargetError: if the text does not follow the grammar.
    """
    match = _NAME.fullmatch(text.strip())
    if not match or text.count("{") > 1 or text.count("@") > 1:
        raise UnknownTargetError(f"{text!r} is not a target name; expected {_GRAMMAR}")
    return TargetName(
        framework=match["framework"],
        flavour=match["flavour"] or "",
        environment=match["environment"] or "",
        settings=_parse_settings(text, match["settings"] or ""),
    )


def _parse_settings(text: str, settings: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in settings.split(","))):
        name, equals, value = item.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UnknownTargetError(f"setting {item!r} in {text!r} is not NAME=value")
        if name in found:
            raise UnknownTargetError(f"setting {name!r} is given twice in {text!r}")
        found[name] = value
    return found


def split_targets(text: str) -> list[str]:
    """Split a comma-separated list; commas inside braces belong to the settings."""
    parts = re.split(r",(?![^{]*\})", text)
    return [part.strip() for part in parts if part.strip()]
