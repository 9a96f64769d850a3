"""How numbers, lists and messages of strangers read, the same in every report."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping

from ..core.jsontext import Json

_TRACEBACK = "Traceback (most recent call last)"


def number(value: float | None, missing: str = "-", digits: int = 3) -> str:
    """So many significant digits; non-finite numbers as the contract spells them."""
    if value is None:
        return missing
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    mantissa, _, exponent = f"{value:.{digits - 2}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def share(value: float | None, missing: str = "-") -> str:
    """A percentage that says 100 % only when it is."""
    if value is None:
        return missing
    text = f"{100 * value:.1f}"
    return "99.9%+" if text == "100.0" and value < 1 else f"{text.removesuffix('.0')}%"


def seconds(value: float) -> str:
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def count(amount: int, noun: str, plural: str = "") -> str:
    """``1 case``, ``1,204 cases``."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def names(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    listed = list(words)
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} and {listed[-1]}"


def parameters(values: Mapping[str, Json]) -> str:
    """``padding='same', strides=2``."""
    return ", ".join(f"{name}={_parameter(value)}" for name, value in values.items())


def one_line(text: str, limit: int = 400) -> str:
    """The line of a message that says most: of a traceback the last, else the first; nothing that steers a terminal."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    line = visible(lines[-1] if _TRACEBACK in text else lines[0])
    return line if len(line) <= limit else line[: limit - 3] + "..."


def visible(text: str) -> str:
    """Control, format and surrogate characters as escapes: no name moves a cursor or turns the text around."""
    return "".join(_escape(char) if unicodedata.category(char) in _UNSEEN else char for char in text)


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def _parameter(value: Json) -> str:
    if isinstance(value, float):
        return number(value) if not math.isfinite(value) else repr(value)
    if isinstance(value, (list, tuple)):  # as a layer is given it, and as a store has it
        return f"[{', '.join(map(_parameter, value))}]"
    return repr(value)
