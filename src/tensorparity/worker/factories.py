"""A user's own function that makes a model: ``package.module:function``.

It runs here because the user named it on their command line, and never in the host. What it returns
becomes a file: a Keras model a ``.keras``, an ``nn.Module`` an exported program.
"""

import functools
import importlib
import json
import os
import sys
import tempfile

import numpy as np

from .contract import Unsupported
from .saving import UnsavableError, drawn_like, format_of, save_keras, save_program


def make_from_factory(recipe):
    """Return the model's file as an array, and [format, how inputs like its examples are drawn, as JSON].

    Whatever is the user's mistake raises Unsupported with one line that says so.
    """
    model, examples, dynamic = _parts(_call(recipe["factory"], recipe.get("import_paths", ())))
    form = format_of(model)
    try:
        if form == "keras":
            return _bytes(save_keras, model, ".keras")[0], ["keras", "{}"]
        if form == "torch":
            examples = _examples_of(model, examples, recipe)
            save = functools.partial(save_program, model, examples, dynamic=dynamic)
            content, named = _bytes(lambda _model, path: save(path), model, ".pt2")
            return content, ["torch", json.dumps(drawn_like(named))]
    except UnsavableError as error:
        raise Unsupported("{}: {}".format(recipe["factory"], error))
    raise Unsupported(
        "{} returned a {}; expected a keras.Model or a torch.nn.Module".format(recipe["factory"], type(model).__name__)
    )


def _parts(made):
    """Return (model, examples, dynamic shapes) from what a factory returned: one to three of them."""
    made = made if isinstance(made, tuple) else (made,)
    return (made + (None, None))[:3] if len(made) <= 3 else (made, None, None)


def _examples_of(model, examples, recipe):
    if examples is None:
        examples = getattr(model, "example_inputs", None)
    if examples is None:
        examples = _examples_from(recipe.get("inputs"))
    if examples is None:
        raise Unsupported(
            "{} returned an nn.Module without example inputs; return (module, inputs), give the module an "
            "attribute example_inputs, or name them with --input".format(recipe["factory"])
        )
    return examples


def _call(factory, paths):
    module_name, _, function_name = factory.partition(":")
    sys.path[:0] = [path for path in paths if path not in sys.path]
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise Unsupported("{} cannot be imported: {}".format(module_name, error))
    function = module
    for part in function_name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise Unsupported("{} has no function {!r}".format(module_name, function_name))
    return function()


def _bytes(save, model, suffix):
    """Return the file that ``save`` writes as an array, and what it returns."""
    path = os.path.join(tempfile.mkdtemp(), "model" + suffix)
    told = save(model, path)
    with open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8), told


def _examples_from(inputs):
    """Return zeros of the shapes that the user gave, in their order."""
    if not inputs:
        return None
    import torch

    return tuple(torch.zeros([2] + list(item["shape"]), dtype=getattr(torch, item["dtype"])) for item in inputs)
