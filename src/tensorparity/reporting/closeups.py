"""The pictures of a finding: a target's answer around its worst number, what is right there, and the difference.

The page's script draws them from the numbers that the finding keeps; the words say the same to whoever sees no
pictures, or reads the page without its script.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..core import jsontext
from ..core.closeup import Closeup
from ..core.jsontext import Json
from . import wording

_AGAINST = {"reference": "the float64 reference", "vote": "most targets"}
#: A difference counts as one of the large ones from this share of the largest on.
_LARGE = 0.1


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: its title, and the range of what it shows."""

    title: str
    range: str


@dataclass(frozen=True, slots=True)
class CloseupView:
    """What the page holds of a close-up.

    Args:
        data: for the page's script, as JSON.
        words: the pictures in words.
    """

    data: str
    words: str
    panels: tuple[Panel, ...]


def view(closeup: Closeup) -> CloseupView:
    right = _AGAINST[closeup.against]
    ranges = [_range(rows) for rows in (closeup.given, closeup.right, closeup.apart)]
    titles = [closeup.target, right, "difference"]
    panels = [Panel(title, text) for title, text in zip(titles, ranges, strict=True)]
    if closeup.is_curve:
        lines = f"{closeup.target} (thin line), {right} (broad line)"
        panels = [Panel(lines, _range((*closeup.given, *closeup.right))), panels[2]]
    return CloseupView(jsontext.document(_drawn(closeup), indent=None), _words(closeup), tuple(panels))


def _drawn(closeup: Closeup) -> Json:
    whole = closeup.to_json()
    kept = {name: whole[name] for name in ("given", "right", "apart")}
    return {**kept, "worst": list(closeup.worst), "curve": closeup.is_curve}


def _words(closeup: Closeup) -> str:
    row, column = closeup.worst
    apart = closeup.apart[row][column]
    given, right = closeup.given[row][column], closeup.right[row][column]
    by = f", by {wording.number(apart)}" if math.isfinite(apart) else ""
    large = sum(_is_large(value, apart) for values in closeup.apart for value in values)
    whole = math.prod(closeup.shape)
    shown = "All" if closeup.numbers == whole else f"{closeup.numbers} of the"
    return (
        f"{shown} {whole:,} numbers of an array of shape {_shape(closeup.shape)}. They differ most at "
        f"{list(closeup.index)}{by}: {closeup.target} gives {wording.number(given, digits=5)}, "
        f"{_AGAINST[closeup.against]} {_gives(closeup)} {wording.number(right, digits=5)}. "
        f"{large} of those shown differ by a tenth of that or more."
    )


def _gives(closeup: Closeup) -> str:
    return "give" if closeup.against == "vote" else "gives"


def _is_large(value: float, most: float) -> bool:
    return not value < _LARGE * most if math.isfinite(most) else not math.isfinite(value)


def _shape(sizes: Iterable[int]) -> str:
    return " × ".join(map(str, sizes))


def _range(rows: Iterable[Iterable[float]]) -> str:
    """``-0.2 to 1.3, 4 not finite``."""
    values = [value for row in rows for value in row]
    finite = [value for value in values if math.isfinite(value)]
    said = [f"{wording.number(min(finite))} to {wording.number(max(finite))}"] if finite else []
    return ", ".join([*said, *([f"{len(values) - len(finite)} not finite"] if len(finite) < len(values) else [])])
