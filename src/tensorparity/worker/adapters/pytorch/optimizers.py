"""Training inside of a call: every model that it makes takes three steps, its state saved and loaded after two.

The way is the name of an optimizer, with its settings as JSON behind it where these are not ours, and after a comma how
both are carried over, or what is set besides.
"""

import copy
import inspect
import io
import json

from ...contract import Unsupported

#: What is set besides, in place of carrying anything over.
_SET = ("foreach", "fused")
_STEPS = 3
_RATE = 0.05
#: Among the settings of a recipe: all that it takes are set.
_ALL_OF_OURS = "all"
#: What a setting is multiplied by, so that it is not what it is by default.
_LESS, _MORE, _IN_PLACE_OF_ZERO = 0.9, 1.1, 0.05
#: Settings that an optimizer has beside the rate, where it takes them.
_OURS = {"momentum": 0.9, "weight_decay": 0.02, "amsgrad": True, "centered": True, "betas": (0.8, 0.9)}


def trained(way):
    """Return the way of a name."""
    recipe, _, how = way.partition(", ")
    recipe = recipe if how not in _SET else _with_setting(recipe, how)
    how = how if how not in _SET else ""

    def run(function, tensors, kept):
        import torch

        found = []

        def made(value):
            if not isinstance(value, torch.nn.Sequential) or value.training:
                return value
            with torch.enable_grad():
                module, state = _lived(value, next(iter(tensors.values())), recipe, how)
            found.extend(state)
            return module

        value = function.with_made(made)(tensors)
        if not found:
            raise Unsupported("it makes no model to train")
        return [value] + found

    return run


def _with_setting(recipe, name):
    """Return the recipe of an optimizer with one more setting."""
    made, settings = _read(recipe)
    return made + json.dumps(dict(settings, **{name: True}))


def _read(recipe):
    """Return the optimizer's name and the settings that are said; the name alone asks for all of ours."""
    name, brace, rest = recipe.partition("{")
    return name, json.loads(brace + rest) if brace else {_ALL_OF_OURS: True}


def _none_by_default(known):
    """Return settings of which none is what it is by default: what gets lost on the way is then missed.

    ``known`` are the parameters of the optimizer. Switches and whole numbers choose another algorithm, and stay.
    """
    found = {name: _another(one.default) for name, one in known.items() if _is_set_by_floats(one)}
    found.pop("lr", None)
    return dict(found, **_OURS)


def _is_set_by_floats(known):
    if isinstance(known.default, tuple):
        return all(isinstance(item, float) for item in known.default)
    return isinstance(known.default, float) or (known.default == 0 and known.annotation in (float, "float"))


def _another(default):
    if isinstance(default, tuple):
        return tuple(map(_another, default))
    near = _LESS if abs(default) < 1 else _MORE  # what must lie below one does, or above it
    return near * default or _IN_PLACE_OF_ZERO


def _lived(module, x, recipe, how):
    import torch

    optimizer, schedule = _optimizer(module, recipe)
    for step in range(_STEPS):
        if step == _STEPS - 1 and how:
            module, optimizer, schedule = _CARRIED[how](module, optimizer, schedule, recipe)
        optimizer.step(_closure(module, optimizer, x))
        schedule.step()
    state = [value for own in optimizer.state_dict()["state"].values() for value in own.values()]
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    tensors = [value.detach().float() for value in state if isinstance(value, torch.Tensor)]
    return module, [tensor.detach() for tensor in module.state_dict().values()] + tensors + rates


def _closure(module, optimizer, x):
    import torch

    def loss():
        optimizer.zero_grad()
        with torch.enable_grad():
            found = module(x).square().mean()
            found.backward()
        return found

    return loss


def _optimizer(module, recipe, rate=_RATE):
    """Return an optimizer with every setting that it takes, and a schedule of its rate."""
    import torch

    name, settings = _read(recipe)
    made = getattr(torch.optim, name, None)
    if not isinstance(made, type) or name.startswith("_"):
        raise Unsupported("there is no optimizer {}".format(name))
    known = inspect.signature(made).parameters
    if settings.pop(_ALL_OF_OURS, False):
        settings = dict(_none_by_default(known), **settings)
    given = {key: _value(value) for key, value in settings.items() if key in known}
    if any(key not in known and key not in _OURS for key in settings):
        raise Unsupported("{} has no such setting".format(name))
    parameters = [item for item in module.parameters() if name != "Muon" or item.ndim == 2]
    optimizer = made(parameters, **dict({"lr": rate}, **given))
    return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


def _value(value):
    import torch

    return torch.tensor(value["$tensor"]) if isinstance(value, dict) else value


def _by_state(module, optimizer, schedule, recipe):
    import torch

    parts = (module, optimizer, schedule)
    states = [_through_file(part.state_dict()) for part in parts]
    fresh = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in list(fresh.parameters()) + list(fresh.buffers()):
            tensor.zero_()
    others = (fresh,) + _optimizer(fresh, recipe, 10 * _RATE)
    for part, state in zip(others, states):
        part.load_state_dict(state)
    return others


def _by_copy(module, optimizer, schedule, recipe):
    return copy.deepcopy((module, optimizer, schedule))


def _by_file(module, optimizer, schedule, recipe):
    return _through_file((module, optimizer, schedule))


def _through_file(value):
    import torch

    stream = io.BytesIO()
    torch.save(value, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


_CARRIED = {"state_dict": _by_state, "deep copy": _by_copy, "torch.save": _by_file}
