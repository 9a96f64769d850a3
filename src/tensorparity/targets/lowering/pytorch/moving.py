"""Layers that move values: shapes, margins, sizes of images, bins; and those that pass their input on."""

from __future__ import annotations

from functools import partial
from typing import Literal

from ....core.jsontext import Json
from ....operators.arguments import Pair, channels_first, margins_of, positive
from ....operators.catalogue import layer, layer_names
from ....operators.layers.resizing import fitting_sizes, is_smaller
from ....operators.layers.spatial import spatial_axes
from ..refusal import Refusal
from .layout import from_first, to_first
from .program import Dtype, Lowering, TorchCall, TorchTensor


def _pass_on(call: TorchCall) -> TorchTensor:
    return call.x


def _as_numbers(call: TorchCall) -> TorchTensor:
    """The input in the dtype of the case, if it holds integers."""
    return call.emit("Tensor.to", call.x, Dtype()) if 0 in call.integers else call.x


def _rescaling(call: TorchCall) -> TorchTensor:
    scale, offset = (
        call.numbers(value) if isinstance(value, (list, tuple)) else value
        for value in (call.params["scale"], call.params["offset"])
    )
    return call.emit("add", call.emit("mul", _as_numbers(call), scale), offset)


# Shapes


def _flatten(call: TorchCall) -> TorchTensor:
    x = call.x
    if channels_first(call.params) and call.rank > 2:
        x = call.emit("movedim", x, 1, -1)
    return call.reshape(x, call.shape)


def _reshape(call: TorchCall) -> TorchTensor:
    return call.reshape(call.x, call.shape)


def _permute(call: TorchCall) -> TorchTensor:
    return call.permute(call.x, (0, *call.params["dims"]))


def _repeat_vector(call: TorchCall) -> TorchTensor:
    return call.emit("repeat_interleave", call.emit("unsqueeze", call.x, 1), positive(call.params, "n"), dim=1)


# Margins


def _pad(call: TorchCall, *, name: str, dims: int) -> TorchTensor:
    """A negative margin cuts."""
    sign = -1 if name == "cropping" else 1
    axes = spatial_axes({"data_format": None, **call.params}, dims)
    margins: list[Pair] = [(0, 0)] * call.rank
    for axis, (before, after) in zip(axes, margins_of(call.params, name, dims), strict=True):
        margins[axis] = (sign * before, sign * after)
    return call.emit("nn.functional.pad", call.x, [side for margin in reversed(margins) for side in margin])


