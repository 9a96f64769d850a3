"""The worst number, and what it is computed from: everything else may go.

Other passes cut the leading corner out of an array, and the one number that shows a fault is rarely there. Which
inputs a number depends on is asked of the reference: slices are overwritten, and it either changes or it does not.
So an elementwise layer gets down to one number, a window to its window, a softmax to its axis.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph
from ...core.rule import is_fixed
from ...core.suspicion import WorstElement
from ...operators.functions.api import evaluate_call
from ...operators.functions.native import case_operator
from ...operators.reference.evaluate import evaluate_node
from ...operators.spec import ShapeError
from ...oracles.measure.editing import graph_inputs, graph_of, refit, with_arrays, with_params
from .operators import fits
from .reducer import Attempts

#: A part of an array: where it begins and where it ends, axis by axis.
Box = tuple[slice, ...]
#: The outputs of a case, from its inputs by name.
Function = Callable[[Mapping[str, Array]], Array]

#: A reference that takes longer is not asked dozens of times.
_SECONDS = 0.05
#: Parameters that say how many channels come out: one is enough.
_CHANNELS = ("filters", "units")


def keep_worst(attempts: Attempts) -> None:
    """The inputs of the worst number alone, else with a margin, else the instance it is in."""
    case, worst = attempts.case, attempts.best.worst
    if worst is None or is_fixed(case):
        return
    if isinstance(case.subject, ApiCall):
        inputs = dict(case.inputs)
    elif graph_of(case) is not None and len(case.subject.nodes) == 1:  # type: ignore[union-attr]
        inputs = graph_inputs(case)
    else:
        return
    if sum(array.size for array in inputs.values()) <= 1:
        return
    smallest, *others = _candidates(case, inputs, worst) or [None]
    if not attempts.first([smallest]):
        attempts.first(others)


def _candidates(case: Case, inputs: dict[str, Array], worst: WorstElement) -> list[Case | None]:
    """The one that is most likely to be it, then others."""
    found = _boxes_of_worst(case, inputs, worst)
    if found is None:
        box = tuple(slice(place, place + 1) for place in worst.index)
        alike = {name: box for name, array in inputs.items() if _holds(array, worst.index)}
        return [_case_of_boxes(case, inputs, alike, None)] if alike else []
    boxes, output = found
    wider = {name: _widened_box(box, inputs[name]) for name, box in boxes.items()}
    rows = {name: (box[0], *_whole(inputs[name])[1:]) for name, box in boxes.items() if box}
    single = _one_channel(case, worst)
    offered = [
        _case_of_boxes(case, inputs, boxes, output),
        _case_of_boxes(case, inputs, wider, None),
        _case_of_boxes(case, inputs, rows, None),
    ]
    if single is None:
        return offered
    alone, channel = (
        _case_of_boxes(single, inputs, boxes, output, worst),
        _case_of_boxes(single, inputs, _all(inputs), None, worst),
    )
    return [alone, *offered, channel]


def _holds(array: Array, index: tuple[int, ...]) -> bool:
    return array.ndim == len(index) and all(place < size for place, size in zip(index, array.shape, strict=True))


def _whole(array: Array) -> Box:
    return tuple(slice(0, size) for size in array.shape)


def _all(inputs: Mapping[str, Array]) -> dict[str, Box]:
    return {name: _whole(array) for name, array in inputs.items()}


def _widened_box(box: Box, array: Array) -> Box:
    """One more on either side; the batch needs no margin."""
    sides = [slice(max(0, part.start - 1), min(size, part.stop + 1)) for part, size in zip(box, array.shape)]  # noqa: B905
    return (box[0], *sides[1:]) if box else box


# --- what the worst number depends on


def _boxes_of_worst(case: Case, inputs: dict[str, Array], worst: WorstElement) -> tuple[dict[str, Box], Box] | None:
    """The box of every input that the worst number depends on, and the box of outputs that was asked about.

    Of a gradient, these are the outputs that its input reaches. None where the reference cannot say.
    """
    function = _function(case, worst)
    try:
        outputs = function(inputs)  # the first time, the catalogue may still have to be read
        began = time.thread_time()
        function(inputs)
        if time.thread_time() - began > _SECONDS:
            return None
        output = _box_reached(function, inputs, outputs, worst, case)
        if output is None:
            return None
        return {name: _box(function, inputs, name, outputs, output) for name in inputs}, output
    except (TensorParityError, ShapeError, KeyError, IndexError, TypeError, ValueError):
        return None


def _function(case: Case, worst: WorstElement) -> Function:
    def called(inputs: Mapping[str, Array]) -> Array:
        assert isinstance(case.subject, ApiCall)
        return evaluate_call(case.subject, dict(inputs)).value

    def layered(inputs: Mapping[str, Array]) -> Array:
        assert isinstance(case.subject, LayerGraph)
        (node,) = case.subject.nodes
        given = [inputs[ref.node] for ref in node.inputs]
        procedure = case.procedure
        found = evaluate_node(node, given, case.weights, training=procedure.training, dtype=procedure.dtype)
        return found[worst.output].value

    return called if isinstance(case.subject, ApiCall) else layered


def _box_reached(
    function: Function, inputs: Mapping[str, Array], outputs: Array, worst: WorstElement, case: Case
) -> Box | None:
    if worst.argument is None:
        return tuple(slice(place, place + 1) for place in worst.index) if _holds(outputs, worst.index) else None
    assert isinstance(case.subject, LayerGraph)
    name = case.subject.nodes[-1].inputs[worst.argument].node
    if not _holds(inputs[name], worst.index):
        return None
    changed = np.zeros(outputs.shape, bool)
    place = tuple(slice(at, at + 1) for at in worst.index)
    for other in _overwritten_arrays(inputs[name], place):
        changed |= _differs(function({**inputs, name: other}), outputs)
    places = np.argwhere(changed)
    if not len(places):
        return None
    return tuple(slice(int(low), int(high) + 1) for low, high in zip(places.min(0), places.max(0), strict=True))


def _box(function: Function, inputs: Mapping[str, Array], name: str, outputs: Array, output: Box) -> Box:
    array = inputs[name]

    def matters(axis: int, low: int, high: int) -> bool:
        part = tuple(slice(low, high) if other == axis else slice(None) for other in range(array.ndim))
        return any(
            bool(_differs(function({**inputs, name: changed})[output], outputs[output]).any())
            for changed in _overwritten_arrays(array, part)
        )

    box = []
    for axis, size in enumerate(array.shape):
        if size < 2 or not matters(axis, 0, size):
            box.append(slice(0, min(1, size)))
            continue
        first, last = _first(axis, size, matters), _last(axis, size, matters)
        box.append(slice(first, last + 1))
    return tuple(box)


def _first(axis: int, size: int, matters: Callable[[int, int, int], bool]) -> int:
    low, high = 0, size  # the first that matters is in here
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if matters(axis, low, middle) else (middle, high)
    return low


def _last(axis: int, size: int, matters: Callable[[int, int, int], bool]) -> int:
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if matters(axis, middle, high) else (low, middle)
    return low


def _overwritten_arrays(array: Array, part: Box) -> list[Array]:
    """The part as large and as small as it gets: a maximum sees only the one, a minimum only the other."""
    if array.dtype.kind in "iub":
        values = [array.max(), array.min()]
    else:
        finite = np.abs(array[np.isfinite(array)]).max(initial=0.0)
        with np.errstate(over="ignore"):  # beyond the largest number there is infinity, which is as large as it gets
            values = [4 * finite + 1, -4 * finite - 1]
    found = []
    for value in values:
        changed = array.copy()
        changed[part] = value
        found.append(changed)
    return found


def _differs(a: Array, b: Array) -> Array:
    differs: Array = (a != b) & ~((a != a) & (b != b))
    return differs


# --- cutting


def _one_channel(case: Case, worst: WorstElement) -> Case | None:
    """The layer with one channel coming out instead of many; its weights are cut later."""
    graph = graph_of(case)
    if graph is None or worst.argument is not None:
        return None
    (node,) = graph.nodes
    name = next((name for name in _CHANNELS if name in node.params), None)
    if name is None or node.params[name] in (0, 1) or node.params.get("data_format") == "channels_first":
        return None
    return replace(case, subject=with_params(graph, node, {**node.params, name: 1}, node.call_params))


def _case_of_boxes(
    case: Case,
    inputs: Mapping[str, Array],
    boxes: Mapping[str, Box],
    output: Box | None,
    channel: WorstElement | None = None,
) -> Case | None:
    """The case with only these parts of its inputs, and the parts of weights and cotangents that go with them."""
    cut = {name: np.ascontiguousarray(array[boxes[name]]) if name in boxes else array for name, array in inputs.items()}
    if isinstance(case.subject, ApiCall):
        smaller, operator = replace(case, inputs=cut), case_operator(case)
        return smaller if operator is None or fits(operator, smaller) else None
    assert isinstance(case.subject, LayerGraph)
    refitted = refit(case, case.subject, cut)
    if refitted is None:
        return None
    smaller = refitted
    windows = [(inputs[name].shape[1:], box[1:]) for name, box in boxes.items()]
    weights = {
        name: _weight_part(case.weights.get(name, array), array, windows, channel)
        for name, array in smaller.weights.items()
    }
    cotangents = {
        name: case.cotangents[name][output] if output and case.cotangents[name][output].shape == array.shape else array
        for name, array in smaller.cotangents.items()
    }
    return with_arrays(smaller, {"weights": weights, "cotangents": cotangents})


def _weight_part(
    old: Array, new: Array, windows: list[tuple[tuple[int, ...], Box]], channel: WorstElement | None
) -> Array:
    """The part of a weight that belongs to the kept part of the inputs, told by its sizes; else what it was cut to."""
    if old.ndim != new.ndim:
        return new
    for shape, box in windows:
        if old.shape == shape and old[box].shape == new.shape:
            return np.ascontiguousarray(old[box])  # one weight per input
    by_size = {size: part for shape, box in windows for size, part in zip(shape, box, strict=True)}
    parts = []
    for axis, (size, wanted) in enumerate(zip(old.shape, new.shape, strict=True)):
        part = by_size.get(size, slice(0, wanted))
        if channel is not None and axis == old.ndim - 1 and wanted == 1:
            part = slice(channel.index[-1], channel.index[-1] + 1)
        parts.append(part if part.stop - part.start == wanted else slice(0, wanted))
    kept = old[tuple(parts)]
    return np.ascontiguousarray(kept) if kept.shape == new.shape else new
