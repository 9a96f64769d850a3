"""Dot: the contraction of two inputs over one axis of each, sample by sample."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import Pair, flag, is_integer, refuse, sample_axes
from ..reference import carried
from ..reference.rounding import exact
from ..spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights
from .norms import unit_length

#: With ``normalize`` nothing is divided by less: Keras' fuzz factor.
_LEAST_LENGTH = 1e-7


def _axes(params: Params, shapes: Sequence[Shape]) -> Pair:
    value: Json = params["axes"]
    items = (value, value) if is_integer(value) else value
    if not isinstance(items, (tuple, list)) or len(items) != 2:
        refuse("axes", "an axis or a pair of them", value)
    try:
        (first,), (second,) = (sample_axes(item, "axes", len(shape)) for item, shape in zip(items, shapes, strict=True))
    except ShapeError:
        refuse("axes", "axes of the inputs other than the batch", value)
    return first, second


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    flag(params, "normalize")
    first, second = _axes(params, shapes)
    a, b = shapes
    if a[first] != b[second]:
        raise ShapeError(
            f"Argument `axes`: expected axes of one size. Received: axes={params['axes']!r}, shapes={list(shapes)}"
        )
    if None not in (a[0], b[0]) and a[0] != b[0]:
        raise ShapeError(f"Expected inputs of one batch size. Received: shapes={list(shapes)}")
    batch = a[0] if a[0] is not None else b[0]
    rest = (*(size for axis, size in enumerate(a) if axis not in (0, first)), *_shape_without(b, second))
    return ((batch, *(rest or (1,))),)


def _shape_without(shape: Shape, gone: int) -> Shape:
    return tuple(size for axis, size in enumerate(shape) if axis not in (0, gone))


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    axes = _axes(params, [x.shape for x in inputs])
    if flag(params, "normalize"):
        a, b = (unit_length(x, (axis,), _LEAST_LENGTH) for x, axis in zip(inputs, axes, strict=True))
    else:
        a, b = (exact(x) for x in inputs)
    found = carried.einsum(_equation(inputs, axes), a, b, inputs[0].shape[axes[0]])
    if found.value.ndim == 1:
        return (Evaluation(found.value[:, None], found.kappa[:, None]),)
    return (found,)


def _equation(inputs: Sequence[Array], axes: Pair) -> str:
    """Letters of their own for all axes but the batch and the one that is summed over."""
    letters = iter(string.ascii_lowercase)
    batch, summed = next(letters), next(letters)
    parts = []
    for x, gone in zip(inputs, axes, strict=True):
        parts.append("".join([batch, *(summed if axis == gone else next(letters) for axis in range(1, x.ndim))]))
    left, right = parts
    result = batch + "".join(letter for letter in left[1:] + right[1:] if letter != summed)
    return f"{left},{right}->{result}"


DOT = LayerSpec(
    name="Dot",
    api="keras.layers.Dot",
    arity=(2, 2),
    ranks=(2, 3),
    parameters=(
        Parameter("axes", None, (1, -1, 2, (1, 2), (2, 1), (-1, 1)), (0, (1, 2, 3), "last"), required=True),
        Parameter("normalize", False, (False, True)),
    ),
    shape=_shape,
    weights=no_weights,
    reference=_reference,
    formula=(
        "output = the products of the inputs summed over one axis of each, sample by sample; with normalize both are "
        "first divided by their length along it"
    ),
    listed=True,
    hazards=("two inputs of rank 2 give a column, not a vector",),
)