def _center_crop(call: TorchCall) -> TorchTensor:
    x = call.x
    if is_smaller(call.params, call.shapes[0]):
        return _resized(call, _to_ratio(call, to_first(call, x, 2), "crop"), "bilinear")
    for axis, name in zip(spatial_axes(call.params), ("height", "width"), strict=True):
        size = positive(call.params, name)
        x = call.emit("narrow", x, axis, (call.shapes[0][axis] - size) // 2, size)
    return x


# Sizes


def _interpolate(call: TorchCall, mode: str, dims: int) -> TorchTensor:
    wanted = [call.shape[axis] for axis in spatial_axes(call.params, dims)]
    corners = {"align_corners": False} if mode == "bilinear" else {}
    x = to_first(call, call.x, dims)
    return from_first(call, call.emit("nn.functional.interpolate", x, size=wanted, mode=mode, **corners), dims)


def _resized(call: TorchCall, x: TorchTensor, how: str, *, antialias: bool = False) -> TorchTensor:
    """An image whose channels come first, at the size of the output."""
    wanted = [call.shape[axis] for axis in spatial_axes(call.params)]
    more: dict[str, Json] = {} if how == "nearest" else {"align_corners": False, "antialias": antialias}
    mode = {"nearest": "nearest-exact"}.get(how, how)
    return from_first(call, call.emit("nn.functional.interpolate", x, size=wanted, mode=mode, **more), 2)


def _to_ratio(call: TorchCall, x: TorchTensor, how: Literal["crop", "pad"]) -> TorchTensor:
    """The largest window of the output's aspect ratio, or the smallest frame of it; a negative margin cuts."""
    height, width = (call.shapes[0][axis] for axis in spatial_axes(call.params))
    target = positive(call.params, "height"), positive(call.params, "width")
    if how == "crop":
        rows, columns = fitting_sizes(height, width, target, "crop")
        x = call.emit("narrow", x, 2, (height - rows) // 2, rows)
        return call.emit("narrow", x, 3, (width - columns) // 2, columns)
    rows, columns = fitting_sizes(height, width, target, "pad")
    above, left = (rows - height) // 2, (columns - width) // 2
    margins = [left, left, above, above]
    return call.emit("nn.functional.pad", x, margins, value=float(call.params["fill_value"]))


def _resizing(call: TorchCall) -> TorchTensor:
    how, antialias = call.params["interpolation"], bool(call.params["antialias"])
    if how not in ("nearest", "bilinear") and not (how == "bicubic" and antialias):
        raise Refusal(f"interpolation {how!r} without antialiasing has another kernel in torch, or none")
    x = to_first(call, call.x, 2)
    if call.params["crop_to_aspect_ratio"]:
        x = _to_ratio(call, x, "crop")
    elif call.params["pad_to_aspect_ratio"]:
        x = _to_ratio(call, x, "pad")
    return _resized(call, x, how, antialias=antialias)


def _up_sampling1d(call: TorchCall) -> TorchTensor:
    return call.emit("repeat_interleave", call.x, positive(call.params, "size"), dim=1)


def _up_sampling2d(call: TorchCall) -> TorchTensor:
    if str(call.params["interpolation"]).startswith("lanczos"):
        raise Refusal("torch has no Lanczos interpolation")
    if call.params["interpolation"] == "bicubic":  # with antialiasing it is Keys' kernel, and cells do not become fewer
        return _resized(call, to_first(call, call.x, 2), "bicubic", antialias=True)
    return _interpolate(call, call.params["interpolation"], 2)


# Bins


def _encoded(call: TorchCall, indices: TorchTensor, mode: str, depth: int, single: bool) -> TorchTensor:
    flags = call.emit("nn.functional.one_hot", indices, depth)
    if mode == "one_hot":
        found = call.emit("select", flags, -2, 0) if single else flags
    else:
        found = call.emit("sum" if mode == "count" else "amax", flags, dim=-2)
    return call.emit("Tensor.to", found, Dtype())


def _discretization(call: TorchCall) -> TorchTensor:
    boundaries, mode = list(call.params["bin_boundaries"]), call.params["output_mode"]
    if mode != "int":
        indices = call.emit("bucketize", call.x, call.numbers(boundaries), right=True)
        return _encoded(call, indices, mode, len(boundaries) + 1, call.shapes[0][-1] == 1)
    return call.emit("bucketize", call.x, call.numbers(boundaries), right=True, out_int32=True)


def _category_encoding(call: TorchCall) -> TorchTensor:
    indices = call.emit("Tensor.to", call.x, Dtype("int64"))
    single = call.shapes[0][-1] == 1
    if len(call.inputs) > 1:
        nothing = call.emit("zeros", list(call.shape), dtype=Dtype())
        return call.emit("scatter_add", nothing, -1, indices, call.inputs[1])
    return _encoded(call, indices, call.params["output_mode"], positive(call.params, "num_tokens"), single)


# Contrast


def _auto_contrast(call: TorchCall) -> TorchTensor:
    """Channels are the last axis, whatever the data format; those that are flat stay as they are."""
    low = call.emit("amin", call.x, dim=[1, 2], keepdim=True)
    width = call.emit("sub", call.emit("amax", call.x, dim=[1, 2], keepdim=True), low)
    flat = call.emit("eq", width, 0.0)
    least, greatest = (float(item) for item in call.params["value_range"])
    span = greatest - least
    scale = call.emit("mul", call.emit("reciprocal", call.emit("masked_fill", width, flat, 1.0)), span)
    stretched = call.emit("clamp", call.emit("mul", call.emit("sub", call.x, low), scale), 0.0, span)
    stretched = call.emit("add", stretched, least) if least else stretched
    return call.emit("where", flat, call.x, stretched)


# In training they draw


def _silent(call: TorchCall) -> TorchTensor:
    if call.training:
        raise Refusal(f"{call.op} draws random numbers in training, and torch draws others")
    return call.x


_DIMS = (1, 2, 3)
MOVING_LAYERS: dict[str, Lowering] = {
    **{name: _silent for name in layer_names() if layer(name).random and not layer(name).voted},
    **{f"Cropping{dims}D": partial(_pad, name="cropping", dims=dims) for dims in _DIMS},
    **{f"ZeroPadding{dims}D": partial(_pad, name="padding", dims=dims) for dims in _DIMS},
    "ActivityRegularization": _pass_on,
    "AutoContrast": _auto_contrast,
    "CategoryEncoding": _category_encoding,
    "CenterCrop": _center_crop,
    "Discretization": _discretization,
    "Flatten": _flatten,
    "Identity": _pass_on,
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Resizing": _resizing,
    "UpSampling1D": _up_sampling1d,
    "UpSampling2D": _up_sampling2d,
    "UpSampling3D": lambda call: _interpolate(call, "nearest", 3),
}
