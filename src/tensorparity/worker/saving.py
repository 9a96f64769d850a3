"""A model object as a file: a Keras model as ``.keras``, an ``nn.Module`` as a program of ``torch.export``.

Used by workers for factories, and in the user's own process for models that are handed over as objects; so nothing
here imports a library that the model itself has not brought along, but torch for a module of torch's.

``torch.export`` takes and returns tensors in plain containers. What else a module takes or returns (dataclasses,
caches, any object that holds tensors) is opened on the way in and out by hooks; parameters, names and arithmetic
stay the module's own.
"""

import copy
import sys

#: Objects inside objects; deeper than any cache of keys and values.
_DEEPEST = 6
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class UnsavableError(Exception):
    """The model cannot be written to a file; the message says why and what to do."""


def format_of(model):
    """Return the format a model object is saved in: keras, torch; None for anything else."""
    if is_a(model, "keras", "Model"):
        return "keras"
    return "torch" if is_a(model, "torch", "nn.Module") else None


def is_a(value, library, name):
    """Tell whether ``value`` is an instance of a class, without importing its library."""
    found = sys.modules.get(library)
    for part in name.split("."):
        found = getattr(found, part, None)
    return isinstance(found, type) and isinstance(value, found)


def save_keras(model, path):
    """Save a Keras model by its own method."""
    if not model.built:
        raise UnsavableError("the Keras model is not built; call it once on data, or build it with an input shape")
    model.save(path)


def save_program(module, examples, path, dynamic=None):
    """Export a module of torch's on its example inputs, and save the program.

    Args:
        examples: a tensor, a tuple or list of positional arguments, or a dictionary of named ones.
        dynamic: ``dynamic_shapes`` of ``torch.export.export``; the batch axis where it is None.

    Returns the example tensors by the names of the program's inputs.
    """
    import torch

    args, kwargs = arguments_of(examples)
    given, templates = _open_inputs(args, kwargs)
    training = [part for part in module.modules() if part.training]
    hooks = [
        module.register_forward_pre_hook(_Closer(templates), with_kwargs=True, prepend=True),
        module.register_forward_hook(lambda _module, _args, output: plain(output)),
    ]
    module.eval()
    try:
        with torch.no_grad():
            program = _export(module, given[0], given[1], dynamic)
            torch.export.save(program, path)
    finally:
        for hook in hooks:
            hook.remove()
        for part in training:  # as the user had it, part by part
            part.training = True
    pairs = zip(program.graph_signature.user_inputs, torch.utils._pytree.tree_leaves(given))
    return {name: value for name, value in pairs if isinstance(value, torch.Tensor)}


def drawn_like(examples):
    """Return how inputs like these are drawn, by name: their whole shape and, of whole numbers, their range."""
    found = {}
    for name, tensor in examples.items():
        draw = {"shape": [int(size) for size in tensor.shape]}
        if tensor.numel() and not tensor.is_floating_point() and not tensor.is_complex():
            draw["low"], draw["high"] = int(tensor.min()), int(tensor.max())
        found[name] = draw
    return found


def arguments_of(examples):
    """Return (positional, named) arguments from a tensor, a sequence of them or a dictionary."""
    if hasattr(examples, "keys"):  # also what tokenizers give
        return (), {name: examples[name] for name in list(examples.keys())}
    if isinstance(examples, (tuple, list)):
        return tuple(examples), {}
    return (examples,), {}


def plain(value, depth=0):
    """Return tensors in dictionaries and lists: what any result holds, whatever classes it is made of.

    Numbers, texts and None are left out of objects and dictionaries; a result without tensors is None.
    """
    import torch

    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, _PLAIN) or depth > _DEEPEST:
        return None
    if isinstance(value, (list, tuple)):
        found = [plain(item, depth + 1) for item in value]
        return [item for item in found if item is not None] or None
    items = value.items() if hasattr(value, "items") else getattr(value, "__dict__", {}).items()
    found = [(str(name), plain(item, depth + 1)) for name, item in items]
    return {name: item for name, item in found if item is not None} or None


