"""Layers as programs of torch's functions, which the host has written: run, traced, differentiated, replayed.

A step is ``[function, arguments, keyword arguments, name or names of what it gives]``. In arguments a tensor is
``{"$": name}`` (``x:`` an input, ``w:`` a weight, ``y:`` a label) and a dtype ``{"dtype": name}``, an empty one
being that of the program.
"""

from ...contract import Result, Unsupported
from ...population import chromosomes
from ..native import resolve
from .tensors import to_numpy, to_tensor

#: The host's name for such a subject.
KIND = "torch-program"
_PREFIX = "torch."


class GraphProgram(object):
    """One program and what it computes with; ``at(key)`` is told which node is next."""

    def __init__(self, subject, at):
        import torch

        self.subject = subject
        self.dtype = getattr(torch, subject["dtype"])
        self._at = at

    def tensors(self, job, differentiable=False):
        """Return the job's inputs, weights and labels by name, floats in the dtype of the program."""
        found = {}
        for name, array in job.inputs.items():
            found["x:" + name] = self._tensor(array, differentiable)
        for name, trainable in self.subject["weights"].items():
            found["w:" + name] = self._tensor(job.weights[name], differentiable and trainable)
        for name, array in job.labels.items():
            found["y:" + name] = self._tensor(array, False)
        return found

    def _tensor(self, array, differentiable):
        tensor = to_tensor(array)
        if not tensor.is_floating_point():
            return tensor
        tensor = tensor.to(self.dtype)
        return tensor.requires_grad_(True) if differentiable else tensor

    def run(self, tensors):
        """Run all steps; what they give joins ``tensors``."""
        for key, steps in self.subject["nodes"]:
            self._at(key or None)
            for name, args, kwargs, result in steps:
                value = function(name)(
                    *[self.value(item, tensors) for item in args],
                    **{key: self.value(item, tensors) for key, item in kwargs.items()},
                )
                if isinstance(result, list):
                    tensors.update(zip(result, flat(value)))
                else:
                    tensors[result] = value
        self._at(None)
        return tensors

    def value(self, argument, tensors):
        """Return an argument with its tensors and dtypes in place."""
        if isinstance(argument, dict):
            if "$" in argument:
                return tensors[argument["$"]]
            import torch

            return getattr(torch, argument["dtype"]) if argument["dtype"] else self.dtype
        if isinstance(argument, list):
            return [self.value(item, tensors) for item in argument]
        return argument


_FUNCTIONS = {}


def function(name):
    """Return a public function of torch by name; the host writes names, and none that begins elsewhere is called."""
    if name not in _FUNCTIONS:
        if not name.startswith(_PREFIX):
            raise Unsupported("this target runs {}*, not {}".format(_PREFIX, name))
        try:
            _FUNCTIONS[name] = resolve(name)
        except (AttributeError, ImportError):
            raise Unsupported("{} does not exist in this version".format(name))
    return _FUNCTIONS[name]


def flat(value):
    """Return the tensors of nested tuples as one list."""
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flat(part)]
    return [value]


def run_graph(job, at):
    """Run the job's program, eagerly."""
    runs = {"forward": _forward, "gradients": _gradients, "update": _gradients, "replay": _replay}
    if job.goal not in runs:
        raise Unsupported("layers in torch are run forward, backward and a step further, not to {!r}".format(job.goal))
    return runs[job.goal](job, at)


def _forward(job, at):
    import torch

    result = Result()
    with torch.no_grad():
        parts = individuals_of(job) if job.option("population") else slices_of(job)
        pieces = [_outputs(subject, part, at, result) for subject, part in parts]
    result.outputs = joined(pieces)
    return result


def _outputs(subject, job, at, result):
    program = GraphProgram(subject, at)
    tensors = program.run(program.tensors(job))
    if job.option("trace"):
        result.nodes = {key: to_numpy(tensors[name]) for key, name in subject["traced"]}
    return {name: to_numpy(tensors[tensor]) for name, tensor in subject["outputs"]}


class Slice(object):
    """A part of a job's batch, on weights of its own where it is an individual of a population."""

    def __init__(self, job, start, stop, weights=None):
        self.inputs = {name: array[start:stop] for name, array in job.inputs.items()}
        self.weights, self.labels = weights or job.weights, {}
        self.option = job.option


def individuals_of(job):
    """Yield (program, job) for each individual: its row, or the one that all share, on its own weights."""
    each = min(len(array) for array in job.inputs.values()) > 1
    for place, weights in enumerate(chromosomes(job.option("population"), job.parents, job.weights)):
        row = place if each else 0
        yield job.subject, Slice(job, row, row + 1, dict(job.weights, **weights))


