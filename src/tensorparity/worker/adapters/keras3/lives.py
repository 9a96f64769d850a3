"""The life of a model: compiled, trained a step, saved and loaded on the way, evaluated, and trained another step.

A job says so by its variant: ``lived`` compares all, the state of the optimizer included; ``lived model`` what a
configuration and weights can carry. A way to save may follow. Everything that must agree is an output.
"""

import numpy as np

from ...contract import Result, Unsupported
from .program import plain
from .recipes import make_optimizer
from .reloading import reloaded
from .states import silence_random_layers

LIVED, MODEL = "lived", "lived model"
#: Which ways carry the optimizer along.
_WHOLE = ("keras", "h5")
_FILES = {"keras": ""}


def live(program, inputs, job):
    """Return the result of a model's life."""
    variant = job.option("variant")
    whole = not variant.startswith(MODEL)
    way = variant[len(LIVED if whole else MODEL) :].strip()
    if whole and way and way not in _WHOLE:
        raise Unsupported("no optimizer is carried in the way {!r}".format(way))
    x, y = _arrays(program, inputs, job)
    model = program.model
    _compile(model, job)
    silence_random_layers(program)
    model.train_on_batch(x, y)
    if way:
        program = reloaded(program, _FILES.get(way, way), job.trust)
        model = program.model
        silence_random_layers(program)
        if not whole:
            _compile(model, job)
    result = Result()
    _note_answers(result, program, x, y, job)
    _note_state(result, program, whole)
    if whole:
        result.outputs["loss again"] = np.asarray(model.train_on_batch(x, y), np.float64).reshape(-1)
        _note_weights(result, program, "again ")
    return result


def _arrays(program, inputs, job):
    x = [plain(inputs[name]) for name, _ in program.inputs]
    y = [plain(job.labels[name]) for name, _ in program.outputs]
    return (x[0] if len(x) == 1 else x), (y[0] if len(y) == 1 else y)


def _compile(model, job):
    import keras

    loss = job.option("loss")
    words = ["accuracy"] if "ategorical" in loss["name"] else ["mean_absolute_error", "mean_squared_error"]
    model.compile(
        optimizer=make_optimizer(job.option("optimizer")),
        loss=getattr(keras.losses, loss["name"]).from_config(dict(loss["params"])),
        metrics=[words] * len(model.outputs) if len(model.outputs) > 1 else words,
        auto_scale_loss=False,
    )


def _note_answers(result, program, x, y, job):
    import keras

    size = job.option("batch_size")
    for place, output in enumerate(keras.tree.flatten(program.model.predict(x, batch_size=size, verbose=0))):
        result.outputs["output {}".format(place)] = np.asarray(output)
    found = program.model.evaluate(x, y, batch_size=size, verbose=0, return_dict=True)
    for name in sorted(found):
        result.outputs["evaluated " + name] = np.asarray(found[name], np.float64)


def _note_state(result, program, whole):
    import json

    _note_weights(result, program, "")
    text = json.dumps(program.model.get_config(), sort_keys=True, default=str)
    result.outputs["configuration"] = np.frombuffer(text.encode("utf-8"), np.uint8)
    if whole:
        optimizer = program.model.optimizer
        for place, variable in enumerate(optimizer.variables):
            result.outputs["optimizer {} {}".format(place, variable.name)] = _numbers(variable)
        text = json.dumps(optimizer.get_config(), sort_keys=True, default=str)
        result.outputs["optimizer's configuration"] = np.frombuffer(text.encode("utf-8"), np.uint8)


def _note_weights(result, program, when):
    for name, variable in program.weights().items():
        result.outputs["{}weight {}".format(when, name)] = _numbers(variable)


def _numbers(variable):
    import keras

    return np.array(keras.ops.convert_to_numpy(variable))
