"""Small charts as inline SVG: boxes, bars and lines on a logarithmic axis, in the page's own colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ..core.operator_errors import Spread

_WIDTH, _HEIGHT = 720.0, 260.0
_LEFT, _BOTTOM, _TOP = 64.0, 26.0, 32.0
#: Bars of this width have room for their number.
_ROOMY = 28.0
#: To be told apart on a light and on a dark ground.
_COLOURS = ("#4a7dbd", "#c4622d", "#3a8a5f", "#b3405a", "#8a5fb0", "#a08400", "#2f9aa5", "#7d7d7d")
#: Names in one row of a legend at most, its height, and the room of a letter and of a mark.
_PER_ROW, _ROW, _LETTER, _MARK = 5, 18.0, 6.6, 26.0
#: So few decades leave room for lines between them.
_FEW = 3


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis over whole decades; zero and what is below stand at its foot."""

    low: int
    high: int

    @classmethod
    def over(cls, values: Iterable[float]) -> Axis:
        exponents = [math.log10(value) for value in values if 0 < value < math.inf]
        low, high = (math.floor(min(exponents)), math.ceil(max(exponents))) if exponents else (-1, 0)
        return cls(max(low, high - 12), max(high, low + 1))

    def ticks(self, step: int) -> list[tuple[float, str]]:
        """Where lines are drawn, and what they say: decades, and between few of them the twos and fives."""
        powers = range(self.low, self.high + 1, step)
        found = [(10.0**power, f"1e{power}") for power in powers]
        if self.high - self.low <= _FEW:
            found += [(digit * 10.0**power, f"{digit}e{power}") for power in powers[:-1] for digit in (2, 5)]
        return found

    def at(self, value: float) -> float:
        floor = _HEIGHT - _BOTTOM
        if not value > 0:
            return floor
        share = (min(math.log10(value), self.high) - self.low) / (self.high - self.low)
        return round(floor - max(0.0, share) * (floor - _TOP), 1)