def slices_of(job):
    """Return (program, job) for each part of the batch; sizes are static, so the last part may have its own program."""
    programs = job.subject.get("slices")
    if not programs:
        return [(job.subject, job)]
    size, count = job.option("batch_size"), min(len(array) for array in job.inputs.values())
    starts = range(0, count, size)
    return [
        (programs[0] if start + size <= count else programs[1], Slice(job, start, start + size)) for start in starts
    ]


def joined(pieces):
    """Return outputs of the whole batch from those of its parts."""
    import numpy as np

    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _gradients(job, at):
    program = GraphProgram(job.subject, at)
    leaves = program.tensors(job, differentiable=True)
    tensors = program.run(dict(leaves))
    kept = {key: tensors[name] for key, name in job.subject["traced"]}
    loss = tensors[job.subject["loss"]]
    for tensor in kept.values():
        if tensor.requires_grad and not tensor.is_leaf:
            tensor.retain_grad()
    result = gradients_of(job, loss, leaves, tensors, kept)
    if job.goal == "update":
        result.weights = _stepped(job.subject, leaves)
    return result


def _stepped(subject, leaves):
    """Return the weights after one step of an optimizer of torch; what has no gradient stays as it is."""
    import torch

    name, arguments, clip = subject["optimizer"]
    weights = {weight: leaves["w:" + weight] for weight in subject["moved"]}
    moved = [leaf for leaf in weights.values() if leaf.grad is not None]
    if moved:
        if clip is not None:
            torch.nn.utils.clip_grad_value_(moved, clip)
        function("torch.optim." + name)(moved, **arguments).step()
    return {weight: to_numpy(leaf.detach()) for weight, leaf in weights.items()}


def gradients_of(job, loss, leaves, tensors, sources):
    """Go backward from the loss; ``sources`` are the tensors that hold the gradients of the nodes, by their keys."""
    if loss.requires_grad:
        loss.backward()
    result = Result()
    result.loss = float(loss.detach())
    result.nodes = {key: to_numpy(tensors[name]) for key, name in job.subject["traced"]}
    result.outputs = {name: to_numpy(tensors[tensor]) for name, tensor in job.subject["outputs"]}
    _collect("node:", sources, result)
    _collect("input:", {name[2:]: leaf for name, leaf in leaves.items() if name.startswith("x:")}, result)
    _collect("weight:", {name[2:]: leaf for name, leaf in leaves.items() if name.startswith("w:")}, result)
    return result


def _collect(prefix, tensors, result):
    for name, tensor in tensors.items():
        if tensor.requires_grad and tensor.grad is not None:
            result.gradients[prefix + name] = to_numpy(tensor.grad)


def _replay(job, at):
    import torch

    with torch.set_grad_enabled(bool(job.cotangents)):
        program = GraphProgram(job.subject, at)
        leaves = program.tensors(job, differentiable=bool(job.cotangents))
        tensors = program.run(dict(leaves))
    return replayed(job, at, leaves, tensors)


def replayed(job, at, leaves, tensors):
    """Collect what the nodes gave, and pull back the cotangents."""
    import torch

    result, dtype = Result(), getattr(torch, job.subject["dtype"])
    for key, inputs, outputs, layer in job.subject["replays"]:
        for index, name in enumerate(outputs):
            result.nodes[output_key(key, index)] = to_numpy(tensors[name])
        if key in job.cotangents:
            at(key)
            weights = [name for name in leaves if name.startswith("w:" + layer + "/")]
            named = {"input:{}/{}".format(key, index): leaves["x:" + name] for index, name in enumerate(inputs)}
            named.update({"weight:" + name[2:]: leaves[name] for name in weights})
            cotangent = to_tensor(job.cotangents[key]).to(dtype)
            _pull_back(tensors[outputs[0]], cotangent, named, result)
    at(None)
    return result


def _pull_back(output, cotangent, named, result):
    import torch

    names = [name for name, leaf in named.items() if leaf.requires_grad]
    if not output.requires_grad or not names:
        return
    sources = [named[name] for name in names]
    grads = torch.autograd.grad(output, sources, cotangent, allow_unused=True, retain_graph=True)
    for name, gradient in zip(names, grads):
        if gradient is not None:
            result.gradients[name] = to_numpy(gradient)


def output_key(key, index):
    return key if index == 0 else "{}.{}".format(key, index)
