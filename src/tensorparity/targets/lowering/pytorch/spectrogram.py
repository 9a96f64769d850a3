"""MelSpectrogram by torch's own transform, STFTSpectrogram by a convolution of each channel with kernels of waves."""

from __future__ import annotations

from math import log10

from ....operators.arguments import channels_first, flag, number
from ....operators.layers.mel import mel_bands, mel_lengths, mel_window
from ....operators.layers.spectrogram import frames
from ..refusal import Refusal
from .convolution import convolve, filters_first
from .program import Lowering, TorchCall, TorchTensor

_FLOOR = 1e-7
_MOST_NUMBERS = 8192


def _spectrogram(call: TorchCall) -> TorchTensor:
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


def _combined(call: TorchCall, parts: list[TorchTensor]) -> TorchTensor:
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


def _arranged(call: TorchCall, x: TorchTensor) -> TorchTensor:
    """From (batch, channels, frequencies, steps) to the layout asked for."""
    first = channels_first(call.params)
    if flag(call.params, "expand_dims"):
        return call.permute(x, (0, 1, 3, 2) if first else (0, 3, 2, 1))
    joined = call.emit("flatten", x, 1, 2)
    return joined if first else call.permute(joined, (0, 2, 1))


def _mel_spectrogram(call: TorchCall) -> TorchTensor:
    size, _, stride = mel_lengths(call.params)
    window = call.numbers(mel_window(call.params).tolist())
    spectrum = call.emit("stft", call.x, size, stride, size, window, return_complex=True)
    power = call.emit("pow", call.emit("abs", spectrum), number(call.params, "mag_exp"))
    bands = mel_bands(call.params, size // 2 + 1)[0]
    if bands.size > _MOST_NUMBERS:
        raise Refusal(f"{bands.size} numbers of the mel scale are too many for a program")
    matrix = call.numbers(bands.T.tolist())
    found = call.emit("matmul", matrix, power)
    return _decibel(call, found) if flag(call.params, "power_to_db") else found


def _decibel(call: TorchCall, power: TorchTensor) -> TorchTensor:
    least = number(call.params, "min_power")
    reference = 10.0 * log10(max(abs(number(call.params, "ref_power")), least))
    decibel = call.emit("mul", call.emit("log10", call.emit("clamp", power, min=least)), 10.0)
    decibel = call.emit("sub", decibel, reference)
    return call.emit("maximum", decibel, call.emit("sub", call.emit("amax", decibel), number(call.params, "top_db")))


SPECTROGRAM_LAYERS: dict[str, Lowering] = {"MelSpectrogram": _mel_spectrogram, "STFTSpectrogram": _spectrogram}
