"""Convolutions in one to three dimensions, depthwise and transposed. Kernels are (sizes..., in, out)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..reference.rounding import growth
from .helpers import (
    Binding,
    Call,
    Evaluation,
    Numbers,
    Operand,
    Operator,
    Parameter,
    Params,
    Sizes,
    Tensor,
    X,
    call,
    family,
)
from .normalization import first, last

KERNEL = Tensor("kernel")
#: The number of stacked inputs, for calls that want a whole output shape.
COUNT = "#"

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}
_KERAS_FORMATS = ("channels_last", "channels_first")


def padding_of(size: int, window: int, stride: int, dilation: int, padding: object) -> tuple[int, int]:
    """Zeros before and after an axis: none, or as many as keep the size, the odd one at the end."""
    if padding == "valid":
        return (0, 0)
    reach = (window - 1) * dilation + 1
    total = max(0, (math.ceil(size / stride) - 1) * stride + reach - size)
    return (total // 2, total - total // 2)


def _pads(p: Params, sizes: Sizes, kernel: Sizes) -> list[tuple[int, int]]:
    return [
        padding_of(size, window, p["strides"], p["dilation"], p["padding"])
        for size, window in zip(sizes[:-1], kernel, strict=False)
    ]


def windows(x: Array, offsets: Sequence[int], outputs: Sequence[int], stride: int, dilation: int) -> Array:
    """What lies under one element of the kernel, for all places of the window at once."""
    slices = [
        slice(offset * dilation, offset * dilation + (size - 1) * stride + 1, stride)
        for offset, size in zip(offsets, outputs, strict=True)
    ]
    view: Array = x[(slice(None), *slices)]
    return view


def _places(sizes: Sequence[int], kernel: Sequence[int], stride: int, dilation: int) -> list[int]:
    return [(size - (window - 1) * dilation - 1) // stride + 1 for size, window in zip(sizes, kernel, strict=True)]


def _convolve(x: Array, kernel: Array, p: Params, depthwise: bool = False) -> Array:
    spatial = x.ndim - 2
    pads = _pads(p, x.shape[1:], kernel.shape[:spatial])
    if any(any(pad) for pad in pads):
        x = np.pad(x, [(0, 0), *pads, (0, 0)])
    stride, dilation = int(p["strides"]), int(p["dilation"])
    outputs = _places(x.shape[1:-1], kernel.shape[:spatial], stride, dilation)
    total: Array | float = 0.0
    for offsets in itertools.product(*(range(size) for size in kernel.shape[:spatial])):
        under = windows(x, offsets, outputs, stride, dilation)
        if depthwise:
            product = (under[..., :, None] * kernel[offsets]).reshape(*under.shape[:-1], math.prod(kernel.shape[-2:]))
        else:
            product = under @ kernel[offsets]
        total = total + product
    return np.asarray(total)


def _reference(depthwise: bool):  # type: ignore[no-untyped-def]
    def reference(m: Numbers, p: Params, x: Array, kernel: Array) -> Evaluation:
        spatial = x.ndim - 2
        terms = math.prod(kernel.shape[:spatial]) * (1 if depthwise else kernel.shape[spatial])
        bound = _convolve(abs(x), abs(kernel), p, depthwise)
        return Evaluation(_convolve(x, kernel, p, depthwise), growth(terms) * bound)

    return reference


def _transposed(m: Numbers, p: Params, x: Array, kernel: Array) -> Evaluation:
    """Every input spreads its kernel over the output: the gradient of a convolution. Kernel (sizes..., out, in)."""

    def spread(values: Array, weights: Array) -> Array:
        spatial, stride = values.ndim - 2, int(p["strides"])
        shape = [(size - 1) * stride + k for size, k in zip(values.shape[1:-1], weights.shape[:spatial], strict=True)]
        total = np.zeros((values.shape[0], *shape, weights.shape[spatial]), values.dtype)
        for offsets in itertools.product(*(range(size) for size in weights.shape[:spatial])):
            places = tuple(
                slice(offset, offset + (size - 1) * stride + 1, stride)
                for offset, size in zip(offsets, values.shape[1:-1], strict=True)
            )
            total[(slice(None), *places)] += values @ weights[offsets].T
        return total

    terms = kernel.shape[-1] * math.prod(kernel.shape[: x.ndim - 2])
    return Evaluation(spread(x, kernel), growth(terms) * spread(abs(x), abs(kernel)))


def _resolve(dimensions: int):  # type: ignore[no-untyped-def]
    def resolve(p: Params, shape: Sizes) -> dict[str, Sizes]:
        window = [min(int(p["size"]), *shape[:-1])] * dimensions
        return {"x": shape, "kernel": (*window, shape[-1], int(p["filters"]))}

    return resolve


def _resolve_transposed(p: Params, shape: Sizes) -> dict[str, Sizes]:
    return {"x": shape, "kernel": (*[int(p["size"])] * (len(shape) - 1), int(p["filters"]), shape[-1])}


def _tf_convolution(p: Params, s: Mapping[str, Sizes]) -> Call:
    dimensions = len(s["x"]) - 1
    nchw = p["data_format"] == "channels_first"
    letters = _LETTERS[dimensions]
    x = Tensor("x", first(s["x"])) if nchw else X
    if dimensions == 2:
        found = call("tensorflow.nn.conv2d", x, KERNEL, strides=p["strides"], padding=p["padding"].upper(),
                     data_format="NCHW" if nchw else "NHWC", dilations=p["dilation"])  # fmt: skip
    else:
        form = f"NC{letters}" if nchw else f"N{letters}C"
        found = call("tensorflow.nn.convolution", x, KERNEL, strides=[p["strides"]] * dimensions,
                     padding=p["padding"].upper(), data_format=form,
                     dilations=[p["dilation"]] * dimensions)  # fmt: skip
    return found.turned(last(s["x"])) if nchw else found


def _torch_pad(p: Params, s: Mapping[str, Sizes]) -> object:
    """Torch pads evenly or not at all; the odd zero goes in before. ``channels_last`` is a matter of strides."""
    x = Tensor("x", first(s["x"]), view=p["data_format"] == "channels_last")
    pads = _pads(p, s["x"], s["kernel"])
    if not any(any(pad) for pad in pads):
        return x
    return call("torch.nn.functional.pad", x, [zeros for pad in reversed(pads) for zeros in pad])


def _kernel_first(s: Mapping[str, Sizes]) -> tuple[int, ...]:
    """(sizes..., in, out) to (out, in, sizes...)."""
    rank = len(s["kernel"])
    return (rank - 1, rank - 2, *range(rank - 2))


def _torch_convolution(p: Params, s: Mapping[str, Sizes]) -> Call:
    api = f"torch.nn.functional.conv{len(s['x']) - 1}d"
    kernel = Tensor("kernel", _kernel_first(s))
    return call(api, _torch_pad(p, s), kernel, stride=p["strides"], dilation=p["dilation"]).turned(last(s["x"]))


def _jax_convolution(p: Params, s: Mapping[str, Sizes]) -> Call:
    dimensions = len(s["x"]) - 1
    letters, nchw = _LETTERS[dimensions], p["data_format"] == "channels_first"
    form = f"NC{letters}" if nchw else f"N{letters}C"
    found = call(
        "jax.lax.conv_general_dilated", Tensor("x", first(s["x"])) if nchw else X, KERNEL,
        [p["strides"]] * dimensions, p["padding"].upper(), rhs_dilation=[p["dilation"]] * dimensions,
        dimension_numbers=[form, f"{letters}IO", form],
    )  # fmt: skip
    return found.turned(last(s["x"])) if nchw else found


def _keras(api: str) -> Binding:
    def bind(p: Params, s: Mapping[str, Sizes]) -> Call:
        nchw = p["data_format"] == "channels_first"
        found = call(api, Tensor("x", first(s["x"])) if nchw else X, KERNEL, strides=p["strides"], padding=p["padding"],
                     data_format=p["data_format"], dilation_rate=p["dilation"])  # fmt: skip
        return found.turned(last(s["x"])) if nchw else found

    return bind


def _onnx_convolution(p: Params, s: Mapping[str, Sizes]) -> Call:
    dimensions = len(s["x"]) - 1
    pads = _pads(p, s["x"], s["kernel"])
    return call("onnx.Conv", Tensor("x", first(s["x"])), Tensor("kernel", _kernel_first(s)),
                strides=[p["strides"]] * dimensions, dilations=[p["dilation"]] * dimensions,
                pads=[before for before, _ in pads] + [after for _, after in pads]).turned(last(s["x"]))  # fmt: skip


_CALLS: dict[str, Binding] = {
    "tensorflow": _tf_convolution,
    "torch": _torch_convolution,
    "jax": _jax_convolution,
    "keras": _keras("keras.ops.conv"),
    "onnx": _onnx_convolution,
}


def _torch_depthwise(p: Params, s: Mapping[str, Sizes]) -> Call:
    """Kernel (h, w, in, multiplier) to (in * multiplier, 1, h, w): with a multiplier of one, a mere turn."""
    kernel = Tensor("kernel", (2, 3, 0, 1))
    return call("torch.nn.functional.conv2d", _torch_pad(p, s), kernel, stride=p["strides"], dilation=p["dilation"],
                groups=s["x"][-1]).turned(last(s["x"]))  # fmt: skip


_DEPTHWISE: dict[str, Binding] = {
    "tensorflow": lambda p, s: call("tensorflow.nn.depthwise_conv2d", X, KERNEL,
                                    strides=[1, p["strides"], p["strides"], 1], padding=p["padding"].upper(),
                                    dilations=[p["dilation"]] * 2),
    "torch": _torch_depthwise,
    "keras": _keras("keras.ops.depthwise_conv"),
    "onnx": lambda p, s: call("onnx.Conv", Tensor("x", first(s["x"])), Tensor("kernel", (2, 3, 0, 1)),
                              strides=[p["strides"]] * 2, dilations=[p["dilation"]] * 2, group=s["x"][-1],
                              pads=[b for b, _ in _pads(p, s["x"], s["kernel"])]
                              + [a for _, a in _pads(p, s["x"], s["kernel"])]).turned(last(s["x"])),
}  # fmt: skip


def _tf_transposed(p: Params, s: Mapping[str, Sizes]) -> Call:
    sizes = [(size - 1) * p["strides"] + p["size"] for size in s["x"][:-1]]
    dimensions = len(sizes)
    return call(f"tensorflow.nn.conv{dimensions}d_transpose", X, KERNEL, [*s[COUNT], *sizes, p["filters"]],
                strides=p["strides"] if dimensions < 3 else [p["strides"]] * 3, padding="VALID")  # fmt: skip


def _channels_second(p: Params, s: Mapping[str, Sizes]) -> tuple[Tensor, Tensor]:
    """(sizes..., out, in) to (in, out, sizes...)."""
    return Tensor("x", first(s["x"])), Tensor("kernel", _kernel_first(s))


_TRANSPOSED: dict[str, Binding] = {
    "tensorflow": _tf_transposed,
    "torch": lambda p, s: call(f"torch.nn.functional.conv_transpose{len(s['x']) - 1}d", *_channels_second(p, s),
                               stride=p["strides"]).turned(last(s["x"])),
    "jax": lambda p, s: call("jax.lax.conv_transpose", X, KERNEL, [p["strides"]] * (len(s["x"]) - 1), "VALID",
                             dimension_numbers=[f"N{_LETTERS[len(s['x']) - 1]}C", f"{_LETTERS[len(s['x']) - 1]}IO",
                                                f"N{_LETTERS[len(s['x']) - 1]}C"], transpose_kernel=True),
    "keras": lambda p, s: call("keras.ops.conv_transpose", X, KERNEL, strides=p["strides"], padding="valid"),
    "onnx": lambda p, s: call("onnx.ConvTranspose", *_channels_second(p, s),
                              strides=[p["strides"]] * (len(s["x"]) - 1)).turned(last(s["x"])),
}  # fmt: skip

_PARAMETERS = (
    Parameter("filters", 8, (8,)),
    Parameter("size", 3, (3, 2)),
    Parameter("strides", 1, (1, 2)),
    Parameter("padding", "valid", ("valid", "same")),
    Parameter("dilation", 1, (1,)),
    Parameter("data_format", "channels_last", _KERAS_FORMATS),
)


def again(p: Params, shape: Sizes, times: int) -> dict[str, Json] | str:
    """As many filters as channels, so that what comes out goes in; padding would depend on the size of each round."""
    if p["padding"] != "valid":
        return "padding is written for one size, and each application has another: use padding=valid"
    reason = shrinks_away(shape[:-1], (int(p["size"]) - 1) * int(p["dilation"]) + 1, int(p["strides"]), times)
    return reason or {"filters": shape[-1]}


def shrinks_away(sizes: Sizes, reach: int, stride: int, times: int) -> str:
    """Why a window cannot be moved over its own result so often; nothing where it can."""
    left = list(sizes)
    for number in range(times):
        if min(left) < reach:
            return f"a window of {reach} does not fit any more after {number} of {times} applications"
        left = [(size - reach) // stride + 1 for size in left]
    return ""


_SIMPLE = (Parameter("filters", 4, (4,)), Parameter("size", 3, (3, 2)), Parameter("strides", 1, (1, 2)))
_OPERANDS = (Operand("x"), Operand("kernel", stacked=False, scale=0.3))


def _operator(name: str, dimensions: int, shapes: tuple[Sizes, ...]) -> Operator:
    return Operator(name, "convolution", "sum over the window and the channels of input times kernel", _OPERANDS,
                    _reference(depthwise=False), _CALLS, _PARAMETERS, shapes, _resolve(dimensions),
                    unary=False, again=again)  # fmt: skip


def _transposed_operator(name: str, shapes: tuple[Sizes, ...]) -> Operator:
    return Operator(name, "convolution", "the gradient of a convolution: every input spreads the kernel", _OPERANDS,
                    _transposed, _TRANSPOSED, _SIMPLE, shapes, _resolve_transposed, unary=False)  # fmt: skip


OPERATORS = family(
    _operator("conv1d", 1, ((32, 5), (17, 3), (15, 16))),
    _operator("conv2d", 2, ((28, 28, 3), (7, 9, 16), (5, 5, 1))),
    _operator("conv3d", 3, ((6, 7, 8, 2), (4, 4, 4, 3))),
    Operator("depthwise_conv2d", "convolution", "every channel with a kernel of its own", _OPERANDS,
             _reference(depthwise=True), _DEPTHWISE, (Parameter("filters", 1, (1,)), *_PARAMETERS[1:5],
             Parameter("data_format", "channels_last", ("channels_last",))),
             ((14, 14, 3), (7, 9, 17)), _resolve(2), unary=False),
    _transposed_operator("conv1d_transpose", ((16, 5), (7, 3))),
    _transposed_operator("conv2d_transpose", ((7, 8, 3), (4, 4, 16))),
    _transposed_operator("conv3d_transpose", ((3, 4, 5, 2),)),
)  # fmt: skip
