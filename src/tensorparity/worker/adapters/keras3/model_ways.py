"""Ways of a program that makes a model and calls it: the model is saved and loaded, exported, or fed in batches."""

import numpy as np

from ...contract import Unsupported
from .exported import PREFIX, run_exported
from .program import Program
from .reloading import reloaded

#: By the name of a way: that of ``reloading``.
_RELOADED = {"saved": "", "h5": "h5", "weights": "weights", "config": "config", "clone": "clone", "json": "json"}


def model_ways(adapter):
    """Return the ways by name."""
    ways = {name: _of_models(_loaded(way)) for name, way in _RELOADED.items()}
    for form in ("onnx", "tf_saved_model", "openvino", "litert", "torch"):
        ways[PREFIX + form] = _of_models(_exported(adapter, PREFIX + form))
    ways.update({"batches of {}".format(size): _in_batches(adapter, size) for size in (1, 3)})
    return ways


def _of_models(change):
    """Return a way that calls what a change makes of every model that the program makes."""

    def run(function, tensors, kept):
        import keras

        return function.with_made(lambda value: change(value) if isinstance(value, keras.Model) else value)(tensors)

    return run


def _loaded(way):
    return lambda model: reloaded(Program(model), way, False).model


def _exported(adapter, variant):
    def change(model):
        program = Program(model)

        def run(tensor, training=False):
            (name, _), *others = program.inputs
            if others or training:
                raise Unsupported("exported are models of one input, in inference")
            return list(run_exported(adapter, program, {name: adapter.to_numpy(tensor)}, variant).values())

        return run

    return change


def _in_batches(adapter, size):
    def run(function, tensors, kept):
        arrays = {key: adapter.to_numpy(tensor) for key, tensor in tensors.items()}
        count = min((len(array) for array in arrays.values() if array.ndim), default=0)
        if count <= size:
            raise Unsupported("a batch of {} is no batch of more".format(count))
        held = {}
        # one model for all batches, for each would draw weights of its own
        same = function.with_made(lambda value: held.setdefault("model", value) if _is_model(value) else value)
        pieces = []
        for start in range(0, count, size):
            given = {key: adapter.to_tensor(array[start : start + size]) for key, array in arrays.items()}
            pieces.append(adapter.to_numpy(same(given)))
        return np.concatenate(pieces)

    return run


def _is_model(value):
    import keras

    return isinstance(value, keras.Model)
