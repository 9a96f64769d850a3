"""Ways to save a model and have it back: whole files, weights alone, and configurations."""

import os
import tempfile

from ...contract import Unsupported
from . import program as programs

#: In a variant, behind the way: the model is compiled with ``jit_compile=True``.
JIT = "jit_compile"


def way_of(variant):
    """Return the way to save in which a variant asks for a model."""
    return variant.partition(JIT)[0].strip(" +")


def reloaded(program, way, trust):
    """Return the program of what comes back; ``way`` is empty for a ``.keras`` file."""
    if way not in _WAYS:
        raise Unsupported("models are not saved in the way {!r}".format(way))
    return _WAYS[way](program.model, trust)


def _file(name):
    def save(model, trust):
        path = os.path.join(tempfile.mkdtemp(), name)
        model.save(path)
        return programs.load(path, trust)

    return save


def _weights(model, trust):
    import keras

    path = os.path.join(tempfile.mkdtemp(), "model.weights.h5")
    model.save_weights(path)
    with programs.no_random_initializers():
        fresh = keras.models.clone_model(model)
    fresh.load_weights(path)
    return programs.Program(fresh)


def _configured(model, trust):
    with programs.no_random_initializers():
        fresh = type(model).from_config(model.get_config())
    fresh.set_weights(model.get_weights())
    return programs.Program(fresh)


def _cloned(model, trust):
    import keras

    with programs.no_random_initializers():
        fresh = keras.models.clone_model(model)
    fresh.set_weights(model.get_weights())
    return programs.Program(fresh)


def _as_text(model, trust):
    import keras

    with programs.no_random_initializers():
        fresh = keras.models.model_from_json(model.to_json())
    fresh.set_weights(model.get_weights())
    return programs.Program(fresh)


_WAYS = {
    "": _file("model.keras"),
    "h5": _file("model.h5"),
    "weights": _weights,
    "config": _configured,
    "clone": _cloned,
    "json": _as_text,
}
