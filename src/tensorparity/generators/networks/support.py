"""What is known not to run, as data: it costs a network a target's vote, or all of them, so it is drawn rarely.

Nothing is left out for good: whoever fixes one of these wants to see it tested.
"""

from __future__ import annotations

from ...core.jsontext import Json
from ...core.policies import PLAIN, Policy
from ...operators.spec import Params

_CONVOLUTIONS = tuple(f"{kind}{dims}D" for kind in ("Conv", "ConvLSTM") for dims in (1, 2, 3))
_TRANSPOSED = tuple(f"Conv{dims}DTranspose" for dims in (1, 2, 3))
_DEPTHWISE = ("DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D")
_COUNTING = ("CategoryEncoding", "Hashing", "IntegerLookup")
_LOOKUPS = ("HashedCrossing", "Hashing", "IntegerLookup")


def lacking(op: str, params: Params, rank: int) -> str:
    """Why a target is known to have no such layer; empty where all have it."""
    if params.get("data_format") == "channels_first" and op in (*_CONVOLUTIONS, *_TRANSPOSED, *_DEPTHWISE):
        return "TensorFlow convolves in one data format on CPUs"
    if op in _TRANSPOSED and not _all_one(params["dilation_rate"]):
        return "TensorFlow has no dilation of transposed convolutions on CPUs"
    if op in ("LSTM", "GRU") and params["stateful"]:
        return "Keras on torch cannot train them (trophies)"
    if op in _DEPTHWISE and not _all_equal(params["strides"]):
        return "TensorFlow's depthwise convolution has one stride for both axes"
    if op in _LOOKUPS:
        return "it runs in TensorFlow on every backend, and JAX cannot compile it"
    return ""


#: Layers without a kernel for a dtype somewhere.
_POOLING_3D = ("AveragePooling3D", "MaxPooling3D", "AdaptiveAveragePooling3D", "AdaptiveMaxPooling3D")


def lacking_in(op: str, policy: Policy) -> str:
    """Why a target is known not to have the layer under a dtype policy; empty where all have it."""
    if op in _POOLING_3D and policy is not PLAIN:
        return "TensorFlow pools three axes on CPUs in float32 only, torch in none of 16 bits"
    return ""


def hopeless(op: str, params: Params, rank: int) -> str:
    """Why every Keras backend fails on it; empty where they do not."""
    if (
        op == "RMSNormalization"
        and params["axis"] not in (-1, rank - 1)
        and rank > 2
        and not _last(params["axis"], rank)
    ):
        return "its scale is not reshaped to the axes, so only last axes work"
    if op == "EinsumDense" and (params["equation"] == "abc,bc->abc" or _unknown(params["output_shape"])):
        return "sizes that its documentation says are inferred are not"
    if op in _COUNTING and params["output_mode"] not in ("int", "one_hot") and rank > 2:
        return "it counts along axis 1, not along the last one"
    return ""


def ambiguous(op: str, params: Params) -> str:
    """Why the documentation does not say what the layer computes; nothing could be judged."""
    if op == "ReLU" and params["max_value"] is not None and params["max_value"] < params["threshold"]:
        return "its cases overlap where max_value is below threshold"
    return ""


def _last(axis: Json, rank: int) -> bool:
    axes = axis if isinstance(axis, (list, tuple)) else (axis,)
    return sorted(item % rank for item in axes) == list(range(rank - len(axes), rank))


def _unknown(shape: Json) -> bool:
    return isinstance(shape, (list, tuple)) and shape.count(None) > 1


def _all_one(value: Json) -> bool:
    return all(item == 1 for item in (value if isinstance(value, (list, tuple)) else (value,)))


def _all_equal(value: Json) -> bool:
    return len(set(value)) == 1 if isinstance(value, (list, tuple)) else True
