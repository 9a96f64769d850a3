"""MelSpectrogram and AutoContrast."""

from __future__ import annotations

import math

import tensorflow as tf

from .registry import Params, Tensor, Weights, layer


@layer("MelSpectrogram")
def _mel_spectrogram(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    size = p["fft_length"]
    signal = tf.pad(inputs[0], [[0, 0], [size // 2, size // 2]], "REFLECT")
    frames = tf.signal.frame(signal, size, p["sequence_stride"]) * _window(p)
    magnitude = tf.abs(tf.signal.rfft(frames))
    rate = p["sampling_rate"]
    bands = tf.signal.linear_to_mel_weight_matrix(
        p["num_mel_bins"], size // 2 + 1, rate, p["min_freq"], float(p["max_freq"] or rate // 2), tf.float64
    )
    found = tf.transpose(tf.tensordot(tf.pow(magnitude, p["mag_exp"]), bands, 1), [0, 2, 1])
    return _decibel(p, found) if p["power_to_db"] else found


def _window(p: Params) -> Tensor:
    """``tf.signal`` has no periodic windows of odd lengths."""
    frame = p["sequence_length"] or p["fft_length"]
    mean = {"hann": 0.5, "hamming": 0.54}[p["window"]]
    waves = [mean - (1.0 - mean) * math.cos(2.0 * math.pi * place / frame) for place in range(frame)]
    missing = p["fft_length"] - frame
    return tf.pad(tf.constant(waves, tf.float64), [[missing // 2, missing - missing // 2]])


def _decibel(p: Params, power: Tensor) -> Tensor:
    least = tf.constant(p["min_power"], tf.float64)
    level = math.log(max(p["ref_power"], p["min_power"]))
    found = 10.0 * (tf.math.log(tf.maximum(power, least)) - level) / math.log(10.0)
    return tf.maximum(found, tf.reduce_max(found) - p["top_db"])


@layer("AutoContrast")
def _contrast(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Flat channels, which stay, are not drawn; a test by hand has one."""
    low, high = (of(inputs[0], axis=[1, 2], keepdims=True) for of in (tf.reduce_min, tf.reduce_max))
    least, greatest = p["value_range"]
    return tf.math.divide(inputs[0] - low, high - low) * (greatest - least) + least
