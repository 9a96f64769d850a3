"""Which inputs fit and which do not, at the border between the two; and shapes of which a part is unknown."""

from __future__ import annotations

import pytest

from tensorparity.operators.catalogue import layer
from tensorparity.operators.spec import ShapeError

DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "dense", "units": 3}}
LSTM = {"module": "keras.layers", "class_name": "LSTM", "config": {"name": "lstm", "units": 3}}
CELL = {"module": "keras.layers", "class_name": "LSTMCell", "config": {"name": "cell", "units": 3}}

#: Layer, parameters, the rank below which nothing fits, and the greatest that does; None for no limit.
RANKS = [
    ("Dense", {"units": 3}, 2, None),
    ("PReLU", {}, 2, None),
    ("Masking", {}, 2, None),
    ("BatchNormalization", {}, 2, None),
    ("GroupNormalization", {"groups": 1}, 2, None),
    ("CategoryEncoding", {"num_tokens": 3}, 2, None),
    ("TimeDistributed", {"layer": DENSE}, 3, 6),
    ("SpectralNormalization", {"layer": DENSE}, 2, 5),
    ("RepeatVector", {"n": 3}, 2, 2),
    ("LSTM", {"units": 3}, 3, 3),
    ("RNN", {"cell": CELL}, 3, 3),
    ("Bidirectional", {"layer": LSTM}, 3, 3),
    ("STFTSpectrogram", {"frame_length": 2}, 3, 3),
    ("Dropout", {"rate": 0.5}, 2, 5),
    ("RandomFlip", {}, 4, 4),
    ("Resizing", {"height": 2, "width": 2}, 4, 4),
    ("CenterCrop", {"height": 2, "width": 2}, 4, 4),
    *((f"{name}{dims}D", params, dims + 2, dims + 2) for dims in (1, 2, 3) for name, params in (
        ("Conv", {"filters": 2, "kernel_size": 1}), ("MaxPooling", {}), ("AveragePooling", {"pool_size": 1}),
        ("GlobalMaxPooling", {}), ("AdaptiveMaxPooling", {"output_size": 1}), ("ZeroPadding", {}), ("UpSampling", {}),
        ("Cropping", {"cropping": 1 if dims > 1 else (1, 1)}), ("SpatialDropout", {"rate": 0.5}))),
    *((f"Conv{dims}DTranspose", {"filters": 2, "kernel_size": 1}, dims + 2, dims + 2) for dims in (1, 2, 3)),
    *((f"ConvLSTM{dims}D", {"filters": 2, "kernel_size": 1}, dims + 3, dims + 3) for dims in (1, 2, 3)),
    *((f"{name}Conv{dims}D", {"kernel_size": 1, **params}, dims + 2, dims + 2) for dims in (1, 2) for name, params in (
        ("Depthwise", {}), ("Separable", {"filters": 2}))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "least", "most"), RANKS)
def test_ranks(name, params, least, most):
    spec = layer(name)
    for rank in range(1, 7):
        shape = (2, *(6,) * (rank - 1))
        if least <= rank <= (most or rank):
            spec.shape(spec.complete(params), [shape])
        else:
            with pytest.raises(ShapeError, match="rank"):
                spec.shape(spec.complete(params), [shape])


