"""A user's own function that makes a model: ``package.module:function``.

It runs here because the user named it on their command line, and never in the host. What it returns
becomes a file: a Keras model a ``.keras``, an ``nn.Module`` an exported program.
"""

import importlib
import os
import sys
import tempfile

import numpy as np

from .contract import Unsupported


def make_from_factory(recipe):
    """Return the model's file as an array, and [format].

    Whatever is the user's mistake raises Unsupported with one line that says so.
    """
    made = _call(recipe["factory"], recipe.get("import_paths", ()))
    model, examples = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if _is_a(model, "keras", "Model"):
        return _bytes(_save_keras, model, ".keras"), ["keras"]
    if _is_a(model, "torch", "nn.Module"):
        examples = examples if examples is not None else getattr(model, "example_inputs", None)
        if examples is None:
            examples = _examples_from(recipe.get("inputs"))
        if examples is None:
            raise Unsupported(
                "{} returned an nn.Module without example inputs; return (module, inputs), give the module an "
                "attribute example_inputs, or name them with --input".format(recipe["factory"])
            )
        return _bytes(lambda module, path: _save_program(module, examples, path), model, ".pt2"), ["torch"]
    raise Unsupported(
        "{} returned a {}; expected a keras.Model or a torch.nn.Module".format(recipe["factory"], type(model).__name__)
    )


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


def _is_a(value, library, name):
    """Tell whether ``value`` is an instance of a class, without importing its library."""
    found = sys.modules.get(library)
    for part in name.split("."):
        found = getattr(found, part, None)
    return isinstance(found, type) and isinstance(value, found)


def _bytes(save, model, suffix):
    path = os.path.join(tempfile.mkdtemp(), "model" + suffix)
    save(model, path)
    with open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8)


def _save_keras(model, path):
    model.save(path)


def _save_program(module, examples, path):
    import torch

    args = examples if isinstance(examples, tuple) else tuple(examples) if isinstance(examples, list) else (examples,)
    with torch.no_grad():
        torch.export.save(_export(module.eval(), args), path)


def _export(module, args):
    """Export with a batch that may vary, or, where the module does not allow it, with the one of the examples."""
    import torch

    sizes = {arg.shape[0] for arg in args if isinstance(arg, torch.Tensor) and arg.dim()}
    if len(sizes) == 1 and all(isinstance(arg, torch.Tensor) and arg.dim() for arg in args):
        free = tuple({0: torch.export.Dim.AUTO} for _ in args)
        # a batch of one is taken for a constant
        several = args if sizes != {1} else tuple(torch.cat([arg, arg]) for arg in args)
        return torch.export.export(module, several, dynamic_shapes=free)
    return torch.export.export(module, args)


def _examples_from(inputs):
    """Return zeros of the shapes that the user gave, in their order."""
    if not inputs:
        return None
    import torch

    return tuple(torch.zeros([2] + list(item["shape"]), dtype=getattr(torch, item["dtype"])) for item in inputs)
