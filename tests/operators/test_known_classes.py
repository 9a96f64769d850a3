from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from tensorparity.operators import known_classes
from tensorparity.operators.catalogue import layer_names
from tensorparity.operators.known_classes import is_known

# Prints, per list, the names the installed Keras has.
INTROSPECT = """
import inspect, json, keras
from keras.src.ops.operation import Operation

def classes(module):
    found = {name: item for name, item in vars(module).items() if inspect.isclass(item) and name[0].isupper()}
    return sorted(set(found) | {item.__name__ for item in found.values()})

def functions(*modules):
    names = {name for module in modules for name, item in vars(module).items() if inspect.isfunction(item)}
    return sorted(names - {"get", "serialize", "deserialize"})

def below(base):
    for item in base.__subclasses__():
        yield item
        yield from below(item)

operations = {
    item.__name__
    for item in below(Operation)
    if not issubclass(item, keras.Layer) and item.__module__.startswith(("keras.src.ops.", "keras.src.activations"))
}
lists = {
    "LAYERS": classes(keras.layers),
    "INITIALIZERS": classes(keras.initializers),
    "REGULARIZERS": classes(keras.regularizers),
    "CONSTRAINTS": classes(keras.constraints),
    "LOSSES": classes(keras.losses),
    "METRICS": classes(keras.metrics),
    "OPTIMIZERS": classes(keras.optimizers),
    "SCHEDULES": classes(keras.optimizers.schedules),
    "DTYPE_POLICIES": classes(keras.dtype_policies),
    "QUANTIZERS": classes(keras.quantizers),
    "OPERATIONS": sorted(operations),
    "FUNCTIONS": functions(keras.activations, keras.losses, keras.metrics),
}
print("LISTS " + json.dumps(lists))
"""


@pytest.mark.parametrize(
    ("module", "class_name", "registered_name"),
    [
        ("keras.layers", "Conv2D", None),
        ("keras", "Sequential", None),
        ("keras.src.models.functional", "Functional", "Functional"),
        ("keras.initializers", "GlorotUniform", None),
        ("keras.optimizers", "Adam", None),
        ("keras.optimizers.schedules", "CosineDecay", None),
        ("keras", "DTypePolicy", None),
        ("keras.src.ops.numpy", "Add", "Add"),
        (None, "Conv2D", None),
        (None, "__tuple__", None),
        ("builtins", "__tensor__", None),
        ("builtins", "slice", None),
    ],
)
def test_what_is_keras_own(module, class_name, registered_name):
    assert is_known(module, class_name, registered_name)


@pytest.mark.parametrize(
    ("module", "class_name", "registered_name"),
    [
        ("keras.layers", "Lambda", None),
        (None, "Lambda", None),
        ("keras.layers", "TorchModuleWrapper", None),
        ("keras.layers", "TFSMLayer", None),
        ("keras.layers", "JaxLayer", None),
        ("keras.layers", "Conv2D", "Mine>Conv2D"),
        ("keras_evil.layers", "Conv2D", None),
        ("kerasx", "Conv2D", None),
        ("os", "Conv2D", None),
        ("builtins", "Conv2D", None),
        ("builtins", "eval", None),
        ("keras.utils", "get_file", None),
        ("keras.src.ops.core", "Map", None),
        (None, "__lambda__", None),
        (None, "__typespec__", None),
        ("", "Conv2D", None),
    ],
)
def test_what_is_not(module, class_name, registered_name):
    assert not is_known(module, class_name, registered_name)


@pytest.mark.parametrize(
    ("module", "registered_name", "function", "expected"),
    [
        ("builtins", "function", "relu", True),
        ("keras.activations", "relu", "relu", True),
        ("builtins", "function", "mean_squared_error", True),
        ("builtins", "function", "eval", False),
        ("builtins", "function", None, False),
        ("keras.utils", "get_file", "get_file", False),
        ("mine", "function", "relu", False),
        ("builtins", "Mine>relu", "relu", False),
    ],
)
def test_functions(module, registered_name, function, expected):
    assert is_known(module, "function", registered_name, function) is expected


def test_the_catalogue_is_known():
    assert set(layer_names()) <= known_classes.LAYERS


def test_what_runs_code_is_in_no_list():
    assert not known_classes.CLASSES & known_classes.UNSAFE_LAYERS
    assert not known_classes.OPERATIONS & known_classes.UNSAFE_OPERATIONS


@pytest.mark.tensorflow
@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="keras is not installed")
def test_lists_are_those_of_the_installed_keras(tmp_path):
    """A class that Keras adds fails here until somebody has looked at what it can do."""
    environment = {**os.environ, "KERAS_BACKEND": "numpy", "KERAS_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", INTROSPECT], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("LISTS "))
    aside = known_classes.UNSAFE_LAYERS | known_classes.UNSAFE_OPERATIONS | {"InputSpec"}
    for name, installed in json.loads(line.removeprefix("LISTS ")).items():
        listed = getattr(known_classes, name)
        assert set(installed) - listed - aside == set(), f"new in {name}"
        assert listed - set(installed) == set(), f"gone from {name}"
