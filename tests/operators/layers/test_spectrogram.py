from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

TIME, BINS = np.arange(4)[:, None], np.arange(3)
REAL, IMAGINARY = np.cos(2 * np.pi * TIME * BINS / 4)[:, None], -np.sin(2 * np.pi * TIME * BINS / 4)[:, None]
X = np.random.default_rng(0).normal(size=(2, 8, 1))


def run(mode, **params):
    node = Node("s", "STFTSpectrogram", (Ref("x"),), {"mode": mode, "frame_length": 4, "frame_step": 2, **params})
    kernels = {} if mode == "imag" else {"s/real_kernel": REAL}
    return evaluate_node(node, [X], kernels if mode == "real" else {**kernels, "s/imag_kernel": IMAGINARY})[0].value


def test_with_waves_as_kernels_it_is_the_fourier_transform():
    frames = np.stack([X[:, start : start + 4, 0] for start in (0, 2, 4)], axis=1)
    truth = np.fft.rfft(frames)
    np.testing.assert_allclose(run("real"), truth.real, atol=1e-12)
    np.testing.assert_allclose(run("imag"), truth.imag, atol=1e-12)
    np.testing.assert_allclose(run("magnitude"), np.maximum(np.abs(truth), np.sqrt(1e-7)), atol=1e-12)
    np.testing.assert_allclose(run("log"), np.log(np.abs(truth)), atol=1e-9)
    np.testing.assert_allclose(run("psd"), np.abs(truth) ** 2 * [1, 2, 1], atol=1e-12)
    np.testing.assert_allclose(run("stft"), np.concatenate([truth.real, truth.imag], axis=-1), atol=1e-12)


def test_axes():
    assert run("real", expand_dims=True).shape == (2, 3, 3, 1)
    spec = layer("STFTSpectrogram")
    params = spec.complete({"frame_length": 3, "data_format": "channels_first", "padding": "same"})
    assert spec.shape(params, [(None, 2, 9)]) == ((None, 6, 9),)
    assert spec.weights(params, [(None, 2, 9)])["real_kernel"].shape == (3, 1, 3)


@pytest.mark.parametrize(("name", "value"), [("mode", "x"), ("frame_step", 9), ("fft_length", 2)])
def test_bad_parameters_are_refused(name, value):
    spec = layer("STFTSpectrogram")
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete({"frame_length": 4, name: value}), [(1, 8, 1)])
