"""Keras' public functions and classes; what a class is called with afterwards stands beside its constructor."""

import importlib

from .listing import Listing, classes_of, functions_of, signature_of

MODULES = (
    "keras.ops",
    "keras.ops.image",
    "keras.activations",
    "keras.losses",
    "keras.metrics",
    "keras.utils",
    "keras.preprocessing.sequence",
    "keras.preprocessing.image",
    "keras.quantizers",
    "keras.random",
)
_NO_LAYERS = frozenset(
    [
        "Layer",
        "InputLayer",
        "Wrapper",
        "RNN",
        "StackedRNNCells",
        "Bidirectional",
        "TimeDistributed",
        "Lambda",
        "TFSMLayer",
        "JaxLayer",
        "FlaxLayer",
        "TorchModuleWrapper",
        "Pipeline",
        "HashedCrossing",
        "FeatureSpace",
        "TextVectorization",
        "StringLookup",
        "InputSpec",
    ]
)


def list_apis():
    """Return the listing of the installed Keras."""
    listing = Listing()
    for path in MODULES:
        for name, function in functions_of(importlib.import_module(path)):
            listing.add(path + "." + name, "function", function)
    _add_layers(listing)
    _add_classes(listing, "keras.losses", "Loss", "call")
    _add_classes(listing, "keras.metrics", "Metric", "update_state")
    _add_classes(listing, "keras.optimizers.schedules", "LearningRateSchedule", "__call__")
    _add_classes(listing, "keras.constraints", "Constraint", "__call__")
    _add_classes(listing, "keras.regularizers", "Regularizer", "__call__")
    return listing.reply("keras")


def _add_layers(listing):
    import keras

    for name, cls in classes_of(keras.layers, keras.layers.Layer):
        if name in _NO_LAYERS:
            listing.exclude("keras.layers." + name, "a container or made of other layers")
        elif name.startswith("Random") or "Dropout" in name or name in ("GaussianNoise", "RandAugment", "AugMix"):
            listing.exclude("keras.layers." + name, "random")
        else:
            _add_class(listing, "keras.layers." + name, cls, cls.call)


def _add_classes(listing, path, base, method):
    module = importlib.import_module(path)
    root = getattr(module, base)
    for name, cls in classes_of(module, root):
        call = getattr(cls, method, None)
        kind = "metric" if method == "update_state" else "class"
        _add_class(listing, path + "." + name, cls, call if method != "call" else _loss_call, kind)


def _loss_call(y_true, y_pred):
    """Stand for what every loss is called with."""


def _add_class(listing, name, cls, call, kind="class"):
    parameters = [item for item in signature_of(cls.__init__) or [] if item["name"] != "self"]
    called = [item for item in signature_of(call) or [] if item["name"] != "self"]
    listing.add(name, kind, cls, parameters, call=called)
