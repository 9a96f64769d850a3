"""A case in TensorFlow: outputs by ``output/N``, gradients by ``gradient/`` and the name of what they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from . import attention, dense, functions, mel, moving, recurrent, spatial  # noqa: F401, they register
from .losses import LOSSES
from .optimizers import OPTIMIZERS, steps
from .registry import LAYERS, Tensor

Arrays = dict[str, np.ndarray]


def _tensor(array: np.ndarray) -> Tensor:
    return tf.constant(array, tf.int64 if array.dtype.kind == "i" else tf.float64)


def compute_layer(case: dict[str, Any], arrays: Arrays) -> Arrays:
    given = {name: _tensor(array) for name, array in arrays.items() if not name.startswith("cotangent/")}
    weights = {name.removeprefix("weight/"): given[name] for name in given if name.startswith("weight/")}
    moved = {name: given[name] for name in case["moved"]}
    with tf.GradientTape() as tape:
        for tensor in moved.values():
            tape.watch(tensor)
        found = LAYERS[case["op"]](case["params"], [given[name] for name in case["inputs"]], weights)
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
    results = {f"output/{index}": output.numpy() for index, output in enumerate(outputs)}
    return results | gradients(tape, outputs, arrays, moved)


def gradients(tape: tf.GradientTape, outputs: list[Tensor], arrays: Arrays, moved: dict[str, Tensor]) -> Arrays:
    if not moved:
        return {}
    cotangents = [_tensor(arrays[f"cotangent/{index}"]) for index in range(len(outputs))]
    found = tape.gradient(outputs, moved, cotangents, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return {f"gradient/{name}": tf.convert_to_tensor(gradient).numpy() for name, gradient in found.items()}


def compute_loss(case: dict[str, Any], arrays: Arrays) -> Arrays:
    labels, guess = (_tensor(arrays[name]) for name in ("input/0", "input/1"))
    with tf.GradientTape() as tape:
        tape.watch(guess)
        found = LOSSES[case["op"]](case["params"], labels, guess)
    return {"output/0": found.numpy()} | gradients(tape, [found], arrays, {"input/1": guess})


def compute_steps(case: dict[str, Any], arrays: Arrays) -> Arrays:
    found = steps(case["op"], case["params"], arrays["input/0"], arrays["input/1"])
    return {f"output/{index}": weight for index, weight in enumerate(found)}


KINDS = {"layer": compute_layer, "loss": compute_loss, "optimizer": compute_steps}
COVERS = {"layer": sorted(LAYERS), "loss": sorted(LOSSES), "optimizer": sorted(OPTIMIZERS)}