def _open_inputs(args, kwargs):
    """Return the arguments with plain containers in place of objects, and the objects to put back."""
    opened, templates = [], {}
    for place, value in list(enumerate(args)) + list(kwargs.items()):
        inside = value
        if not isinstance(value, _PLAIN) and not _is_plain_tree(value):
            inside = plain(value)
            templates[place] = value
        opened.append((place, inside))
    return (
        tuple(value for place, value in opened if isinstance(place, int)),
        {place: value for place, value in opened if not isinstance(place, int)},
    ), templates


def _is_plain_tree(value):
    import torch

    if isinstance(value, (torch.Tensor,) + _PLAIN):
        return True
    if type(value) in (list, tuple):
        return all(_is_plain_tree(item) for item in value)
    return type(value) is dict and all(_is_plain_tree(item) for item in value.values())


class _Closer(object):
    """The hook before the module runs: objects in the place of the plain containers they were opened into."""

    def __init__(self, templates):
        self._templates = templates

    def __call__(self, module, args, kwargs):
        args = tuple(self._closed(place, value) for place, value in enumerate(args))
        return args, {name: self._closed(name, value) for name, value in kwargs.items()}

    def _closed(self, place, value):
        return restored(self._templates[place], value) if place in self._templates else value


def restored(template, tensors, depth=0):
    """Return a copy of an object with other tensors in the places of its own; the opposite of ``plain``."""
    import torch

    if isinstance(template, torch.Tensor):
        return tensors
    if tensors is None or isinstance(template, _PLAIN) or depth > _DEEPEST:
        return template
    if isinstance(template, (list, tuple)):
        rest = iter(tensors)
        items = [item if plain(item) is None else restored(item, next(rest), depth + 1) for item in template]
        return type(template)(items) if type(template) in (list, tuple) else type(template)(*items)
    made = copy.copy(template)
    if hasattr(template, "items"):
        for name in list(template.keys()):
            if str(name) in tensors:
                made[name] = restored(template[name], tensors[str(name)], depth + 1)
        return made
    for name, item in vars(template).items():
        if name in tensors:
            setattr(made, name, restored(item, tensors[name], depth + 1))
    return made


def _export(module, args, kwargs, dynamic):
    """Export with a batch that may vary, or, where the module does not allow it, with the one of the examples."""
    import torch

    if dynamic is not None:
        return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)
    tensors = _tensors_of((args, kwargs))
    if len({tensor.shape[:1] for tensor in tensors}) == 1 and all(tensor.dim() for tensor in tensors):
        # a batch of one is taken for a constant
        double = tensors[0].shape[0] == 1
        more = [_mapped(part, lambda tensor: torch.cat([tensor, tensor])) for part in (args, kwargs)]
        several = more if double else [args, kwargs]
        # one name for all: with a symbol each, some programs cannot be read back and exported again
        for size in (torch.export.Dim("batch"), torch.export.Dim.AUTO):
            free = [_free_batch(part, size) for part in (args, kwargs)]
            try:
                return torch.export.export(module, several[0], several[1], dynamic_shapes=_by_name(module, *free))
            except Exception:  # torch says in many ways that it cannot; the last word is that of the examples' sizes
                continue
    return torch.export.export(module, args, kwargs)


def _free_batch(value, size):
    return _mapped(value, lambda tensor: {0: size})


def _by_name(module, args, kwargs):
    """Return dynamic shapes as torch wants them: a tuple, or by name as soon as one argument is named."""
    import inspect

    if not kwargs:
        return tuple(args)
    bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    found = {}
    for name, value in bound.items():
        kind = inspect.signature(module.forward).parameters[name].kind
        found.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    return found


def _tensors_of(value):
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in _tensors_of(item)]


def _mapped(value, change):
    """Return the same plain containers with every tensor changed; None where there is no tensor."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(item, change) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, change) for item in value)
    return None
