"""Layers that move values, as ONNX operators: shapes, margins, sizes of images, bins; and those that pass them on."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...core.jsontext import Json
from ...operators.arguments import channels_first, margins_of, pair, positive, sizes
from ...operators.catalogue import layer, layer_names
from ...operators.layers.spatial import spatial_axes
from .onnx_graph import Lowering, OnnxCall
from .onnx_layout import from_first, to_first
from .protobuf import Attribute
from .refusal import Refusal, Sizes

_FLOAT, _INT32, _INT64 = 1, 6, 7  # TensorProto.DataType


def _identity(call: OnnxCall) -> str:
    return call.emit("Identity", call.x)


def _rescaling(call: OnnxCall) -> str:
    x = call.emit("Cast", call.x, to=_FLOAT) if 0 in call.integers else call.x
    scaled = call.emit("Mul", x, call.numbers(call.params["scale"]))
    return call.emit("Add", scaled, call.numbers(call.params["offset"]))


# Shapes


def _flatten(call: OnnxCall) -> str:
    x = call.x
    if channels_first(call.params) and call.rank > 2:
        x = call.transpose(x, (0, *range(2, call.rank), 1))
    return call.emit("Flatten", x, axis=1)


def _reshape(call: OnnxCall) -> str:
    return call.reshape(call.x, call.shape)


def _permute(call: OnnxCall) -> str:
    return call.emit("Transpose", call.x, perm=(0, *call.params["dims"]))


def _repeat_vector(call: OnnxCall) -> str:
    column = call.reshape(call.x, (call.shape[0], 1, call.shape[2]))
    return call.emit("Expand", column, call.sizes(call.shape))


# Margins


def _margin_axes(call: OnnxCall, dims: int) -> Sizes:
    """Some layers have no data format, and mean channels last."""
    return spatial_axes({"data_format": None, **call.params}, dims)


def _zero_padding(call: OnnxCall, *, dims: int) -> str:
    margins = [(0, 0)] * (dims + 2)
    for axis, margin in zip(_margin_axes(call, dims), margins_of(call.params, "padding", dims), strict=True):
        margins[axis] = margin
    before, after = zip(*margins, strict=True)
    return call.emit("Pad", call.x, call.sizes([*before, *after]))


def _cropping(call: OnnxCall, *, dims: int) -> str:
    axes, margins = _margin_axes(call, dims), margins_of(call.params, "cropping", dims)
    starts = [before for before, _ in margins]
    ends = [call.shapes[0][axis] - after for axis, (_, after) in zip(axes, margins, strict=True)]
    return call.emit("Slice", call.x, call.sizes(starts), call.sizes(ends), call.sizes(axes))


def _center_crop(call: OnnxCall) -> str:
    axes = spatial_axes(call.params)
    wanted = [positive(call.params, name) for name in ("height", "width")]
    starts = [(call.shapes[0][axis] - size) // 2 for axis, size in zip(axes, wanted, strict=True)]
    if min(starts) < 0:
        raise Refusal("images smaller than the crop are resized, which has no single ONNX counterpart")
    ends = [start + size for start, size in zip(starts, wanted, strict=True)]
    return call.emit("Slice", call.x, call.sizes(starts), call.sizes(ends), call.sizes(axes))


# Sizes

#: Of ONNX' many ways to place samples, those the documentation of UpSampling and of Resizing describes.
_REPEATED: dict[str, Attribute] = {
    "mode": "nearest",
    "coordinate_transformation_mode": "asymmetric",
    "nearest_mode": "floor",
}
_BLENDED: dict[str, Attribute] = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
_NEAREST: dict[str, Attribute] = {
    "mode": "nearest",
    "coordinate_transformation_mode": "half_pixel",
    "nearest_mode": "round_prefer_ceil",
}


#: Values of UpSampling2D that have a counterpart; the rest is refused.
UP_SAMPLED: dict[str, tuple[Json, ...]] = {"interpolation": ("nearest", "bilinear")}


def _up_sampling(call: OnnxCall, *, dims: int) -> str:
    wanted = call.params.get("interpolation", "nearest")
    if wanted not in UP_SAMPLED["interpolation"]:
        raise Refusal(f"interpolation={wanted!r} has no ONNX counterpart here")
    how = _REPEATED if wanted == "nearest" else _BLENDED
    factors = pair(call.params, "size") if dims == 2 else sizes(call.params, "size", dims)
    resized = call.emit("Resize", to_first(call, call.x, dims), "", call.numbers((1, 1, *factors)), **how)
    return from_first(call, resized, dims)


def _up_sampling1d(call: OnnxCall) -> str:
    scales = call.numbers((1, positive(call.params, "size"), 1))
    return call.emit("Resize", call.x, "", scales, **_REPEATED)


#: Parameters of Resizing that have no counterpart, with the values that have one; the rest is refused.
RESIZED: dict[str, tuple[Json, ...]] = {
    "interpolation": ("nearest", "bilinear"),
    "crop_to_aspect_ratio": (False,),
    "pad_to_aspect_ratio": (False,),
    "antialias": (False,),
}


def _resizing(call: OnnxCall) -> str:
    for name, values in RESIZED.items():
        if call.params[name] not in values:
            raise Refusal(f"{name}={call.params[name]!r} has no ONNX counterpart here")
    axes = spatial_axes(call.params)
    steps = [(call.shapes[0][axis], call.shape[axis]) for axis in axes]
    if call.params["interpolation"] == "nearest" and any(_is_open(*step) for step in steps):
        return _picked(call, axes, steps)
    how = _NEAREST if call.params["interpolation"] == "nearest" else _BLENDED
    x = to_first(call, call.x, 2)
    images = (x, "", "", call.sizes((call.shape[0], _channels(call), *(count for _, count in steps))))
    return from_first(call, call.emit("Resize", *images, **how), 2)


def _channels(call: OnnxCall) -> int:
    return call.shape[1] if channels_first(call.params) else call.shape[-1]


def _is_open(size: int, count: int) -> bool:
    """Whether a sample lies in the middle between two others by a scale that float32 rounds: either is right."""
    middle = any((2 * index + 1) * size % (2 * count) == 0 for index in range(count))
    return middle and float(np.float32(count / size)) != count / size


def _picked(call: OnnxCall, axes: Sizes, steps: list[tuple[int, int]]) -> str:
    """Row by row and column by column; the middle between two falls to the second."""
    x = call.x
    for axis, (size, count) in zip(axes, steps, strict=True):
        places = [min((2 * index + 1) * size // (2 * count), size - 1) for index in range(count)]
        x = call.emit("Gather", x, call.sizes(places), axis=axis)
    return x


# Bins


def _encoded(call: OnnxCall, indices: str, mode: str, depth: int) -> str:
    """Flags of indices, or counts of them, by ONNX' own one-hot."""
    wide = call.emit("Cast", indices, to=_INT64)
    count = call.writer.constant(f"{call.layer}_depth", np.asarray(depth))  # ONNX' evaluator takes no list of one
    flags = call.emit("OneHot", wide, count, call.numbers((0.0, 1.0)))
    if mode == "one_hot":
        return call.reshape(flags, call.shape)
    return call.emit("ReduceSum" if mode == "count" else "ReduceMax", flags, call.sizes([-2]), keepdims=0)


