"""The ways in which torch runs a call: compiled, traced, exported, mapped, on other memory, without memory."""

import contextlib
import os
import shutil
import sysconfig

import numpy as np

from ...contract import Unsupported
from ..call_runs import Ways, basis, cotangent, flat
from ..expressions import Expression
from ..native import resolve
from .optimizers import trained
from .tensors import to_numpy, to_tensor


def require_compiler():
    """Refuse what inductor is needed for, where it would find no C++ compiler, or nothing to compile against."""
    wanted = os.environ.get("CXX")
    if not any(shutil.which(name) for name in ([wanted] if wanted else ["g++", "clang++", "c++"])):
        raise Unsupported("torch.compile needs a C++ compiler, and there is no {}".format(wanted or "g++ or clang++"))
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        raise Unsupported("torch.compile needs Python's headers (python3-dev), and there are none")


def _compiled(backend):
    def run(function, tensors, kept):
        import torch

        if backend == "inductor":
            require_compiler()
        if "compiled" not in kept:
            torch._dynamo.reset()  # all expressions are one function to it, which it recompiles a few times only
            kept["compiled"] = torch.compile(lambda given: function(given), backend=backend, dynamic=False)
        return kept["compiled"](tensors)

    return run


def _dynamic(function, tensors, kept):
    """Compile for sizes that are left open."""
    import torch

    if "dynamic" not in kept:
        torch._dynamo.reset()
        kept["dynamic"] = torch.compile(lambda given: function(given), backend="aot_eager", dynamic=True)
    return kept["dynamic"](tensors)


def _captured(backend):
    """Return a way that has all inputs as constants of one compiled function."""

    def run(function, rows, kept):
        import torch

        if backend == "inductor":
            require_compiler()
        torch._dynamo.reset()
        return torch.compile(lambda: [function(tensors) for tensors in rows], backend=backend, dynamic=False)()

    return run


def _traced(function, tensors, kept):
    import torch

    names = list(tensors)
    if "traced" not in kept:
        example = tuple(tensors[name].clone() for name in names)  # some functions change what they are given
        kept["traced"] = torch.jit.trace(_as_module(function, names), example, check_trace=False, strict=False)
    return kept["traced"](*[tensors[name] for name in names])


def _traced_with_constants(function, rows, kept):
    """Trace with all inputs as constants."""
    import torch

    return torch.jit.trace(lambda: tuple(tuple(flat(function(row))) for row in rows), (), check_trace=False)()


def _exported(function, tensors, kept):
    import torch

    names = list(tensors)
    if "exported" not in kept:
        given = tuple(tensors[name] for name in names)
        kept["exported"] = torch.export.export(_as_module(function, names), given).module()
    return kept["exported"](*[tensors[name] for name in names])


def _as_module(function, names):
    """Return a module that owns the modules that were made for the function: their weights are no constants."""
    import torch

    class Whole(torch.nn.Module):
        def __init__(self):
            super(Whole, self).__init__()
            made = getattr(function, "objects", ())
            self.own = torch.nn.ModuleList([value for value in made if isinstance(value, torch.nn.Module)])

        def forward(self, *given):
            return function(dict(zip(names, given)))

    return Whole()


def _on(change):
    """Return a way that gives the function other tensors of the same numbers."""

    def run(function, tensors, kept):
        return function({key: change(tensor) for key, tensor in tensors.items()})

    return run


def _strided(tensor):
    if not tensor.ndim:
        return tensor
    wide = tensor.new_zeros(tuple(tensor.shape[:-1]) + (2 * tensor.shape[-1] + 1,))
    wide[..., 1::2] = tensor
    return wide[..., 1::2]


def _turned(tensor):
    axes = list(range(tensor.ndim))[::-1]
    return tensor.permute(axes).contiguous().permute(axes)


def _shifted(tensor):
    """Return the tensor in memory that does not begin where vectors do."""
    wide = tensor.new_zeros(tensor.numel() + 1)
    wide[1:] = tensor.reshape(-1)
    return wide[1:].view(tensor.shape)


def _expanded(tensor):
    """Return the tensor with its first axis expanded from one row; the rule sees to it that all rows are alike."""
    return tensor[:1].expand(tensor.shape) if tensor.ndim and len(tensor) else tensor


def _channels_last(tensor):
    import torch

    if tensor.ndim not in (4, 5):
        return tensor
    return tensor.contiguous(memory_format=torch.channels_last if tensor.ndim == 4 else torch.channels_last_3d)


