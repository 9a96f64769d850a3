"""MelSpectrogram: short Fourier transforms, summed in bands of the mel scale, in decibel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import choice, flag, need_rank, number, positive, refuse
from ..reference.rounding import growth
from ..spec import Conflict, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights

_WINDOWS = ("hann", "hamming")


def mel_lengths(params: Params) -> tuple[int, int, int]:
    """Of the transform, of the frame in its middle, and from one frame to the next."""
    size = positive(params, "fft_length")
    frame = size if params["sequence_length"] is None else positive(params, "sequence_length")
    if frame > size:
        refuse("sequence_length", "at most fft_length", frame)
    return size, frame, positive(params, "sequence_stride")


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 2)
    size, _, stride = mel_lengths(params)
    choice(params, "window", _WINDOWS)
    flag(params, "power_to_db")
    for name in ("sampling_rate", "min_freq", "mag_exp"):
        number(params, name)
    if params["max_freq"] is not None:
        number(params, "max_freq")
    bands, samples = positive(params, "num_mel_bins"), shapes[0][1]
    if samples is None:
        return ((shapes[0][0], bands, None),)
    if samples <= size // 2:
        raise ShapeError(f"Expected more than {size // 2} samples, by which the ends are mirrored. Received: {samples}")
    return ((shapes[0][0], bands, 1 + (samples + size // 2 * 2 - size) // stride),)


def mel_window(params: Params) -> Array:
    """The frame's window, with zeros around it up to the transform's length."""
    size, frame, _ = mel_lengths(params)
    wave = np.cos(2.0 * np.pi * np.arange(frame) / frame)
    window = 0.5 - 0.5 * wave if params["window"] == "hann" else 0.54 - 0.46 * wave
    before = (size - frame) // 2
    return np.pad(np.ones(1) if frame == 1 else window, (before, size - frame - before))


def _mel(hertz: Array | float) -> Array:
    return np.asarray(1127.0 * np.log(1.0 + np.asarray(hertz) / 700.0))


def mel_bands(params: Params, bins: int) -> tuple[Array, Array]:
    """Triangles on the mel scale over the bins of the transform, and how much rounding may move each entry."""
    rate = number(params, "sampling_rate")
    top = params["max_freq"] or int(rate / 2)
    frequencies = _mel(np.linspace(0.0, rate / 2.0, bins)[1:])[:, None]
    edges = np.linspace(_mel(number(params, "min_freq")), _mel(float(top)), positive(params, "num_mel_bins") + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    found = np.maximum(0.0, np.minimum(rising, falling))
    loose = 4.0 * edges[-1] / (edges[1] - edges[0])
    near = (np.minimum(rising, falling) > -1e-5 * loose).astype(np.float64) * loose
    return np.pad(found, ((1, 0), (0, 0))), np.pad(near, ((1, 0), (0, 0)))


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    size, _, stride = mel_lengths(params)
    window = mel_window(params)
    x = np.pad(inputs[0], ((0, 0), (size // 2, size // 2)), mode="reflect")
    count = 1 + (x.shape[1] - size) // stride
    frames = np.stack([x[:, start * stride : start * stride + size] * window for start in range(count)], axis=1)
    magnitude = np.abs(np.fft.rfft(frames, axis=-1))
    moved = (growth(size) + 2.0) * np.sum(np.abs(frames), axis=-1, keepdims=True)
    power = magnitude ** number(params, "mag_exp")
    # Near zero a magnitude is nothing but rounding, and so is its power.
    rounding = number(params, "mag_exp") * (magnitude + moved * 2.0**-22) ** (number(params, "mag_exp") - 1.0) * moved
    matrix, loose = mel_bands(params, magnitude.shape[-1])
    value = power @ matrix
    kappa = (rounding + growth(size) * power) @ matrix + power @ loose
    if params["power_to_db"]:
        floor = number(params, "min_power")
        lifted = np.maximum(value, floor)
        kappa = 10.0 / np.log(10.0) * kappa / lifted + 10.0 * np.abs(np.log10(lifted)) + 10.0
        value = 10.0 * np.log10(lifted) - 10.0 * np.log10(max(abs(number(params, "ref_power")), floor))
        value = np.maximum(value, value.max(initial=-np.inf) - number(params, "top_db"))
        kappa = kappa + np.abs(value)
    return (Evaluation(np.swapaxes(value, 1, 2), np.swapaxes(kappa, 1, 2)),)


MEL_SPECTROGRAM = LayerSpec(
    name="MelSpectrogram",
    api="keras.layers.MelSpectrogram",
    arity=(1, 1),
    ranks=(2,),
    parameters=(
        Parameter("fft_length", 2048, (2048, 4, 6), (0, -1)),
        Parameter("sequence_stride", 512, (512, 1, 2), (0, -1)),
        Parameter("sequence_length", None, (None, 3), (-1,)),
        Parameter("window", "hann", _WINDOWS, ("boxes",)),
        Parameter("sampling_rate", 16000, (16000, 8000), ("much",)),
        Parameter("num_mel_bins", 128, (128, 3, 1), (-1,)),
        Parameter("min_freq", 20.0, (20.0, 200.0), ("much",)),
        Parameter("max_freq", None, (None, 4000), ("much",)),
        Parameter("power_to_db", True, (True, False)),
        Parameter("top_db", 80.0, (80.0, 20.0)),
        Parameter("mag_exp", 2.0, (2.0, 1.0), ("much",)),
        Parameter("min_power", 1e-10, (1e-10, 1e-3)),
        Parameter("ref_power", 1.0, (1.0, 2.0)),
    ),
    conflicts=(Conflict({"fft_length": 4, "sequence_length": 6}, "sequence_length is at most fft_length"),),
    shape=_shape,
    weights=no_weights,
    reference=_reference,
    formula=(
        "output = the powers of each frame's Fourier transform, summed in triangles on the mel scale, as decibel of "
        "ref_power and at most top_db below the largest"
    ),
    hazards=("the symbolic number of frames is not always the real one",),
)