def _discretization(call: OnnxCall) -> str:
    boundaries, mode = call.params["bin_boundaries"], call.params["output_mode"]
    apart = call.emit("Unsqueeze", call.x, call.sizes([-1]))
    # Asked as "less", a NaN is beyond all boundaries, where sorting has it.
    passed = call.emit("Cast", call.emit("Not", call.emit("Less", apart, call.numbers(boundaries))), to=_INT32)
    indices = call.emit("ReduceSum", passed, call.sizes([-1]), keepdims=0)
    return indices if mode == "int" else _encoded(call, indices, mode, len(boundaries) + 1)


def _category_encoding(call: OnnxCall) -> str:
    if len(call.inputs) > 1:
        return _weighed(call, positive(call.params, "num_tokens"))
    return _encoded(call, call.x, call.params["output_mode"], positive(call.params, "num_tokens"))


def _weighed(call: OnnxCall, depth: int) -> str:
    """The weights of each token's entries, summed up; what another token weighs is not multiplied by 0 but left out."""
    tokens = call.writer.constant(f"{call.layer}_tokens", np.arange(depth))
    entries = call.emit("Unsqueeze", call.emit("Cast", call.x, to=_INT64), call.sizes([-1]))
    weights = call.emit("Unsqueeze", call.inputs[1], call.sizes([-1]))
    own = call.emit("Where", call.emit("Equal", entries, tokens), weights, call.numbers(0.0))
    return call.emit("ReduceSum", own, call.sizes([-2]), keepdims=0)


# Contrast


def _auto_contrast(call: OnnxCall) -> str:
    """Channels are the last axis, whatever the data format; those that are flat stay as they are."""
    low, high = (call.emit(op, call.x, call.sizes([1, 2])) for op in ("ReduceMin", "ReduceMax"))
    width = call.emit("Sub", high, low)
    flat = call.emit("Equal", width, call.numbers(0.0))
    least, greatest = (float(end) for end in call.params["value_range"])
    span = call.numbers(greatest - least)
    scale = call.emit("Div", span, call.emit("Where", flat, call.numbers(1.0), width))
    stretched = call.emit("Mul", call.emit("Sub", call.x, low), scale)
    clipped = call.emit("Clip", stretched, call.numbers(0.0), span)
    return call.emit("Where", flat, call.x, call.emit("Add", clipped, call.numbers(least)))


_DIMS = (1, 2, 3)
MOVING_LAYERS: dict[str, Lowering] = {
    **{name: _identity for name in layer_names() if layer(name).random and not layer(name).voted},
    **{f"Cropping{dims}D": partial(_cropping, dims=dims) for dims in _DIMS},
    **{f"ZeroPadding{dims}D": partial(_zero_padding, dims=dims) for dims in _DIMS},
    "ActivityRegularization": _identity,
    "AutoContrast": _auto_contrast,
    "CategoryEncoding": _category_encoding,
    "CenterCrop": _center_crop,
    "Discretization": _discretization,
    "Flatten": _flatten,
    "Identity": _identity,
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Resizing": _resizing,
    "UpSampling1D": _up_sampling1d,
    "UpSampling2D": partial(_up_sampling, dims=2),
    "UpSampling3D": partial(_up_sampling, dims=3),
}
