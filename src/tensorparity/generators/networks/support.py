"""What is known not to run, as data: it costs a network a target's vote, or all of them, so it is drawn rarely.

Nothing is left out for good: whoever fixes one of these wants to see it tested.
"""

from __future__ import annotations

from ...core.jsontext import Json
from ...operators.spec import Params

_CONVOLUTIONS = tuple(f"{kind}{dims}D" for kind in ("Conv", "ConvLSTM") for dims in (1, 2, 3))
_TRANSPOSED = tuple(f"Conv{dims}DTranspose" for dims in (1, 2, 3))
#: Parts of the names of layers that refuse empty inputs, by their own checks or by some library's.
_NOT_EMPTY = ("Pooling", "Crop", "Equalization", "AutoContrast")
_BLENDING = ("Resizing", "UpSampling2D")
_SUMMING = ("Average", "Spectrogram", "ActivityRegularization", "Attention", "Dot")
_DEPTHWISE = ("DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D")
_CONVOLVING = (*_CONVOLUTIONS, *_TRANSPOSED, *_DEPTHWISE, "STFTSpectrogram")
_COUNTING = ("CategoryEncoding", "Hashing", "IntegerLookup")
_LOOKUPS = ("HashedCrossing", "Hashing", "IntegerLookup")


def why_unsupported(op: str, params: Params, rank: int) -> str:
    """Why a target is known to have no such layer; empty where all have it."""
    if params.get("data_format") == "channels_first" and op in _CONVOLVING:
        return "TensorFlow convolves in one data format on CPUs"
    if op in _TRANSPOSED and not _all_one(params["dilation_rate"]):
        return "TensorFlow has no dilation of transposed convolutions on CPUs"
    if op in ("LSTM", "GRU") and params["stateful"]:
        return "Keras on torch cannot train them (trophies)"
    if op in _DEPTHWISE and not _all_equal(params["strides"]):
        return "TensorFlow's depthwise convolution has one stride for both axes"
    if op in _BLENDING and params["interpolation"].startswith("lanczos"):
        return "torch has no Lanczos interpolation"
    if op in _BLENDING and params["interpolation"] == "bicubic" and not params.get("antialias"):
        return "torch has another kernel, and TensorFlow a coarse table of it (trophies)"
    if op == "ContrastLimitedAdaptiveHistogramEqualization":
        return "Keras on torch hardly changes the image (trophies)"
    if op.startswith("AdaptiveMaxPooling") and _last_of(params["output_size"]) == 1:
        return "TensorFlow's process may die of it, and a new one takes longer than many networks (trophies)"
    if op in _LOOKUPS:
        return "it runs in TensorFlow on every backend, and JAX cannot compile it"
    return ""


def hopeless(op: str, params: Params, rank: int, size: int | None = None) -> str:
    """Why every Keras backend fails on it, or on what follows it; empty where they do not.

    Args:
        size: of its input's last axis, where that is known.
    """
    if op == "RandomCrop":
        return "it says another shape than it gives in inference, and what follows does not fit (trophies)"
    if op == "Equalization":
        return "its output is its own predecessor, so that no functional model can have one (trophies)"
    if op == "MelSpectrogram" and (size is None or (size + 1) % params["sequence_stride"] == 0):
        return "it says one frame more than it gives, and what follows does not fit (trophies)"
    if op == "Hashing" and params["output_mode"] == "one_hot" and size != 1:
        return "it says one axis less than it gives, and what follows does not fit (trophies)"
    if (
        op == "RMSNormalization"
        and params["axis"] not in (-1, rank - 1)
        and rank > 2
        and not _last(params["axis"], rank)
    ):
        return "its scale is not reshaped to the axes, so only last axes work"
    near = params.get("use_causal_mask") or params.get("sliding_window") is not None
    if op == "MultiHeadAttention" and near and not _along_axis_one(params["attention_axes"], rank):
        return "its causal mask and its window are along axis 1, whatever it attends over (trophies)"
    if op == "EinsumDense" and (params["equation"] == "abc,bc->abc" or _unknown(params)):
        return "sizes that its documentation says are inferred are not"
    if op in _COUNTING and params["output_mode"] not in ("int", "one_hot") and rank > 2:
        return "it counts along axis 1, not along the last one"
    return ""


def hopeless_behind_mask(op: str, rank: int) -> str:
    """Why every Keras backend fails on it behind a mask of steps; empty where they do not."""
    if op == "BatchNormalization" and rank != 3:
        return "it takes no mask of fewer axes, in inference neither (trophies)"
    return ""


def unfit(op: str, style: str) -> str:
    """Why nothing could be judged of a layer on inputs of a style of edges; empty where it can."""
    if style in ("nan", "infinite", "huge") and op in _BLENDING:
        return "whether a weight of 0 makes a NaN or an infinity disappear is nobody's promise"
    if style == "huge" and any(part in op for part in _SUMMING):
        return "whether a sum overflows on the way depends on its order"
    if style == "huge" and op == "Softmax":
        return "over several axes it subtracts a logsumexp, whose rounding is then larger than what is left"
    if style == "empty" and any(part in op for part in (*_BLENDING, *_NOT_EMPTY)):
        return "an extreme of nothing, a window over nothing and less than nothing are refused in so many words"
    return ""


def _last(axis: Json, rank: int) -> bool:
    axes = axis if isinstance(axis, (list, tuple)) else (axis,)
    return sorted(item % rank for item in axes) == list(range(rank - len(axes), rank))


def _along_axis_one(axes: Json, rank: int) -> bool:
    items = (axes,) if isinstance(axes, int) else axes
    return rank == 3 or (items is not None and [item % rank for item in items] == [1])


def _unknown(params: Params) -> bool:
    """Whether it would have to infer two sizes, or one that its bias has."""
    shape, letters = params["output_shape"], params["equation"].split("->")[-1].replace("...", "")
    if not isinstance(shape, (list, tuple)):
        return False
    sizes = dict(zip(reversed(letters), reversed(shape), strict=False))
    biased = params["bias_axes"] or ""
    return list(shape).count(None) > 1 or any(sizes.get(letter, 1) is None for letter in biased)


def _last_of(value: Json) -> Json:
    return value[-1] if isinstance(value, (list, tuple)) else value


def _all_one(value: Json) -> bool:
    return all(item == 1 for item in (value if isinstance(value, (list, tuple)) else (value,)))


def _all_equal(value: Json) -> bool:
    return len(set(value)) == 1 if isinstance(value, (list, tuple)) else True
