"""Layers that merge, move or pass on: nothing is computed but sums and products."""

from __future__ import annotations

from functools import reduce
from typing import Any

import tensorflow as tf

from .registry import Params, Tensor, Weights, layer


def _merge(function: Any) -> Any:
    def merged(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
        rank = max(len(x.shape) for x in inputs)
        for _ in range(rank):
            inputs = [tf.expand_dims(x, 1) if len(x.shape) < rank else x for x in inputs]
        return reduce(function, inputs)

    return merged


for _name, _function in {
    "Add": tf.add,
    "Subtract": tf.subtract,
    "Multiply": tf.multiply,
    "Maximum": tf.maximum,
    "Minimum": tf.minimum,
}.items():
    layer(_name)(_merge(_function))


@layer("Average")
def _average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return _merge(tf.add)(p, inputs, weights) / len(inputs)


@layer("Concatenate")
def _concatenate(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.concat(inputs, axis=p["axis"])


@layer("Flatten")
def _flatten(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x, rank = inputs[0], len(inputs[0].shape)
    if p["data_format"] == "channels_first":
        x = tf.transpose(x, [0, *range(2, rank), 1])
    return tf.reshape(x, [x.shape[0], -1])


@layer("Permute")
def _permute(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.transpose(inputs[0], [0, *p["dims"]])


@layer("RepeatVector")
def _repeat(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.stack([inputs[0]] * p["n"], axis=1)


@layer("Reshape")
def _reshape(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.reshape(inputs[0], [inputs[0].shape[0], *p["target_shape"]])