def _text(x: float, y: float, words: object, anchor: str = "middle", size: int = 11) -> str:
    look = f'text-anchor="{anchor}" font-size="{size}" fill="var(--soft)"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = "var(--line)") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _frame(axis: Axis, parts: Iterable[str], label: str, legend: Sequence[str] = ()) -> Markup:
    step = max(1, (axis.high - axis.low) // 6)
    ticks = [
        _line(_LEFT, axis.at(value), _WIDTH, axis.at(value)) + _text(_LEFT - 6, axis.at(value) + 4, said, "end")
        for value, said in axis.ticks(step)
    ]
    per_row = _per_row(legend)
    rows = -(-len(legend) // per_row)
    width = (_WIDTH - _LEFT) / per_row
    marks = [
        _mark(_LEFT + width * (index % per_row), _HEIGHT + _ROW * (index // per_row), name, _colour(index))
        for index, name in enumerate(legend)
    ]
    height = _HEIGHT + _ROW * rows
    size = f'viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(label)}"'
    title = _text(0.0, 11.0, label, "start")  # what the vertical axis shows, and in which unit
    return Markup(f'<svg class="plot" {size} width="100%">{"".join((title, *ticks, *parts, *marks))}</svg>')


def _per_row(legend: Sequence[str]) -> int:
    """As many names as stand beside each other without touching."""
    longest = max((len(name) for name in legend), default=0)
    fitting = int((_WIDTH - _LEFT) // (_MARK + _LETTER * longest))
    return max(1, min(_PER_ROW, fitting, len(legend) or 1))


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]


def _mark(x: float, y: float, name: str, colour: str) -> str:
    square = f'<rect x="{x:.1f}" y="{y:.1f}" width="10" height="10" fill="{colour}"/>'
    return square + _text(x + 14, y + 9, name, "start")


def _slots(names: Sequence[str]) -> dict[str, float]:
    """The middle of every name's place on the horizontal axis."""
    width = (_WIDTH - _LEFT) / max(1, len(names))
    return {name: _LEFT + width * (index + 0.5) for index, name in enumerate(names)}


def _names(slots: Mapping[str, float]) -> list[str]:
    return [_text(x, _HEIGHT - _BOTTOM + 16, name) for name, x in slots.items()]


def boxes(series: Mapping[str, Mapping[str, Spread]], label: str) -> Markup:
    """A box plot without outliers: by series, then by name."""
    names = list(dict.fromkeys(name for values in series.values() for name in values))
    spreads = [spread for values in series.values() for spread in values.values()]
    axis = Axis.over(v for s in spreads for v in (s.low, s.first, s.median, s.third, s.high))
    slots = _slots(names)
    room = (_WIDTH - _LEFT) / max(1, len(names)) * 0.7
    width = min(26.0, room / max(1, len(series)))
    parts: list[str] = []
    for index, values in enumerate(series.values()):
        shift = (index - (len(series) - 1) / 2) * width
        parts += [
            _box(slots[name] + shift, width * 0.8, spread, axis, _colour(index)) for name, spread in values.items()
        ]
    return _frame(axis, [*parts, *_names(slots)], label, list(series) if len(series) > 1 else ())


def _box(x: float, width: float, spread: Spread, axis: Axis, colour: str) -> str:
    top, bottom, middle = axis.at(spread.third), axis.at(spread.first), axis.at(spread.median)
    left = x - width / 2
    return (
        _line(x, axis.at(spread.low), x, axis.at(spread.high), colour)
        + f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(1.0, bottom - top):.1f}" '
        f'fill="var(--card)" stroke="{colour}"/>' + _line(left, middle, left + width, middle, colour)
    )


def bars(series: Mapping[str, Mapping[str, float | None]], label: str) -> Markup:
    """Bars side by side; where there is no value, "n/a"."""
    names = list(dict.fromkeys(name for values in series.values() for name in values))
    axis = Axis.over(value for values in series.values() for value in values.values() if value)
    axis = Axis(axis.low - 1, axis.high)  # so that the smallest has a height
    slots = _slots(names)
    width = min(36.0, (_WIDTH - _LEFT) / max(1, len(names)) * 0.75 / max(1, len(series)))
    floor = _HEIGHT - _BOTTOM
    parts: list[str] = []
    for index, values in enumerate(series.values()):
        shift = (index - len(series) / 2) * width
        for name, value in values.items():
            x = slots[name] + shift
            if value is None:
                parts.append(_text(x + width / 2, floor - 4, "n/a"))
                continue
            y = axis.at(value)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width * 0.85:.1f}" height="{floor - y:.1f}" '
                f'fill="{_colour(index)}"><title>{escape(name)}: {value:.3g}</title></rect>'
            )
            if width >= _ROOMY:
                parts.append(_text(x + width * 0.42, y - 4, f"{value:.1e}".replace("e-0", "e-"), size=9))
    return _frame(axis, [*parts, *_names(slots)], label, list(series))


def lines(series: Mapping[str, Sequence[float]], label: str) -> Markup:
    """One line per series over equal steps; what the colours do not suffice for is dashed."""
    axis = Axis.over(value for values in series.values() for value in values)
    count = max((len(values) for values in series.values()), default=1)
    step = (_WIDTH - _LEFT - 20) / max(1, count - 1)
    parts = []
    for index, (name, values) in enumerate(series.items()):
        points = " ".join(f"{_LEFT + step * place:.1f},{axis.at(value):.1f}" for place, value in enumerate(values))
        dashed = ' stroke-dasharray="4 3"' if index >= len(_COLOURS) else ""
        look = f'fill="none" stroke="{_colour(index)}" stroke-width="1.6"{dashed}'
        parts.append(f'<polyline points="{points}" {look}><title>{escape(name)}</title></polyline>')
    marks = [_text(_LEFT + step * place, _HEIGHT - _BOTTOM + 16, place + 1) for place in range(0, count, 4)]
    marks.append(_text(_LEFT - 6, _HEIGHT - _BOTTOM + 16, "group", "end"))
    return _frame(axis, [*parts, *marks], label, list(series))
