"""Numbers made ready for a network: Normalization, Discretization, CategoryEncoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import axes_of, choice, flag, is_number, known_size, positive, refuse
from ..reference.rounding import exact, growth
from ..spec import (
    Conflict,
    Domain,
    Evaluation,
    LayerSpec,
    Parameter,
    Params,
    Shape,
    ShapeError,
    WeightSpec,
    no_weights,
)
from .masks import passed_on

#: No deviation that Normalization divides by is smaller: Keras' fuzz factor.
_LEAST_DEVIATION = 1e-7


# Normalization


def _axes_kept(params: Params, shape: Shape) -> tuple[int, ...]:
    """The axes that have statistics of their own; None means one mean for everything."""
    if params["axis"] is None:
        return ()
    return tuple(sorted(axes_of(params["axis"], "axis", len(shape))))


def _statistics_shape(params: Params, shape: Shape) -> tuple[int, ...]:
    return tuple(known_size(shape, axis, "of the statistics") for axis in _axes_kept(params, shape))


def _mean_and_variance(params: Params, shape: Shape) -> tuple[Array, Array] | None:
    """Mean and variance as arguments, or None where they are weights that ``adapt`` sets."""
    if params["mean"] is None and params["variance"] is None:
        return None
    for name in ("mean", "variance"):
        if not is_number(params[name]):
            refuse(name, "a number, or None for both mean and variance", params[name])
    sizes = _statistics_shape(params, shape)
    return np.full(sizes, float(params["mean"])), np.full(sizes, float(params["variance"]))


def _normalized_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    flag(params, "invert")
    _statistics_shape(params, shapes[0])
    _mean_and_variance(params, shapes[0])
    return (shapes[0],)


def _normalization_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    if _mean_and_variance(params, shapes[0]) is not None:
        return {}
    sizes = _statistics_shape(params, shapes[0])
    return {
        "mean": WeightSpec(sizes, "mean", trainable=False),
        "variance": WeightSpec(sizes, "variance", trainable=False),
        "count": WeightSpec((), "scale", trainable=False),
    }


def _normalize(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    given = _mean_and_variance(params, x.shape)
    mean, variance = (weights["mean"], weights["variance"]) if given is None else given
    kept = _axes_kept(params, x.shape)
    along = [size if axis in kept else 1 for axis, size in enumerate(x.shape)]
    mean, deviation = mean.reshape(along), np.maximum(np.sqrt(variance.reshape(along)), _LEAST_DEVIATION)
    if flag(params, "invert"):
        scaled = x * deviation
        return (Evaluation(mean + scaled, np.abs(mean) + 2.0 * np.abs(scaled)),)
    return (Evaluation((x - mean) / deviation, (np.abs(x) + np.abs(mean) + np.abs(x - mean)) / deviation),)


NORMALIZATION = LayerSpec(
    name="Normalization",
    api="keras.layers.Normalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(
        Parameter("axis", -1, (-1, 1, None, (1, -1)), (7, "channels")),
        Parameter("mean", None, (None, 0.5, -2.0), ("much",)),
        Parameter("variance", None, (None, 4.0, 0.25), ("much",)),
        Parameter("invert", False, (False, True)),
    ),
    shape=_normalized_shape,
    weights=_normalization_weights,
    reference=_normalize,
    formula="output = (input - mean) / sqrt(variance), or inverted mean + input * sqrt(variance)",
    conflicts=(
        Conflict({"mean": 0.5, "variance": None}, "mean and variance come together or not at all"),
        Conflict({"mean": None, "variance": 4.0}, "mean and variance come together or not at all"),
    ),
    stages=("inference", "training", "backward"),  # no weight of it is trained
    hazards=("weights that are assigned count only after finalize_state",),
    masks=passed_on,
)


# Counting and flagging


def encoded_shape(mode: str, depth: int, shape: Shape) -> Shape:
    """One-hot adds an axis, unless the last one holds a single entry; the others replace the last."""
    single = len(shape) > 1 and shape[-1] == 1
    return (*shape, depth) if mode == "one_hot" and not single else (*shape[:-1], depth)


def encode(mode: str, depth: int, indices: Array) -> Array:
    """Flags or counts of indices; an index outside of the depth leaves no trace."""
    flags = (indices[..., None] == np.arange(depth)).astype(np.float64)
    if mode == "one_hot":
        single: Array = flags[..., 0, :] if indices.ndim > 1 and indices.shape[-1] == 1 else flags
        return single
    counts: Array = flags.sum(axis=-2)
    present: Array = np.minimum(counts, 1.0)
    return counts if mode == "count" else present


# Discretization


def _boundaries(params: Params) -> Array:
    value: Json = params["bin_boundaries"]
    if not isinstance(value, (tuple, list)) or not value or not all(is_number(item) for item in value):
        refuse("bin_boundaries", "a sequence of numbers", value)
    if any(after <= before for before, after in zip(value, value[1:], strict=False)):
        refuse("bin_boundaries", "ascending numbers", value)
    return np.asarray(value, dtype=np.float64)


def _binned_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    mode = choice(params, "output_mode", ("int", "one_hot", "multi_hot", "count"))
    depth = len(_boundaries(params)) + 1
    return (shapes[0] if mode == "int" else encoded_shape(mode, depth, shapes[0]),)


def _bin(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    boundaries, mode = _boundaries(params), params["output_mode"]
    indices = np.searchsorted(boundaries, inputs[0], side="right").astype(np.float64)
    return (exact(indices if mode == "int" else encode(mode, len(boundaries) + 1, indices)),)


DISCRETIZATION = LayerSpec(
    name="Discretization",
    api="keras.layers.Discretization",
    arity=(1, 1),
    ranks=(2,),
    parameters=(
        Parameter(
            "bin_boundaries",
            None,
            ((0.0,), (-1.0, 0.0, 1.5), (-2.0, -1.0, -0.5, 0.25, 3.0)),
            ("much",),
            required=True,
        ),
        Parameter("output_mode", "int", ("int", "one_hot", "multi_hot", "count"), ("tf_idf",)),
    ),
    shape=_binned_shape,
    weights=no_weights,
    reference=_bin,
    formula="output = how many boundaries are at most the input, as a number or as flags",
    discontinuous=True,
    hazards=("a boundary belongs to the bin above it",),
)


# CategoryEncoding


def _category_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    mode = choice(params, "output_mode", ("multi_hot", "one_hot", "count"))
    if len(shapes[0]) < 2:
        raise ShapeError(f"Expected an input of rank 2 or more, batch axis included. Received: shape={shapes[0]}")
    if len(shapes) > 1 and mode != "count":
        raise ShapeError(f"Expected no weights unless they are counted. Received: output_mode={mode!r}")
    if len(shapes) > 1 and shapes[1] != shapes[0]:
        raise ShapeError(f"Expected a weight for each entry. Received: shapes={list(shapes)}")
    return (encoded_shape(mode, positive(params, "num_tokens"), shapes[0]),)


def _categories(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    depth = positive(params, "num_tokens")
    if len(inputs) == 1:
        return (exact(encode(params["output_mode"], depth, inputs[0])),)
    flags = inputs[0][..., None] == np.arange(depth)
    counted = np.where(flags, inputs[1][..., None], 0.0)
    sizes = np.abs(counted).sum(axis=-2)
    return (Evaluation(counted.sum(axis=-2), growth(inputs[0].shape[-1]) * sizes),)


CATEGORY_ENCODING = LayerSpec(
    name="CategoryEncoding",
    api="keras.layers.CategoryEncoding",
    arity=(1, 2),
    ranks=(2, 3),
    parameters=(
        Parameter("num_tokens", None, (1, 3, 6), (0, -1), required=True),
        Parameter("output_mode", "multi_hot", ("multi_hot", "one_hot", "count"), ("int", "tf_idf")),
    ),
    shape=_category_shape,
    weights=no_weights,
    reference=_categories,
    formula=(
        "output = per sample a flag for each token present, the number of times it is, or a row of flags per entry; "
        "with count_weights, the second input, each entry counts as its weight"
    ),
    domain=lambda params: Domain("int32", 0, positive(params, "num_tokens")),
    further={"count_weights": Domain()},
    discontinuous=True,
    hazards=("the last axis is the sample: it is replaced by num_tokens",),
)
