"""The models of ``keras.applications``, with weights that make sense without a download.

Cached ImageNet weights are used where the user has them. Otherwise weights are drawn by seed and
calibrated on one seeded batch: each normalization gets the statistics of what arrives at it, and the
last layer with a kernel is scaled to logits of unit deviation. Untrained, uncalibrated networks let
the signal fade, and every backend looks the same.
"""

import os
from difflib import get_close_matches

import numpy as np

from ...contract import Unsupported
from .program import Program, no_random_initializers

_BATCH = 4
#: The size of images that the documentation names for models which take any.
_SIZE = 224


def make_application(adapter, recipe):
    """Return the model and a sentence on its weights."""
    function = find(recipe["name"])
    model = _with_cached_weights(function, recipe.get("keras_home"))
    if model is not None:
        return model, "cached ImageNet weights"
    with no_random_initializers():
        model = _sized(function, weights=None)
    program = Program(model)
    rng = np.random.RandomState(recipe["seed"])
    for name, variable in program.weights().items():
        variable.assign(_draw(name, tuple(variable.shape), rng).astype("float32"))
    _calibrate(adapter, program, rng)
    return model, "seeded weights, calibrated"


def find(name):
    """Return the function of that name, whatever its case."""
    import keras

    known = names()
    for candidate in known:
        if candidate.lower() == name.lower():
            return getattr(keras.applications, candidate)
    near = get_close_matches(name, known, n=1)
    hint = "did you mean {}?".format(near[0]) if near else "there are {}".format(", ".join(known))
    raise Unsupported("keras.applications has no {}; {}".format(name, hint))


def names():
    import keras

    return sorted(
        name for name in dir(keras.applications) if name[0].isupper() and callable(getattr(keras.applications, name))
    )


def _with_cached_weights(function, keras_home):
    """Build with ImageNet weights if they are in the user's cache; never download."""
    from keras.src.utils import file_utils

    def only_cached(fname, *args, **kwargs):
        path = os.path.join(keras_home or "", "models", fname or "")
        if keras_home and os.path.isfile(path):
            return path
        raise FileNotFoundError(fname)

    right = file_utils.get_file
    file_utils.get_file = only_cached
    try:
        with no_random_initializers():
            return _sized(function, weights="imagenet")
    except FileNotFoundError:
        return None
    finally:
        file_utils.get_file = right


def _sized(function, weights):
    """Build the model, for images of one size: an open one has to be drawn, and small images leave nothing over."""
    model = function(weights=weights)
    if None not in model.input_shape[1:]:
        return model
    return function(weights=weights, input_shape=(_SIZE, _SIZE, model.input_shape[-1]))


def _draw(name, shape, rng):
    """Draw by what the weight does: kernels by fan-in, scales around one, biases small but never zero."""
    last = name.rpartition("/")[2]
    if last in ("gamma",):
        return 1.0 + 0.1 * rng.standard_normal(shape)
    if last in ("moving_variance", "variance"):
        return np.ones(shape)
    if last in ("moving_mean", "mean", "count"):
        return np.zeros(shape)
    if len(shape) >= 2 and "bias" not in last:
        fan_in = np.prod(shape[:2]) if last == "depthwise_kernel" else np.prod(shape[:-1])
        return rng.standard_normal(shape) * np.sqrt(2.0 / max(1.0, fan_in))
    return 0.1 * rng.standard_normal(shape)


def _calibrate(adapter, program, rng):
    """Run layer by layer; set each normalization's statistics before it is called."""
    import keras

    (name, identity) = program.inputs[0]
    shape = [size or 64 for size in program.input_tensors[identity].shape[1:]]
    tensors = {identity: adapter.to_tensor(rng.standard_normal([_BATCH] + shape).astype("float32"))}
    scaled = _last_kernel(program)
    with adapter.no_gradients():
        for step in program.steps:
            if isinstance(step.layer, keras.layers.BatchNormalization):
                _set_statistics(adapter, step, tensors)
            if step is scaled:
                _unit_logits(adapter, step, tensors)
            for identity, output in zip(step.results, step.run(tensors, False)):
                tensors[identity] = output


def _set_statistics(adapter, step, tensors):
    x = adapter.to_numpy(tensors[step.sources[0]])
    axis = step.layer.axis % x.ndim
    others = tuple(index for index in range(x.ndim) if index != axis)
    variance = x.var(axis=others)
    # A channel that is silent on this batch must not be blown up when another input wakes it.
    least = 0.1 * float(variance.mean()) + 1e-6
    step.layer.moving_mean.assign(x.mean(axis=others))
    step.layer.moving_variance.assign(np.maximum(variance, least))


def _last_kernel(program):
    steps = [step for step in program.steps if hasattr(step.layer, "kernel")]
    return steps[-1] if steps else None


def _unit_logits(adapter, step, tensors):
    """Scale kernel and bias so that what they give before the activation has deviation one."""
    layer = step.layer
    activation, layer.activation = layer.activation, lambda x: x
    try:
        deviation = float(adapter.to_numpy(step.run(tensors, False)[0]).std())
    finally:
        layer.activation = activation
    if deviation > 0:
        for variable in layer.weights:
            variable.assign(adapter.to_numpy(variable) / deviation)
