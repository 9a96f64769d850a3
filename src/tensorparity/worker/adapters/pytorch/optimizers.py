"""Training inside of a call: every model that it makes takes three steps, its state saved and loaded after two.

The way is the name of an optimizer and, after a comma, how both are carried over.
"""

import copy
import inspect
import io

from ...contract import Unsupported

_STEPS = 3
_RATE = 0.05
#: Settings that an optimizer has beside the rate, where it takes them.
_SETTINGS = {"momentum": 0.9, "weight_decay": 0.01, "amsgrad": True, "centered": True, "betas": (0.8, 0.9)}


def trained(way):
    """Return the way of a name."""
    name, _, how = way.partition(", ")

    def run(function, tensors, kept):
        import torch

        found = []

        def made(value):
            if not isinstance(value, torch.nn.Sequential) or value.training:
                return value
            with torch.enable_grad():
                module, state = _lived(value, next(iter(tensors.values())), name, how)
            found.extend(state)
            return module

        value = function.with_made(made)(tensors)
        if not found:
            raise Unsupported("it makes no model to train")
        return [value] + found

    return run


def _lived(module, x, name, how):
    import torch

    optimizer, schedule = _optimizer(module, name)
    for step in range(_STEPS):
        if step == _STEPS - 1 and how:
            module, optimizer, schedule = _CARRIED[how](module, optimizer, schedule, name)
        optimizer.zero_grad()
        module(x).square().mean().backward()
        optimizer.step()
        schedule.step()
    state = [value for own in optimizer.state_dict()["state"].values() for value in own.values()]
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    tensors = [value.detach().float() for value in state if isinstance(value, torch.Tensor)]
    return module, [tensor.detach() for tensor in module.state_dict().values()] + tensors + rates


def _optimizer(module, name, rate=_RATE):
    """Return an optimizer with every setting that it takes, and a schedule of its rate."""
    import torch

    made = getattr(torch.optim, name, None)
    if not isinstance(made, type) or name.startswith("_"):
        raise Unsupported("there is no optimizer {}".format(name))
    known = inspect.signature(made).parameters
    given = {key: value for key, value in _SETTINGS.items() if key in known}
    optimizer = made(module.parameters(), lr=rate, **given)
    return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


def _by_state(module, optimizer, schedule, name):
    import torch

    parts = (module, optimizer, schedule)
    states = [_through_file(part.state_dict()) for part in parts]
    fresh = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in list(fresh.parameters()) + list(fresh.buffers()):
            tensor.zero_()
    others = (fresh,) + _optimizer(fresh, name, 10 * _RATE)
    for part, state in zip(others, states):
        part.load_state_dict(state)
    return others


def _by_copy(module, optimizer, schedule, name):
    return copy.deepcopy((module, optimizer, schedule))


def _by_file(module, optimizer, schedule, name):
    return _through_file((module, optimizer, schedule))


def _through_file(value):
    import torch

    stream = io.BytesIO()
    torch.save(value, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


_CARRIED = {"state_dict": _by_state, "deep copy": _by_copy, "torch.save": _by_file}
