"""The inputs of Keras' own tests, which ship with it: what ``run_layer_test`` is given, recorded and not run."""

import importlib
import inspect
import os

import numpy as np

from .forms import FormError
from .samples import Samples, standing_in

#: What the tests gave to ``run_layer_test``, and what was missing, once they were run.
_RECORDED, _MISSING = [], []


def list_samples(options):
    """Return the calls and their arrays."""
    samples = Samples(_convert, options.get("of", ()))
    try:
        _layer_tests(samples)
    except (ImportError, AttributeError) as error:
        samples.missing.append("layer tests: {}".format(error))
    return samples.reply()


def _convert(value, arrays):
    raise FormError("{} has no form".format(type(value).__name__))


def _layer_tests(samples):
    import keras

    if not _RECORDED:
        with standing_in("grain"):
            _run_tests()
    samples.missing.extend(_MISSING)
    rng = np.random.RandomState(0)
    for layer_class, init_kwargs, given in _RECORDED:
        name = layer_class.__name__
        if getattr(keras.layers, name, None) is layer_class:
            inputs = _inputs(given, rng)
            if inputs is not None:
                samples.add_object("keras.layers." + name, ([], init_kwargs), ([inputs], {}), "layer tests")


def _run_tests():
    from keras.src import testing

    def record(self, layer_class, init_kwargs, *args, **kwargs):
        names = ["input_shape", "input_dtype", "input_sparse", "input_data"]
        given = dict(zip(names, args), **kwargs)
        _RECORDED.append((layer_class, init_kwargs, given))

    original = testing.TestCase.run_layer_test
    testing.TestCase.run_layer_test = record
    try:
        for module in _test_modules():
            for test in _tests_of(module):
                _run(test)
    finally:
        testing.TestCase.run_layer_test = original


def _test_modules():
    import keras

    root = os.path.dirname(inspect.getfile(keras))
    folder = os.path.join(root, "src", "layers")
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith("_test.py"):
                path = os.path.relpath(os.path.join(place, name), os.path.dirname(root))[:-3].replace(os.sep, ".")
                try:
                    yield importlib.import_module(path)
                except Exception as error:  # a test that wants what is not installed
                    _MISSING.append("{}: {}".format(path, error))


def _tests_of(module):
    """Yield bound tests that do nothing but describe layers: those that name ``run_layer_test``."""
    from keras.src import testing

    for cls in vars(module).values():
        if inspect.isclass(cls) and issubclass(cls, testing.TestCase) and cls.__module__ == module.__name__:
            for name in sorted(dir(cls)):
                test = getattr(cls, name)
                if name.startswith("test") and callable(test) and "run_layer_test" in _source(test):
                    yield cls, name


def _source(function):
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return "run_layer_test"  # made by a decorator with parameters


def _run(test):
    cls, name = test
    try:
        instance = cls(name)
        instance.setUp()
        getattr(instance, name)()
    except BaseException:  # what else a test asserts is not our business
        return


def _inputs(given, rng):
    if given.get("input_data") is not None:
        return given["input_data"] if isinstance(given["input_data"], np.ndarray) else None
    shape, dtype = given.get("input_shape"), str(given.get("input_dtype") or "float32")
    if given.get("input_sparse") or shape is None or isinstance(shape, dict):
        return None
    if shape and isinstance(shape[0], (tuple, list)):
        return [_drawn(item, dtype, rng) for item in shape]
    return _drawn(shape, dtype, rng) if all(isinstance(size, int) for size in shape) else None


def _drawn(shape, dtype, rng):
    if dtype.startswith("int") or dtype.startswith("uint"):
        return rng.randint(0, 2, size=tuple(shape)).astype(dtype)
    return rng.uniform(size=tuple(shape)).astype(dtype)
