"""The life of a model: compiled, trained a step, saved and loaded on the way, evaluated, and trained another step.

A job says so by its variant: ``lived`` compares all, the state of the optimizer included; ``lived model`` what a
configuration and weights can carry. A way to save may follow. Everything that must agree is an output.
"""

import json
import os
import re
import tempfile

import numpy as np

from ...contract import Result, Unsupported
from . import program as programs
from .feeding import PREFIX as FED
from .feeding import fed, feed_of
from .program import plain
from .recipes import make_optimizer
from .reloading import reloaded
from .states import silence_random_layers
from .trained_metrics import draw_metrics

LIVED, MODEL = "lived", "lived model"
#: Which ways carry the optimizer along.
_WHOLE = ("keras", "h5")
_FILES = {"keras": ""}
#: What is made without a name has one from a counter of its kind.
_COUNTED = re.compile(r'_[0-9]+"')


def live(program, inputs, job):
    """Return the result of a model's life."""
    variant = job.option("variant")
    whole = not variant.startswith(MODEL)
    way = variant[len(LIVED if whole else MODEL) :].strip()
    if whole and way and way not in _WHOLE:
        raise Unsupported("no optimizer is carried in the way {!r}".format(way))
    x, y = _arrays(program, inputs, job)
    feed, way = feed_of(way), way.partition(FED)[0].strip()
    model = program.model
    _compile(model, job)
    silence_random_layers(program)
    model.train_on_batch(x, y)
    if way:
        program = _with_optimizer(model, way) if whole else reloaded(program, _FILES.get(way, way), job.trust)
        model = program.model
        silence_random_layers(program)
        if not whole:
            _compile(model, job)
    result = Result()
    _note_answers(result, program, x, y, job, feed)
    _note_state(result, program, whole)
    if whole:
        result.outputs["loss again"] = np.asarray(model.train_on_batch(x, y), np.float32).reshape(-1)
        _note_weights(result, program, "again ")
    return result


def _with_optimizer(model, ending):
    """Return the program of a whole file, compiled as it was."""
    import keras

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model." + ending)
        model.save(path)
        return programs.Program(keras.saving.load_model(path))


def _arrays(program, inputs, job):
    x = [plain(inputs[name]) for name, _ in program.inputs]
    y = [plain(job.labels[name]) for name, _ in program.outputs]
    return (x[0] if len(x) == 1 else x), (y[0] if len(y) == 1 else y)


def _compile(model, job):
    import keras

    loss = job.option("loss")
    metrics = [draw_metrics(loss["name"], job.seed) for _ in model.outputs]
    model.compile(
        optimizer=make_optimizer(job.option("optimizer")),
        loss=getattr(keras.losses, loss["name"]).from_config(dict(loss["params"])),
        metrics=metrics if len(metrics) > 1 else metrics[0],
        auto_scale_loss=False,
    )


def _note_answers(result, program, x, y, job, feed):
    import keras

    size, model = job.option("batch_size"), program.model
    if feed:
        x = tuple(x) if isinstance(x, list) else x
        predicted = model.predict(fed(feed, (x,), size), verbose=0)
        pairs = (x, tuple(y) if isinstance(y, list) else y)
        found = model.evaluate(fed(feed, pairs, size), verbose=0, return_dict=True)
    else:
        predicted = model.predict(x, batch_size=size, verbose=0)
        found = model.evaluate(x, y, batch_size=size, verbose=0, return_dict=True)
    for place, output in enumerate(keras.tree.flatten(predicted)):
        result.outputs["output {}".format(place)] = np.asarray(output)
    for name in sorted(found):
        result.outputs["evaluated " + name] = np.asarray(found[name], np.float32)


def _note_state(result, program, whole):
    _note_weights(result, program, "")
    config = dict(program.model.get_config())
    config.pop("name", None)  # drawn from a counter
    result.outputs["configuration"] = _text(config)
    if whole:
        optimizer = program.model.optimizer
        for place, variable in enumerate(optimizer.variables):
            result.outputs["optimizer {} {}".format(place, _uncounted(variable.name))] = _numbers(variable)
        result.outputs["optimizer's configuration"] = _text(optimizer.get_config())
        result.outputs["what it was compiled with"] = _text(program.model.get_compile_config())


def _text(config):
    """Return a configuration as bytes, without the numbers that names have from counters."""
    text = _COUNTED.sub('"', json.dumps(config, sort_keys=True, default=str))
    return np.frombuffer(text.encode("utf-8"), np.uint8)


def _uncounted(name):
    return _COUNTED.sub('"', name + '"')[:-1]


def _note_weights(result, program, when):
    for name, variable in program.weights().items():
        result.outputs["{}weight {}".format(when, name)] = _numbers(variable)


def _numbers(variable):
    import keras

    return np.array(keras.ops.convert_to_numpy(variable))
