"""Losses, metrics, single layers and optimizers from what a job says of them."""

import copy

import numpy as np

from ...contract import Unsupported


def make_loss(job):
    """Return a function of labels, outputs by name and penalties to the scalar loss, summed over all of them."""
    import keras

    recipe = job.option("loss")
    if not recipe:
        raise ValueError("goal {!r} needs a loss".format(job.goal))
    function = getattr(keras.losses, recipe["name"]).from_config(copy.deepcopy(dict(recipe["params"])))

    def loss(labels, outputs, penalties):
        if not labels:
            raise Unsupported("the loss {} has no labels here".format(recipe["name"]))
        total = None
        for name in sorted(labels):
            value = function(labels[name], outputs[name])
            total = value if total is None else total + value
        for penalty in penalties:
            total = total + keras.ops.cast(penalty, total.dtype)
        return total

    return loss


def in_batches(metric_class):
    """Return a function that gives the metric's arrays to it in two batches, and returns its result."""

    def result(*arrays, **params):
        metric = metric_class(**params)
        half = len(arrays[0]) // 2
        for part in (slice(0, half), slice(half, None)) if half else (slice(None),):
            metric.update_state(*[array[part] for array in arrays])
        return metric.result()

    return result


def weighed(loss_class):
    """Return a function that makes the loss and calls it with weights."""

    def result(y_true, y_pred, sample_weight=None, **params):
        return loss_class(**params)(y_true, y_pred, sample_weight=sample_weight)

    return result


def constructed(layer_class):
    """Return a function that makes the layer and calls it; sequences are tuples, as the documentation has them."""

    def result(*arrays, **params):
        try:
            layer = layer_class(**{name: tuple(v) if isinstance(v, list) else v for name, v in params.items()})
        except ImportError as error:  # what reads strings needs TensorFlow, whatever the backend
            raise Unsupported(str(error))
        value = layer(*arrays)
        return np.array(value, dtype=object) if isinstance(value, list) else value

    return result


def make_optimizer(recipe):
    """Return the optimizer; ``from_config`` reads schedules and optimizers inside, and changes what it is given."""
    import keras

    return getattr(keras.optimizers, recipe["name"]).from_config(copy.deepcopy(dict(recipe["params"])))


def scaled(optimizer, grads):
    """Return the gradients of the loss as a training step scales it; the optimizer divides by the same factor."""
    import keras

    factor = float(keras.ops.convert_to_numpy(optimizer.scale_loss(1.0)))
    return grads if factor == 1.0 else [_times(gradient, factor) for gradient in grads]


def _times(gradient, factor):
    if hasattr(gradient, "dense_shape"):  # TensorFlow's of a lookup: rows and where they belong
        return type(gradient)(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * factor
