"""Trainings side by side, as a reader wants them: a few steps of many, the layers furthest apart, two charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..core.comparison import Comparison
from ..core.training import LayerDrift, Training
from ..core.verdict import Stage
from . import wording

#: Steps of a chart at most: more points than pixels say nothing.
_MOST_POINTS = 400


def of_training(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """The comparisons of whole trainings."""
    return [comparison for comparison in comparisons if comparison.verdict.stage is Stage.UPDATE]


def of_outputs(comparisons: Iterable[Comparison]) -> list[Comparison]:
    return [comparison for comparison in comparisons if comparison.verdict.stage is not Stage.UPDATE]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step: the loss of each target before it, and whether the weights part in it."""

    step: int
    losses: tuple[float | None, ...]
    difference: float | None
    parts: bool


def step_rows(training: Training, most: int) -> list[StepRow]:
    """At most so many steps, evenly taken, with the first, the last and the one where the weights part."""
    first = training.first
    wanted = {first.step} if first else set()
    steps = sorted(wanted | set(_step_numbers(training.steps, most - len(wanted))))
    gaps = loss_gaps(training)
    return [
        StepRow(
            step,
            tuple(values[step - 1] if step <= len(values) else None for values in training.losses.values()),
            gaps[step - 1],
            parts=step in wanted,
        )
        for step in steps
    ]


def loss_gaps(training: Training) -> list[float | None]:
    """Per step, the spread of the losses over the largest of them; None where fewer than two targets have one."""
    return [
        _gap([values[index] for values in training.losses.values() if index < len(values)])
        for index in range(training.steps)
    ]


def _gap(losses: Sequence[float]) -> float | None:
    if len(losses) < 2:
        return None
    if not all(math.isfinite(loss) for loss in losses):
        return 0.0 if len({str(loss) for loss in losses}) == 1 else math.inf
    largest = max(abs(loss) for loss in losses)
    return (max(losses) - min(losses)) / largest if largest else 0.0


def by_drift(training: Training) -> list[LayerDrift]:
    """The layers, those first whose weights are furthest apart at the end."""
    return sorted(training.layers, key=lambda layer: -layer.difference)


def headline(training: Training) -> str:
    """``20 steps on the same batches; they diverge at step 3 in conv1 (kernel).``"""
    steps = f"{wording.count(training.steps, 'step')} on the same batches"
    first = training.first
    if len(training.losses) < 2:
        return f"{steps}; fewer than two targets finished them."
    if first is None:
        return f"{steps}; the weights stay close together."
    weight = first.weight.partition("/")[2]
    return f"{steps}; the weights diverge at step {first.step} in {first.layer}{f' ({weight})' if weight else ''}."


def _step_numbers(count: int, most: int) -> list[int]:
    """Numbers from 1 to ``count``, the ends among them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(index * (count - 1) / (most - 1)) for index in range(most)})


# --- charts -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as the points of one polyline per unbroken piece, in pixels."""

    name: str
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    position: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One set of axes with its curves; ``mark`` is where the weights part."""

    title: str
    width: int
    height: int
    left: int
    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    mark: float | None = None

    @property
    def bottom(self) -> int:
        return self.height - _BELOW

    @property
    def top(self) -> int:
        return _ABOVE

    @property
    def right(self) -> int:
        return self.width - _BESIDE


_ABOVE, _BELOW, _LEFT, _BESIDE = 14, 26, 70, 16
_WIDTH, _HEIGHT = 960, 230


def charts(training: Training) -> tuple[Chart, ...]:
    """The losses, and below them how far losses and weights are apart, on a logarithmic axis."""
    if not training.losses:
        return ()
    shown: list[tuple[str, Sequence[float | None]]] = [("losses", loss_gaps(training)), ("weights", training.drift)]
    apart = [(name, values) for name, values in shown if any(value is not None for value in values)]
    found = [_chart("loss before each step", list(training.losses.items()), training)]
    if apart:
        found.append(_chart("largest relative difference", apart, training, logarithmic=True))
    return tuple(found)


def _chart(
    title: str, curves: Sequence[tuple[str, Sequence[float | None]]], training: Training, *, logarithmic: bool = False
) -> Chart:
    steps = _step_numbers(training.steps, _MOST_POINTS)
    axis = _Axis.over([value for _, values in curves for value in values], logarithmic)
    lines = tuple(Line(name, _pieces(values, steps, training.steps, axis)) for name, values in curves)
    across = tuple(Tick(_x(step, training.steps), f"{step:,}") for step in _step_numbers(training.steps, 8))
    up = tuple(Tick(axis.pixel(value), _tick(value, axis)) for value in axis.ticks())
    mark = _x(training.first.step, training.steps) if training.first else None
    return Chart(title, _WIDTH, _HEIGHT, _LEFT, lines, across, up, mark)


def _tick(value: float, axis: _Axis) -> str:
    if axis.logarithmic:
        return f"1e{round(math.log10(value))}"
    return wording.number(0.0 if abs(value) < 1e-9 * (axis.high - axis.low) else value, digits=4)


@dataclass(frozen=True, slots=True)
class _Axis:
    """From a value to its pixel; the logarithmic one has whole decades, and its lowest line stands for zero."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, values: Iterable[float | None], logarithmic: bool) -> _Axis:
        known = [value for value in values if value is not None and math.isfinite(value)]
        if logarithmic:
            exponents = [math.log10(value) for value in known if value > 0] or [-8.0]
            lowest = math.floor(min(exponents))
            return cls(lowest, max(math.ceil(max(exponents)), lowest + 1), True)
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if 0 <= low < 0.5 * high:
            low = 0.0  # where there is little room below, the whole of it is shown
        step = _round_step((high - low) or abs(high) or 1.0)
        return cls(step * math.floor(low / step), step * max(math.ceil(high / step), math.floor(low / step) + 1), False)

    def pixel(self, value: float) -> float:
        place = (math.log10(value) if value > 0 else self.low) if self.logarithmic else value
        share = min(1.0, max(0.0, (place - self.low) / (self.high - self.low)))
        return round(_ABOVE + (1 - share) * (_HEIGHT - _ABOVE - _BELOW), 1)

    def ticks(self) -> list[float]:
        if self.logarithmic:
            low, high = int(self.low), int(self.high)
            return [10.0**exponent for exponent in range(low, high + 1, max(1, math.ceil((high - low) / 6)))]
        step = _round_step(self.high - self.low)
        return [self.low + step * index for index in range(round((self.high - self.low) / step) + 1)]


def _round_step(width: float) -> float:
    """1, 2 or 5 times a power of ten, so that about four of them make the width."""
    power = 10.0 ** math.floor(math.log10(width / 4))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.999 * width / 4)


def _x(step: int, steps: int) -> float:
    share = (step - 1) / (steps - 1) if steps > 1 else 0.5
    return round(_LEFT + share * (_WIDTH - _LEFT - _BESIDE), 1)


def _pieces(values: Sequence[float | None], steps: Sequence[int], total: int, axis: _Axis) -> tuple[str, ...]:
    """Points in pieces that end where a value is missing or no number."""
    pieces: list[list[str]] = [[]]
    for step in steps:
        value = values[step - 1] if step <= len(values) else None
        if value is not None and math.isinf(value) and axis.logarithmic:
            value = 10.0**axis.high
        if value is None or not math.isfinite(value):
            pieces.append([])
        else:
            pieces[-1].append(f"{_x(step, total)},{axis.pixel(value)}")
    return tuple(" ".join(piece) for piece in pieces if piece)
