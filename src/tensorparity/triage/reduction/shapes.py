"""Smaller shapes: the batch, the axes of the inputs, and the sizes among the parameters.

Each of them is a knob that can be turned down. Everything to 1 comes first, then everything to at most 2 and
3, then as many knobs as can go to 1, then the stuck ones step by step. Axes of one size at one position are
one knob, for two inputs of a merge must stay alike. What the shape rules refuse costs no check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...core.arrays import Array
from ...core.case import Case
from ...core.graph import LayerGraph
from ...core.jsontext import Json
from ...oracles.measure.editing import cut_array, graph_inputs, graph_of, refit, with_params
from .reducer import Attempts
from .splitting import apply_most

_CAPS = (1, 2, 3)
#: Numbers that are no sizes: turning them down changes the meaning.
_NO_SIZES = ("axis", "axes", "dims", "seed", "vocabulary", "data_format")


@dataclass(frozen=True)
class Knob:
    """One size: ``axis`` of all inputs that are ``size`` long there, or ``parameter`` of node ``owner``."""

    size: int
    axis: int = -1
    owner: str = ""
    parameter: str = ""


def shrink_shapes(attempts: Attempts) -> None:
    if graph_of(attempts.case) is None:
        return
    for cap in _CAPS:
        knobs = knobs_of(attempts.case)
        if max((knob.size for knob in knobs), default=0) <= cap:
            break
        if attempts.first([with_knobs_capped(attempts.case, knobs, cap)]):
            break
    stuck = apply_most(attempts, knobs_of(attempts.case), lambda case, knobs: with_knobs_capped(case, knobs, 1))
    for knob in stuck:
        _step_down(attempts, knob)


def _step_down(attempts: Attempts, knob: Knob) -> None:
    """A knob that cannot go to 1: to 2 or 3, else down by halves and then by one."""
    now = _now(attempts.case, knob)
    if now is None or now.size <= 2:
        return
    smallest = attempts.first(with_knobs_capped(attempts.case, [now], size) for size in (2, 3) if size < now.size)
    while smallest is None and now is not None and now.size > 4:
        sizes = [size for size in dict.fromkeys((now.size // 2, now.size - 1)) if size > 3]
        if not attempts.first(with_knobs_capped(attempts.case, [now], size) for size in sizes):
            return
        now = _now(attempts.case, knob)


def _now(case: Case, knob: Knob) -> Knob | None:
    """The same knob at its present size; the largest of them, where its axes have parted."""
    same = [k for k in knobs_of(case) if (k.axis, k.owner, k.parameter) == (knob.axis, knob.owner, knob.parameter)]
    return max((k for k in same if k.size <= knob.size), key=lambda k: k.size, default=None)


def knobs_of(case: Case) -> list[Knob]:
    """Everything larger than 1 that can be turned down, the batch first."""
    graph = graph_of(case)
    assert graph is not None
    steps = case.procedure.steps or 1
    found: dict[Knob, None] = {}
    for array in graph_inputs(case).values():
        for axis, size in enumerate(array.shape):
            if size > (steps if axis == 0 else 1):
                found[Knob(size, axis)] = None
    for node in graph.nodes:
        for name, value in node.params.items():
            size = _largest(value)
            if size > 1 and not any(word in name for word in _NO_SIZES) and node.call == 0:
                found[Knob(size, owner=node.name, parameter=name)] = None
    return sorted(found, key=lambda knob: (knob.axis != 0, knob.owner, knob.axis, knob.parameter))


def _largest(value: Json) -> int:
    if isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return value
    if isinstance(value, (list, tuple)):
        return max((_largest(item) for item in value), default=0)
    return 0


def with_knobs_capped(case: Case, knobs: Sequence[Knob], cap: int) -> Case | None:
    """The case with these sizes at most ``cap``."""
    graph = graph_of(case)
    assert graph is not None
    inputs = {name: _turn(array, knobs, cap, case.procedure.steps or 1) for name, array in graph_inputs(case).items()}
    return refit(case, _turn_parameters(graph, knobs, cap), inputs)


def _turn(array: Array, knobs: Sequence[Knob], cap: int, steps: int) -> Array:
    wanted = {(knob.axis, knob.size) for knob in knobs if not knob.parameter}
    shape = [
        min(size, cap * steps if axis == 0 else cap) if (axis, size) in wanted else size
        for axis, size in enumerate(array.shape)
    ]
    return cut_array(array, tuple(shape))


def _turn_parameters(graph: LayerGraph, knobs: Sequence[Knob], cap: int) -> LayerGraph:
    for knob in knobs:
        if knob.parameter:
            node = graph.node(knob.owner)
            params = {**node.params, knob.parameter: _capped_value(node.params[knob.parameter], cap)}
            graph = with_params(graph, node, params, node.call_params)
    return replace(graph)


def _capped_value(value: Json, cap: int) -> Json:
    if isinstance(value, (list, tuple)):
        return [_capped_value(item, cap) for item in value]
    return min(value, cap) if isinstance(value, int) and not isinstance(value, bool) else value