FIT = [
    ("Dot", {"axes": 1}, [(None, 3), (2, 3)], [(2, 1)]),
    ("Dot", {"axes": 1}, [(2, 3), (None, 3)], [(2, 1)]),
    ("Dot", {"axes": (2, 1)}, [(2, 4, 3), (2, 3, 5)], [(2, 4, 5)]),
    ("EinsumDense", {"equation": "ab,bc->ac", "output_shape": 1}, [(2, 3)], [(2, 1)]),
    ("EinsumDense", {"equation": "...ab,bc->...ac", "output_shape": 4}, [(2, 3)], [(2, 4)]),
    ("EinsumDense", {"equation": "abc,cd->abd", "output_shape": (None, 1)}, [(None, None, 3)], [(None, None, 1)]),
    ("Discretization", {"bin_boundaries": [0.0], "output_mode": "one_hot"}, [(1,)], [(1, 2)]),
    ("Discretization", {"bin_boundaries": [0.0], "output_mode": "one_hot"}, [(4, 1)], [(4, 2)]),
    ("Discretization", {"bin_boundaries": [0.0], "output_mode": "one_hot"}, [(4, 2)], [(4, 2, 2)]),
    ("Discretization", {"bin_boundaries": [0.0, 1.0], "output_mode": "count"}, [(4, 2)], [(4, 3)]),
    ("RandomColorDegeneration", {"factor": 0.2}, [(1, 5, 4, 3)], [(1, 5, 4, 3)]),
    ("RandomHue", {"factor": (0.1, 0.2)}, [(1, 5, 4, 3)], [(1, 5, 4, 3)]),
    ("RandomColorDegeneration", {"factor": 0.2, "data_format": "channels_first"}, [(1, 3, 4, 5)], [(1, 3, 4, 5)]),
    ("Attention", {}, [(None, 4, 5), (2, 3, 5)], [(None, 4, 5)]),
    ("MultiHeadAttention", {"num_heads": 1, "key_dim": 2, "sliding_window": 2}, [(1, 4, 5), (1, 3, 5)], [(1, 4, 5)]),
    ("MultiHeadAttention", {"num_heads": 1, "key_dim": 2, "output_shape": 1}, [(1, 4, 5), (1, 3, 5)], [(1, 4, 1)]),
    ("MultiHeadAttention", {"num_heads": 1, "key_dim": 2, "output_shape": (2, 1)}, [(1, 4, 5)] * 2, [(1, 4, 2, 1)]),
    ("Reshape", {"target_shape": (3, -1)}, [(2, 0)], [(2, 3, 0)]),
    ("Reshape", {"target_shape": (-1, 2)}, [(2, None)], [(2, None, 2)]),
    ("Reshape", {"target_shape": (1, 6)}, [(2, 6)], [(2, 1, 6)]),
    ("Flatten", {}, [(2, None, 3)], [(2, None)]),
    ("Rescaling", {"scale": [1.0, 2.0, 3.0]}, [(2, 4, 3)], [(2, 4, 3)]),
    ("Rescaling", {"scale": [[1.0], [2.0]]}, [(5, 2, 3)], [(5, 2, 3)]),
    ("Cropping1D", {"cropping": (1, 1)}, [(2, 3, 4)], [(2, 1, 4)]),
    ("Cropping1D", {"cropping": (1, 1)}, [(0, 3, 4)], [(0, 1, 4)]),
    ("Conv1D", {"filters": 2, "kernel_size": 3}, [(2, 3, 4)], [(2, 1, 2)]),
    ("Conv1D", {"filters": 4, "kernel_size": 1, "groups": 2}, [(2, 3, 6)], [(2, 3, 4)]),
    ("Conv1DTranspose", {"filters": 2, "kernel_size": 3, "strides": 2, "output_padding": 1}, [(2, 3, 4)], [(2, 8, 2)]),
    ("STFTSpectrogram", {"frame_length": 4, "frame_step": 4, "fft_length": 4}, [(1, 4, 1)], [(1, 1, 3)]),
    ("STFTSpectrogram", {"frame_length": 5}, [(1, 9, 1)], [(1, 3, 5)]),
    ("STFTSpectrogram", {"frame_length": 1}, [(1, 3, 1)], [(1, 3, 1)]),
    ("AdaptiveMaxPooling1D", {"output_size": 3}, [(2, 3, 4)], [(2, 3, 4)]),
    ("CenterCrop", {"height": 3, "width": 4}, [(2, 3, 4, 1)], [(2, 3, 4, 1)]),
    ("Dropout", {"rate": 1.0}, [(2, 3)], [(2, 3)]),
    ("Dropout", {"rate": 0, "noise_shape": (None, 1)}, [(2, 3)], [(2, 3)]),
]  # fmt: skip