def _without_memory(function, tensors, kept):
    import torch

    found = function({key: tensor.to("meta") for key, tensor in tensors.items()})
    return [_zeros(leaf.shape, leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf for leaf in flat(found)]


def _zeros(shape, dtype):
    import torch

    return torch.zeros(tuple(shape), dtype=dtype)


def _fake(function, tensors, kept):
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        found = function({key: mode.from_tensor(tensor) for key, tensor in tensors.items()})
        forms = [(tuple(leaf.shape), leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf for leaf in flat(found)]
    return [torch.zeros(form[0], dtype=form[1]) if isinstance(form, tuple) else form for form in forms]


def _into_out(made):
    """Return a way that has the function write into tensors that are ``made`` like its results."""

    def run(function, tensors, kept):
        given = flat(function({key: tensor.clone() for key, tensor in tensors.items()}))
        out = [made(leaf) for leaf in given]
        function.with_more(tensors, {"out": out[0] if len(out) == 1 else tuple(out)})
        return [written.to(leaf.dtype) for written, leaf in zip(out, given)]

    return run


def _filled(leaf):
    import torch

    return torch.full_like(leaf, 77 if leaf.dtype is not torch.bool else True)


def _filled_with_gaps(leaf):
    """Return a tensor whose last axis is every second place of another."""
    if not leaf.ndim:
        raise Unsupported("there is no axis to leave gaps in")
    return _strided(_filled(leaf))


def _to_be_resized(leaf):
    """Return a tensor of no elements, which takes any shape."""
    return leaf.new_zeros(0)


def _of_wider_type(leaf):
    import torch

    wider = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}
    if leaf.dtype not in wider:
        raise Unsupported("there is no wider type")
    return _filled(leaf).to(wider[leaf.dtype])


def _in_place(function, tensors, kept):
    """Run the function that writes into its first argument, on a copy of it, and return that."""
    if not isinstance(function, Expression):
        raise Unsupported("only a call that is run as it is can be written otherwise")
    changed = function.with_functions(lambda name, called: _writing(name, called) if name == function.api else called)
    return changed(tensors)


def _writing(name, called):
    import inspect

    import torch

    last = name.rsplit(".", 1)[-1]
    if not name.startswith(("torch.linalg.", "torch.fft.", "torch.sparse.")) and hasattr(torch.Tensor, last + "_"):
        return lambda owner, *args, **kwargs: _written(owner, getattr(torch.Tensor, last + "_"), args, kwargs)
    try:
        known = inspect.signature(called).parameters
    except (TypeError, ValueError):
        known = {}
    if "inplace" not in known:
        raise Unsupported("{} does not write into what it is given".format(name))
    return lambda owner, *args, **kwargs: _written(owner, called, args, dict(kwargs, inplace=True))


def _written(owner, method, args, kwargs):
    copied = owner.clone()
    found = method(copied, *args, **kwargs)
    if found is not copied and found.data_ptr() != copied.data_ptr():
        raise AssertionError("what it returns is not what it has written into")
    return copied


def _vmap(function, rows, kept):
    import torch

    stacked = {key: torch.stack([tensors[key] for tensors in rows]) for key in rows[0]}
    found = flat(torch.vmap(function)(stacked) if stacked else [function({}) for _ in rows])
    return [[leaf[place] for leaf in found] for place in range(len(rows))]


def _loader(function, rows, kept):
    import torch

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows)

        def __getitem__(self, place):
            return function(rows[place])

    return list(torch.utils.data.DataLoader(Rows(), batch_size=None, shuffle=False))


def _reloaded(change):
    """Return a way that runs a copy of every module, made by saving and loading it."""

    def run(function, tensors, kept):
        import torch

        return function.with_made(lambda v: change(v) if isinstance(v, torch.nn.Module) else v)(tensors)

    return run


def _by_state(module):
    import copy
    import io

    import torch

    stream = io.BytesIO()
    torch.save(module.state_dict(), stream)
    stream.seek(0)
    fresh = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in list(fresh.parameters()) + list(fresh.buffers()):
            tensor.zero_()
    fresh.load_state_dict(torch.load(stream, weights_only=True))
    return fresh


