"""STFTSpectrogram: frames of every channel times kernels of waves, as a convolution over one channel."""

from __future__ import annotations

from ....operators.arguments import channels_first, flag
from ....operators.spectrogram import frames
from .convolution import convolve, filters_first
from .program import Call, Lowering, Tensor

_FLOOR = 1e-7


def _spectrogram(call: Call) -> Tensor:
    signal = call.x if channels_first(call.params) else call.permute(call.x, (0, 2, 1))
    batch, steps, channels = call.shapes[0]
    if channels_first(call.params):
        steps, channels = channels, steps
    flat = call.reshape(signal, (batch * channels, 1, steps))
    window = frames(call.params)
    parts = [
        convolve(call, flat, (steps,), filters_first(call, call.weight(name), 1), None, window)
        for name in call.declared
    ]
    found = _combined(call, parts)  # (batch * channels, frequencies, steps)
    return _arranged(call, call.emit("unflatten", found, 0, [batch, channels]))


def _combined(call: Call, parts: list[Tensor]) -> Tensor:
    mode = call.params["mode"]
    if mode in ("real", "imag"):
        return parts[0]
    if mode == "stft":
        return call.emit("cat", parts, dim=1)
    power = call.add(*(call.emit("square", part) for part in parts))
    if mode == "psd":
        bins = next(iter(call.declared.values())).shape[-1]
        factors = [1.0 if index in (0, bins - 1) else 2.0 for index in range(bins)]
        return call.emit("mul", power, call.reshape(call.numbers(factors), (bins, 1)))
    magnitude = call.emit("sqrt", call.emit("clamp", power, min=_FLOOR))
    return magnitude if mode == "magnitude" else call.emit("log", call.emit("clamp", magnitude, min=_FLOOR))


def _arranged(call: Call, x: Tensor) -> Tensor:
    """From (batch, channels, frequencies, steps) to the layout asked for."""
    first = channels_first(call.params)
    if flag(call.params, "expand_dims"):
        return call.permute(x, (0, 1, 3, 2) if first else (0, 3, 2, 1))
    joined = call.emit("flatten", x, 1, 2)
    return joined if first else call.permute(joined, (0, 2, 1))


SPECTROGRAM_LAYERS: dict[str, Lowering] = {"STFTSpectrogram": _spectrogram}
