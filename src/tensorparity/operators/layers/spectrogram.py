"""STFTSpectrogram: a Fourier transform of short frames, as a convolution with a kernel of waves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import channels_first, choice, flag, known_size, need_rank, positive, refuse
from ..reference import carried
from ..spec import FLOATS, Conflict, Evaluation, LayerSpec, Parameter, Params, Shape, WeightSpec
from .convolution import DATA_FORMAT, contract
from .spatial import PADDINGS, Window

_MODES = ("log", "magnitude", "psd", "real", "imag", "stft")
#: Below this, powers and magnitudes are lifted to it before root and logarithm: Keras' fuzz factor.
_FLOOR = 1e-7


def frames(params: Params) -> Window:
    """A frame at every ``frame_step``; half a frame if none is given."""
    length = positive(params, "frame_length")
    step = max(1, length // 2) if params["frame_step"] is None else positive(params, "frame_step")
    if step > length:
        refuse("frame_step", "at most frame_length", step)
    return Window((length,), (step,), choice(params, "padding", PADDINGS))


def _bins(params: Params) -> int:
    """How many frequencies there are. Without fft_length the transform is as long as the frame's next power of two."""
    length = positive(params, "frame_length")
    if params["fft_length"] is None:
        return (1 << (length - 1).bit_length()) // 2 + 1
    size = positive(params, "fft_length")
    if size < length:
        refuse("fft_length", "at least frame_length", size)
    return size // 2 + 1


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 3)
    mode, expand, first = choice(params, "mode", _MODES), flag(params, "expand_dims"), channels_first(params)
    channels = known_size(shapes[0], 1 if first else 2, "the channels")
    steps = frames(params).output_size(0, shapes[0][2 if first else 1])
    bins = _bins(params) * (2 if mode == "stft" else 1)
    batch = shapes[0][0]
    if expand:
        return ((batch, channels, steps, bins) if first else (batch, steps, bins, channels),)
    return ((batch, channels * bins, steps) if first else (batch, steps, channels * bins),)


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    mode, length = params["mode"], positive(params, "frame_length")
    kernel = WeightSpec((length, 1, _bins(params)), "kernel", fan_in=length)
    found = {} if mode == "imag" else {"real_kernel": kernel}
    return found if mode == "real" else {**found, "imag_kernel": kernel}


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    signal = inputs[0] if channels_first(params) else np.moveaxis(inputs[0], 1, 2)  # batch, channels, time
    flat = signal.reshape(-1, signal.shape[2], 1)
    parts = [contract(flat, kernel, frames(params)) for kernel in weights.values()]
    found = _combined(params["mode"], parts)
    shape = (*signal.shape[:2], *found.value.shape[1:])  # batch, channels, steps, frequencies
    arranged = [_arrange(params, part.reshape(shape)) for part in (found.value, found.kappa)]
    return (Evaluation(*arranged),)


def _combined(mode: str, parts: Sequence[Evaluation]) -> Evaluation:
    if mode in ("real", "imag"):
        return parts[0]
    if mode == "stft":
        return carried.concatenate(parts, axis=-1)
    real, imaginary = (carried.times(part, part) for part in parts)
    power = carried.plus(real, imaginary)
    if mode == "psd":
        return _one_sided(power)
    magnitude = np.sqrt(np.maximum(power.value, _FLOOR))
    rounding = 0.5 * power.kappa / magnitude + magnitude
    if mode == "magnitude":
        return Evaluation(magnitude, rounding)
    value = np.log(np.maximum(magnitude, _FLOOR))
    return Evaluation(value, rounding / np.maximum(magnitude, _FLOOR))


def _one_sided(power: Evaluation) -> Evaluation:
    """Frequencies that have a twin among the negative ones count twice: all but the first and the last."""
    factor = np.full(power.value.shape[-1], 2.0)
    factor[[0, -1]] = 1.0
    return carried.scaled(power, factor)


def _arrange(params: Params, x: Array) -> Array:
    """From (batch, channels, steps, frequencies) to the layout asked for."""
    batch, channels, steps, bins = x.shape
    if flag(params, "expand_dims"):
        return x if channels_first(params) else x.transpose(0, 2, 3, 1)
    joined = x.transpose(0, 1, 3, 2).reshape(batch, channels * bins, steps)
    return joined if channels_first(params) else joined.transpose(0, 2, 1)


STFT_SPECTROGRAM = LayerSpec(
    name="STFTSpectrogram",
    api="keras.layers.STFTSpectrogram",
    arity=(1, 1),
    ranks=(3,),
    parameters=(
        Parameter("mode", "log", _MODES, ("power", None)),
        Parameter("frame_length", 256, (256, 4, 3), (0, -1)),
        Parameter("frame_step", None, (None, 1, 2), (0, -1)),
        Parameter("fft_length", None, (None, 8), (0, 1)),
        Parameter("padding", "valid", PADDINGS, ("causal", 1)),
        Parameter("expand_dims", False, (False, True)),
        DATA_FORMAT,
    ),
    shape=_shape,
    weights=_weights,
    reference=_reference,
    formula=(
        "output = each frame's products with the real and imaginary kernels: themselves, their power, its root, or the "
        "logarithm of that"
    ),
    dtypes=FLOATS[:-1],  # by its own check
    conflicts=(
        Conflict({"frame_length": 3, "frame_step": 4}, "frame_step is at most frame_length"),
        Conflict({"frame_length": 4, "fft_length": 2}, "fft_length is at least frame_length"),
    ),
    hazards=("the kernels are weights: window and scaling only say how they begin",),
)
