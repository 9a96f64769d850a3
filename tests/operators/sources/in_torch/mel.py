"""MelSpectrogram and AutoContrast."""

from __future__ import annotations

import torch

from .registry import Params, Tensor, Weights, layer


@layer("MelSpectrogram")
def _mel_spectrogram(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    size, frame = p["fft_length"], p["sequence_length"] or p["fft_length"]
    window = {"hann": torch.hann_window, "hamming": torch.hamming_window}[p["window"]](frame, dtype=torch.float64)
    spectrum = torch.stft(inputs[0], size, p["sequence_stride"], frame, window, return_complex=True)
    found = torch.einsum("nfs,fm->nms", spectrum.abs() ** p["mag_exp"], _bands(p, size // 2 + 1))
    return _decibel(p, found) if p["power_to_db"] else found


def _bands(p: Params, bins: int) -> Tensor:
    """Triangles between neighbouring edges, which lie evenly on the mel scale; the constant is in none."""
    rate = p["sampling_rate"]
    hertz = torch.linspace(0.0, rate / 2, bins, dtype=torch.float64)
    ends = _mel(torch.tensor([p["min_freq"], p["max_freq"] or rate // 2], dtype=torch.float64))
    count = p["num_mel_bins"]
    width = (ends[1] - ends[0]) / (count + 1)
    centres = ends[0] + width * torch.arange(1, count + 1, dtype=torch.float64)
    found = torch.relu(1 - (_mel(hertz)[:, None] - centres).abs() / width)
    found[0] = 0.0
    return found


def _mel(hertz: Tensor) -> Tensor:
    return 1127.0 * torch.log1p(hertz / 700.0)


def _decibel(p: Params, power: Tensor) -> Tensor:
    found = 10 * (power.clamp(min=p["min_power"]) / max(p["ref_power"], p["min_power"])).log10()
    return torch.maximum(found, found.amax() - p["top_db"])


@layer("AutoContrast")
def _contrast(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Flat channels, which stay, are not drawn; a test by hand has one."""
    low, high = inputs[0].amin((1, 2), keepdim=True), inputs[0].amax((1, 2), keepdim=True)
    least, greatest = p["value_range"]
    return least + (greatest - least) * (inputs[0] - low) / (high - low)
