"""Runs layers, losses and optimizers in a process of its own, because only here Keras may be imported.

Usage: keras_child.py CASES.json INPUTS.npz OUTPUTS.npz ANSWERS.json
"""

from __future__ import annotations

import inspect
import json
import sys

import keras
import numpy as np
from keras.src.backend import get_keras_mask, set_keras_mask
from keras.src.initializers import random_initializers


def zeros(self, shape, dtype=None, **kwargs):
    """In place of every random initializer: weights are set anyway, and JAX need not compile a sampler for each."""
    return keras.ops.convert_to_tensor(np.zeros(shape, "float32"), dtype=dtype)


for initializer in vars(random_initializers).values():
    if isinstance(initializer, type) and "__call__" in vars(initializer):
        initializer.__call__ = zeros


def make_layer(cls: type, params: dict) -> keras.Layer:
    """By the constructor, unless a parameter is a serialized layer, which only ``from_config`` reads.

    Not always by ``from_config``: that of Rescaling raises unless offset, which has a default, is given.
    """
    nested = any(isinstance(value, dict) for value in params.values())
    return cls.from_config(params) if nested else cls(**params)


def forget(layer: keras.Layer) -> None:
    """Stateful layers start anew, after the call that built them."""
    for state in keras.tree.flatten(getattr(layer, "states", None) or []):
        state.assign(np.zeros(state.shape, "float32"))


def run_layer(case: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    inputs = [keras.ops.convert_to_tensor(arrays[name]) for name in case["inputs"]]
    arguments = [inputs] if case["list"] else inputs
    layer = make_layer(getattr(keras.layers, case["op"]), {**case["params"], "name": "layer"})
    call = {**case["call"], **({"training": False} if layer._call_has_training_arg else {})}
    call.update(zip(case["named"], arguments[1:], strict=False))
    arguments = arguments[: len(arguments) - len(case["named"])] or arguments
    layer(*arguments, **call)
    names = [weight.path.partition("layer/")[2] for weight in layer.weights]
    layer.set_weights([arrays[f"{case['id']}/weight/{name}"] for name in names])
    if hasattr(layer, "finalize_state"):
        layer.finalize_state()  # Normalization copies its weights, and assigning them does not tell it
    forget(layer)
    outputs = [keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(layer(*arguments, **call))]
    shapes = [list(output.shape) for output in outputs]
    lost = round_trip(layer, arguments, call, outputs)
    return {"weights": names, "shapes": shapes, "config": sorted(layer.get_config()), "lost": lost}, outputs


def round_trip(layer: keras.Layer, arguments: list, call: dict, outputs: list[np.ndarray]) -> str:
    """What a layer loses when it is made again of its configuration, directly or as a file holds it; or nothing."""
    written = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    ways = {
        "from_config": lambda: type(layer).from_config(layer.get_config()),
        "deserialize_keras_object": lambda: keras.saving.deserialize_keras_object(written),
    }
    for name, make in ways.items():
        try:
            lost = lost_in(layer, make(), arguments, call, outputs)
        except Exception as error:
            lost = f"{type(error).__name__}: {error}"
        if lost:
            return f"{name}: {lost}"
    return ""


def lost_in(layer: keras.Layer, again: keras.Layer, arguments: list, call: dict, outputs: list[np.ndarray]) -> str:
    if plain(again.get_config()) != plain(layer.get_config()):
        return f"{layer.get_config()} has become {again.get_config()}"
    again(*arguments, **call)
    again.set_weights(layer.get_weights())
    if hasattr(again, "finalize_state"):
        again.finalize_state()
    forget(again)
    found = [keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(again(*arguments, **call))]
    same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, outputs, strict=True))
    return "" if same else "the same configuration computes something else"


def plain(config: object) -> object:
    """As JSON: tuples are lists there."""
    return json.loads(json.dumps(config, default=keras.saving.serialize_keras_object))


