"""Activations, and the layers that are one."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .registry import Params, Tensor, Weights, layer

_ROOT_TWO = tf.sqrt(tf.constant(2.0, tf.float64))


def _sparsemax(x: Tensor) -> Tensor:
    """The threshold by bisection: what lies above it sums to one; then exactly, from the support it leaves."""
    high = tf.reduce_max(x, axis=-1, keepdims=True)
    low = high - 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        above = tf.reduce_sum(tf.nn.relu(x - middle), axis=-1, keepdims=True) >= 1.0
        low, high = tf.where(above, middle, low), tf.where(above, high, middle)
    support = tf.cast(tf.stop_gradient(x > low), tf.float64)
    size = tf.reduce_sum(support, axis=-1, keepdims=True)
    threshold = (tf.reduce_sum(x * support, axis=-1, keepdims=True) - 1.0) / size
    return tf.nn.relu(x - threshold)


def _sixth(x: Tensor) -> Tensor:
    return tf.nn.relu6(x + 3.0) / 6.0


ACTIVATIONS: dict[str | None, Any] = {
    None: tf.identity,
    "linear": tf.identity,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "leaky_relu": lambda x: tf.nn.relu(x) - 0.2 * tf.nn.relu(-x),  # its own has a slope of type float32
    "sigmoid": tf.sigmoid,
    "tanh": tf.tanh,
    "softmax": tf.nn.softmax,
    "log_softmax": tf.nn.log_softmax,
    "softplus": tf.math.softplus,
    "softsign": tf.nn.softsign,
    "elu": tf.nn.elu,
    "selu": tf.nn.selu,
    "gelu": lambda x: x * 0.5 * tf.math.erfc(-x / _ROOT_TWO),
    "silu": tf.nn.silu,
    "swish": tf.nn.silu,
    "exponential": tf.exp,
    "hard_sigmoid": _sixth,
    "celu": tf.nn.elu,
    "hard_shrink": lambda x: tf.where(tf.abs(x) > 0.5, x, tf.zeros_like(x)),
    "hard_silu": lambda x: x * _sixth(x),
    "hard_swish": lambda x: x * _sixth(x),
    "hard_tanh": lambda x: tf.clip_by_value(x, -1.0, 1.0),
    "log_sigmoid": tf.math.log_sigmoid,
    "mish": lambda x: x * tf.tanh(tf.math.softplus(x)),
    "soft_shrink": lambda x: tf.nn.relu(x - 0.5) - tf.nn.relu(-x - 0.5),
    "sparse_plus": lambda x: tf.where(x > 1.0, x, tf.square(tf.nn.relu(x + 1.0)) / 4.0),
    "sparse_sigmoid": lambda x: tf.clip_by_value(0.5 * x + 0.5, 0.0, 1.0),
    "sparsemax": _sparsemax,
    "squareplus": lambda x: 0.5 * x + tf.sqrt(tf.square(0.5 * x) + 1.0),
    "tanh_shrink": lambda x: x - tf.tanh(x),
}


@layer("Activation")
def _activation(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return ACTIVATIONS[p["activation"]](inputs[0])


@layer("ELU")
def _elu(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """TensorFlow's has no alpha, which multiplies the negative part."""
    x = inputs[0]
    return tf.nn.relu(x) + p["alpha"] * tf.nn.elu(tf.minimum(x, tf.zeros_like(x)))


@layer("LeakyReLU")
def _leaky(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.nn.relu(inputs[0]) - p["negative_slope"] * tf.nn.relu(-inputs[0])


@layer("PReLU")
def _prelu(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.nn.relu(inputs[0]) - weights["alpha"] * tf.nn.relu(-inputs[0])


@layer("ReLU")
def _relu(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Each piece where its condition holds, and no other does that stands before it."""
    x = inputs[0]
    top = x >= p["max_value"] if p["max_value"] is not None else tf.zeros_like(x, tf.bool)
    middle = tf.logical_and(tf.logical_not(top), x >= p["threshold"])
    bottom = tf.logical_not(tf.logical_or(top, middle))
    pieces = [(top, tf.ones_like(x) * (p["max_value"] or 0.0)), (middle, x)]
    pieces.append((bottom, p["negative_slope"] * (x - p["threshold"])))
    return tf.add_n([tf.where(holds, piece, tf.zeros_like(x)) for holds, piece in pieces])


@layer("Softmax")
def _softmax(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x, axis = inputs[0], p["axis"]
    if isinstance(axis, int):
        return tf.nn.softmax(x, axis=axis)
    powers = tf.exp(x - tf.reduce_max(x, axis=axis, keepdims=True))
    return powers / tf.reduce_sum(powers, axis=axis, keepdims=True)