DO_NOT = [
    ("Dot", {"axes": 1}, [(2, 3), (3, 3)]),
    ("Dot", {"axes": 1}, [(2, 3), (2, 4)]),
    ("EinsumDense", {"equation": "ab,bc->ac", "output_shape": 0}, [(2, 3)]),
    ("RandomColorDegeneration", {"factor": 0.2}, [(1, 5, 3, 4)]),
    ("RandomHue", {"factor": (0.1, 0.2, 0.3)}, [(1, 5, 4, 3)]),
    ("RandomColorDegeneration", {"factor": 0.2, "data_format": "channels_first"}, [(1, 4, 3, 3)]),
    ("Attention", {}, [(2, 4, 5), (3, 3, 5)]),
    ("Attention", {}, [(2, 4, 5), (2, 3, 6)]),
    ("Attention", {}, [(2, 4, 5), (2, 3, 5), (2, 4, 5)]),
    ("MultiHeadAttention", {"num_heads": 1, "key_dim": 2, "sliding_window": 1}, [(1, 4, 5), (1, 3, 5)]),
    ("MultiHeadAttention", {"num_heads": 1, "key_dim": 2, "output_shape": ()}, [(1, 4, 5), (1, 3, 5)]),
    ("GroupQueryAttention", {"head_dim": 2, "num_query_heads": 3, "num_key_value_heads": 2}, [(1, 4, 5), (1, 3, 5)]),
    ("Reshape", {"target_shape": (4, -1)}, [(2, 6)]),
    ("Reshape", {"target_shape": (0, -1)}, [(2, 6)]),
    ("Reshape", {"target_shape": (5,)}, [(2, 6)]),
    ("Rescaling", {"scale": [1.0, 2.0]}, [(2, 4, 3)]),
    ("Rescaling", {"scale": [[[1.0]]]}, [(2, 3)]),
    ("Cropping1D", {"cropping": (1, 2)}, [(2, 3, 4)]),
    ("Cropping1D", {"cropping": (0, 1)}, [(2, 1, 4)]),
    ("Conv1D", {"filters": 2, "kernel_size": 4}, [(2, 3, 4)]),
    ("Conv1D", {"filters": 3, "kernel_size": 1, "groups": 2}, [(2, 3, 6)]),
    ("Conv1D", {"filters": 4, "kernel_size": 1, "groups": 2}, [(2, 3, 5)]),
    ("Conv1D", {"filters": 4, "kernel_size": 1, "strides": 2, "dilation_rate": 2}, [(2, 3, 5)]),
    ("Conv1DTranspose", {"filters": 2, "kernel_size": 3, "strides": 2, "output_padding": 2}, [(2, 3, 4)]),
    ("STFTSpectrogram", {"frame_length": 4, "frame_step": 5}, [(1, 9, 1)]),
    ("STFTSpectrogram", {"frame_length": 4, "fft_length": 3}, [(1, 9, 1)]),
    ("AdaptiveMaxPooling1D", {"output_size": 4}, [(2, 3, 4)]),
    ("Resizing", {"height": 4, "width": 4, "crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}, [(2, 3, 4, 1)]),
    ("Discretization", {"bin_boundaries": [0.0, 0.0]}, [(4, 2)]),
    ("GroupNormalization", {"groups": 4}, [(2, 3, 6)]),
    ("Dropout", {"rate": 0.5, "noise_shape": (0, 1)}, [(2, 3)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "shapes", "expected"), FIT)
def test_what_fits(name, params, shapes, expected):
    spec = layer(name)
    assert list(spec.shape(spec.complete(params), shapes)) == expected


@pytest.mark.parametrize(("name", "params", "shapes"), DO_NOT)
def test_what_does_not(name, params, shapes):
    spec = layer(name)
    with pytest.raises(ShapeError, match="Received: "):
        spec.shape(spec.complete(params), shapes)
