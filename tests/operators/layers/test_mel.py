"""MelSpectrogram, ReversibleEmbedding and AutoContrast on numbers that can be followed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.operators.catalogue import layer
from tensorparity.operators.spec import ShapeError


def run(name: str, x: object, weights: dict[str, np.ndarray] | None = None, **params: object) -> np.ndarray:
    spec = layer(name)
    (found,) = spec.reference(spec.complete(params), [np.array(x, dtype=float)], weights or {})
    return found.value


def by_hand(signal: list[float], exponent: float) -> list[float]:
    """One band from 0 to 500 Hz at 1000 Hz, frames of 4 at every second sample, the ends mirrored."""
    padded = [signal[2], signal[1], *signal, signal[-2], signal[-3]]
    window = [0.0, 0.5, 1.0, 0.5]
    edges = [1127.0 * math.log(1.0 + 500.0 / 700.0) * share for share in (0.0, 0.5, 1.0)]
    powers = []
    for start in range(0, len(padded) - 3, 2):
        frame = [padded[start + k] * window[k] for k in range(4)]
        total = 0.0
        for bin_ in (1, 2):
            real = sum(frame[k] * math.cos(math.pi * k * bin_ / 2) for k in range(4))
            imaginary = sum(frame[k] * math.sin(math.pi * k * bin_ / 2) for k in range(4))
            mel = 1127.0 * math.log(1.0 + 250.0 * bin_ / 700.0)
            height = min((mel - edges[0]) / (edges[1] - edges[0]), (edges[2] - mel) / (edges[2] - edges[1]))
            total += max(0.0, height) * math.hypot(real, imaginary) ** exponent
        powers.append(total)
    return powers


PARAMS = {
    "fft_length": 4,
    "sequence_stride": 2,
    "sampling_rate": 1000,
    "num_mel_bins": 1,
    "min_freq": 0.0,
    "max_freq": 500,
}
SIGNAL = [1.0, -2.0, 0.5, 3.0, 1.5]


@pytest.mark.parametrize("exponent", [1.0, 2.0])
def test_mel_powers(exponent: float) -> None:
    found = run("MelSpectrogram", [SIGNAL], power_to_db=False, mag_exp=exponent, **PARAMS)
    assert found.shape == (1, 1, 3)
    assert found[0, 0].tolist() == pytest.approx(by_hand(SIGNAL, exponent))


def test_mel_decibel() -> None:
    powers = by_hand(SIGNAL, 2.0)
    expected = [10.0 * math.log10(power / 2.0) for power in powers]
    assert run("MelSpectrogram", [SIGNAL], ref_power=2.0, **PARAMS)[0, 0].tolist() == pytest.approx(expected)
    near = [max(value, max(expected) - 1.0) for value in expected]
    found = run("MelSpectrogram", [SIGNAL], ref_power=2.0, top_db=1.0, **PARAMS)
    assert found[0, 0].tolist() == pytest.approx(near)
    assert run("MelSpectrogram", [[0.0] * 5], min_power=1e-3, **PARAMS).ravel().tolist() == pytest.approx([-30.0] * 3)


def test_mel_shape() -> None:
    spec = layer("MelSpectrogram")
    assert spec.shape(spec.complete(PARAMS), [(2, 7)]) == ((2, 1, 4),)
    assert spec.shape(spec.complete({**PARAMS, "fft_length": 5, "sequence_stride": 1}), [(None, 7)]) == ((None, 1, 7),)
    with pytest.raises(ShapeError, match="more than 2 samples"):
        spec.shape(spec.complete(PARAMS), [(2, 2)])


def test_embedding_and_back() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
    params = {"input_dim": 3, "output_dim": 2}
    assert run("ReversibleEmbedding", [[2, 0]], {"embeddings": table}, **params).tolist() == [[[0, -1], [1, 2]]]
    back = run("ReversibleEmbedding", [[1.0, 1.0]], {"embeddings": table}, reverse=True, **params)
    assert back.tolist() == [[3.0, 7.0, -1.0]]
    capped = run("ReversibleEmbedding", [[1.0, 1.0]], {"embeddings": table}, reverse=True, logit_soft_cap=2.0, **params)
    assert capped[0].tolist() == pytest.approx([2.0 * math.tanh(logit / 2.0) for logit in (3.0, 7.0, -1.0)])
    own = {"embeddings": table, "reverse_embeddings": np.ones((2, 3))}
    free = run("ReversibleEmbedding", [[1.0, 2.0]], own, reverse=True, tie_weights=False, **params)
    assert free.tolist() == [[3.0, 3.0, 3.0]]


def test_contrast_is_stretched_channel_by_channel() -> None:
    image = np.array([[[[10.0, 7.0], [20.0, 7.0]], [[30.0, 7.0], [60.0, 7.0]]]])
    found = run("AutoContrast", image)
    assert found[0, :, :, 0].ravel().tolist() == pytest.approx([0.0, 51.0, 102.0, 255.0])
    assert found[0, :, :, 1].ravel().tolist() == [7.0] * 4
    shares = run("AutoContrast", image / 100.0, value_range=(-1, 1))
    assert shares[0, :, :, 0].ravel().tolist() == pytest.approx([-1.0, -0.6, -0.2, 1.0])