def _by_file(module):
    import io

    import torch

    stream = io.BytesIO()
    torch.save(module, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


def _by_copy(module):
    import copy

    return copy.deepcopy(module)


def _in_batches(size):
    def run(function, tensors, kept):
        import torch

        count = min((len(tensor) for tensor in tensors.values() if tensor.ndim), default=0)
        if count <= size:
            raise Unsupported("a batch of {} is no batch of more".format(count))
        state = torch.get_rng_state()
        pieces = []
        for start in range(0, count, size):
            torch.set_rng_state(state)  # a program makes its modules, and so draws its weights, anew
            pieces.append(function({key: tensor[start : start + size] for key, tensor in tensors.items()}))
        return torch.cat(pieces)

    return run


class TorchWays(Ways):
    PREFIXES = ("torch.",)
    VARIANTS = {
        "inductor": _compiled("inductor"),
        "aot_eager": _compiled("aot_eager"),
        "jit.trace": _traced,
        "dynamic": _dynamic,
        "export": _exported,
        "strided": _on(_strided),
        "turned": _on(_turned),
        "shifted": _on(_shifted),
        "expanded": _on(_expanded),
        "channels_last": _on(_channels_last),
        "meta": _without_memory,
        "fake": _fake,
        "out": _into_out(_filled),
        "out with gaps": _into_out(_filled_with_gaps),
        "out resized": _into_out(_to_be_resized),
        "out wider": _into_out(_of_wider_type),
        "in place": _in_place,
        "state_dict": _reloaded(_by_state),
        "torch.save": _reloaded(_by_file),
        "deep copy": _reloaded(_by_copy),
        "batches of 1": _in_batches(1),
        "batches of 3": _in_batches(3),
    }
    PREFIXED = {"trained ": trained}
    MAPPED = {
        "vmap": _vmap,
        "dataset": _loader,
        "inductor captured": _captured("inductor"),
        "aot_eager captured": _captured("aot_eager"),
        "jit.trace captured": _traced_with_constants,
    }
    TRACING = frozenset(
        ["inductor", "aot_eager", "inductor captured", "aot_eager captured", "jit.trace", "dynamic", "export"]
    )

    def resolve(self, name):
        return resolve(name)

    def seed(self, number):
        import torch

        torch.manual_seed(number)

    def to_tensor(self, array, perm=None):
        return to_tensor(array, perm)

    def to_numpy(self, value):
        import torch

        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            value = value.to_dense()
        if isinstance(value, (torch.dtype, torch.Size, torch.device, torch.layout)):
            value = str(value)
        if not isinstance(value, (torch.Tensor, bool, int, float, complex, str, np.ndarray, np.generic)):
            raise Unsupported("the call gives a {}, no tensor".format(type(value).__name__))
        return to_numpy(value)

    def cast(self, tensor, dtype):
        import torch

        wanted = getattr(torch, dtype)
        if tensor.is_complex():
            return tensor.to(torch.complex128) if dtype == "float64" else tensor
        return tensor.to(wanted) if tensor.is_floating_point() else tensor

    def dtype(self, name):
        import torch

        return getattr(torch, name)

    def made(self, dtype):
        import torch

        if not dtype:
            return None
        wanted = getattr(torch, dtype)
        return lambda value: value.to(wanted) if isinstance(value, torch.nn.Module) else value

    def state_of(self, value):
        import torch

        if not isinstance(value, torch.nn.Module):
            return None
        return {name: tensor.clone() for name, tensor in value.state_dict().items()}

    def put_back(self, value, state):
        if state:
            value.load_state_dict(state)

    def context(self, job):
        import torch

        return contextlib.ExitStack() if job.option("derivative") else torch.no_grad()

    def pulled_back(self, run, function, tensors, order):

        leaves = {
            key: tensor.detach().clone().requires_grad_(True)
            for key, tensor in tensors.items()
            if tensor.is_floating_point() or tensor.is_complex()
        }
        if not leaves:
            raise Unsupported("none of its arguments is differentiable")
        values = flat(run(function, dict(tensors, **leaves)))
        found = _gradients(values, leaves, order > 1)
        if order == 1:
            return values, found
        second = _gradients(list(found.values()), leaves, False)
        return values, dict(found, **{"second " + key: value for key, value in second.items()})

    def pushed_forward(self, function, tensors):
        import torch
        import torch.autograd.forward_ad as forward

        if any(tensor.is_complex() for tensor in tensors.values()):
            raise Unsupported("complex numbers are pulled back only")
        found = {}
        values = flat(function(tensors))
        if any(isinstance(value, torch.Tensor) and value.is_complex() for value in values):
            raise Unsupported("complex numbers are pulled back only")
        for key, tensor in tensors.items():
            if not tensor.is_floating_point():
                continue
            slopes = []
            for direction in basis(tensor.shape):
                with forward.dual_level():
                    dual = forward.make_dual(tensor.detach(), torch.from_numpy(direction).to(tensor.dtype))
                    slopes.append(_slope(flat(function(dict(tensors, **{key: dual})))))
            found[key] = torch.stack(slopes).reshape(tensor.shape) if slopes else torch.zeros_like(tensor)
        return values, found


def _slope(values):
    """Return how results change in the direction in which they were pushed, weighed as a pull is."""
    import torch
    import torch.autograd.forward_ad as forward

    found = None
    for value in values:
        tangent = forward.unpack_dual(value).tangent if isinstance(value, torch.Tensor) else None
        if tangent is not None:
            part = (tangent * torch.from_numpy(cotangent(value.shape)).to(value.dtype)).sum()
            found = part if found is None else found + part
    return torch.zeros(()) if found is None else found


def _gradients(values, leaves, again):
    import torch

    ends = [value for value in values if isinstance(value, torch.Tensor) and value.requires_grad]
    if not ends:
        raise Unsupported("what the call gives does not depend differentiably on its arguments")
    weights = [torch.from_numpy(cotangent(end.shape)).to(end.dtype) for end in ends]
    found = torch.autograd.grad(
        ends, list(leaves.values()), weights, create_graph=again, allow_unused=True, retain_graph=again
    )
    return {key: value for key, value in zip(leaves, found) if value is not None}