def run_masked(case: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    """A layer on tensors with masks; the masks of what it gives are further answers."""
    layer = make_layer(getattr(keras.layers, case["op"]), {**case["params"], "name": "layer"})
    call = {**case["call"], **({"training": False} if layer._call_has_training_arg else {})}

    def given() -> list:
        inputs = [keras.ops.convert_to_tensor(np.array(arrays[name])) for name in case["inputs"]]
        for tensor, name in zip(inputs, case["masks"], strict=True):
            if name:
                set_keras_mask(tensor, keras.ops.convert_to_tensor(arrays[name]))
        return [inputs] if case["list"] else inputs

    layer(*given(), **call)
    names = [weight.path.partition("layer/")[2] for weight in layer.weights]
    layer.set_weights([arrays[f"{case['id']}/weight/{name}"] for name in names])
    if hasattr(layer, "finalize_state"):
        layer.finalize_state()
    forget(layer)
    kept = given()  # a mask hangs on the tensor, and some layers give back the very tensor they got
    outputs = keras.tree.flatten(layer(*kept, **call))
    masks = [get_keras_mask(output) for output in outputs]
    shown = [None if mask is None else keras.ops.convert_to_numpy(mask).tolist() for mask in masks]
    return {"masks": shown}, [keras.ops.convert_to_numpy(output) for output in outputs]


def run_loss(case: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    loss = getattr(keras.losses, case["op"])(**case["params"])
    labels, predictions = (keras.ops.convert_to_tensor(arrays[name]) for name in case["inputs"])
    return {}, [keras.ops.convert_to_numpy(loss(labels, predictions))]


def apply_gradient(optimizer: keras.optimizers.Optimizer, gradient: object, variable: keras.Variable) -> None:
    """As a training step does: without state where the backend wants it so."""
    if keras.backend.backend() != "jax":
        optimizer.apply([gradient], [variable])
        return
    slots = [slot.value for slot in optimizer.variables]
    (value,), slots = optimizer.stateless_apply(slots, [gradient], [variable.value])
    variable.assign(value)
    for slot, state in zip(optimizer.variables, slots, strict=True):
        slot.assign(state)


def run_optimizer(case: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    """A step for every gradient; the weight after each."""
    optimizer = getattr(keras.optimizers, case["op"]).from_config(dict(case["params"]))
    weight, gradients = (arrays[name] for name in case["inputs"])
    variable, after = keras.Variable(weight, name="kernel"), []
    optimizer.build([variable])
    for gradient in gradients:
        apply_gradient(optimizer, keras.ops.convert_to_tensor(gradient), variable)
        after.append(keras.ops.convert_to_numpy(variable.value).copy())
    return {}, [np.stack(after)]


def run_metric(case: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    """Two batches, and the result after both."""
    metric = getattr(keras.metrics, case["op"])(**case["params"])
    given = [arrays[name] for name in case["inputs"]]
    half = len(given[0]) // 2
    for part in (slice(0, half), slice(half, None)):
        metric.update_state(*(keras.ops.convert_to_tensor(array[part]) for array in given))
    return {}, [keras.ops.convert_to_numpy(metric.result())]


def arguments(function: object) -> list[str]:
    """By name; those that a class hands on without naming them are not among them."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self"]


def run_signatures(case: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    """What every class of a module of Keras is made with and, if it is a layer, called with."""
    found = {}
    for name in case["names"]:
        cls = getattr(getattr(keras, case["op"]), name)
        found[name] = {"init": arguments(cls.__init__)}
        if case["op"] == "layers":
            found[name]["call"] = arguments(cls.call)
    return found, []


RUN = {
    "signatures": run_signatures,
    "layer": run_layer,
    "masked": run_masked,
    "loss": run_loss,
    "optimizer": run_optimizer,
    "metric": run_metric,
}


def main(cases_path: str, inputs_path: str, outputs_path: str, answers_path: str) -> None:
    with open(cases_path) as file:
        cases = json.load(file)
    arrays = dict(np.load(inputs_path, allow_pickle=False))
    answers, outputs = {"backend": keras.backend.backend()}, {}
    for case in cases:
        try:
            answers[case["id"]], found = RUN[case["kind"]](case, arrays)
            outputs.update({f"{case['id']}.{index}": output for index, output in enumerate(found)})
        except Exception as error:
            answers[case["id"]] = {"error": f"{type(error).__name__}: {error}"}
    np.savez(outputs_path, **outputs)
    with open(answers_path, "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
