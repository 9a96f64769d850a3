"""The inputs that torch's own tests are made of: OpInfo, ModuleInfo and the optimizers' table.

They are private modules, which may move with any release: what is not found is reported as missing.
"""

import itertools
import sys
import types
import unittest

from .forms import FormError
from .samples import Samples

_DTYPES = ("float32", "float64", "int64", "complex64", "bfloat16", "bool")
_PER_DTYPE = 3  # of each further dtype; float32 may fill what is left
_LOOKED_AT = 48


def list_samples(options):
    """Return the calls and their arrays."""
    samples = Samples(_convert, options.get("of", ()))
    _stand_in_for("expecttest")
    for source, collect in (("OpInfo", _operators), ("ModuleInfo", _modules), ("optim_db", _optimizers)):
        try:
            collect(samples)
        except (ImportError, AttributeError) as error:
            samples.missing.append("{}: {}".format(source, error))
    return samples.reply()


def _stand_in_for(name):
    """Let torch's test modules be imported without a package of which they only derive test classes."""
    try:
        __import__(name)
    except ImportError:
        module = types.ModuleType(name)
        module.TestCase = unittest.TestCase
        sys.modules[name] = module


def _convert(value, arrays):
    import torch

    from ..adapters.pytorch.tensors import to_numpy

    if isinstance(value, torch.Tensor) and arrays is not None:
        if value.layout is not torch.strided or value.is_quantized or value.device.type != "cpu":
            raise FormError("a tensor that is not dense has no form")
        return arrays.name(to_numpy(value))
    raise FormError("{} has no form".format(type(value).__name__))


def _operators(samples):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        api, add = _public_name(samples, info)
        if api is None or samples.full(api):
            continue
        supported = [name for name in _DTYPES if getattr(torch, name) in info.supported_dtypes("cpu")]
        for name in supported[1:] + supported[:1]:
            taken = 0
            for sample in _drawn(info, getattr(torch, name)):
                taken += add(api, [sample.input] + list(sample.args), sample.kwargs, "OpInfo")
                if samples.full(api) or (name != "float32" and taken >= _PER_DTYPE):
                    break


def _drawn(info, dtype):
    """Yield samples as far as they can be made; a generator that raises has no more."""
    import torch

    torch.manual_seed(0)
    try:
        for sample in itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=False), _LOOKED_AT):
            yield sample
    except Exception:  # a sample that this machine cannot make; those before it stand
        return


def _public_name(samples, info):
    import torch

    if info.variant_test_name and "inplace" in info.variant_test_name:
        return None, None
    found = torch
    for part in info.name.split("."):
        found = getattr(found, part, None)
        if found is None:
            break
    if found is not None and callable(found):
        return "torch." + info.name, samples.add
    if "." not in info.name and callable(getattr(torch.Tensor, info.name, None)):
        return "torch.Tensor." + info.name, samples.add_method
    return None, None


def _modules(samples):
    import torch
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        name = info.module_cls.__name__
        if getattr(torch.nn, name, None) is not info.module_cls or samples.full("torch.nn." + name):
            continue
        torch.manual_seed(0)
        for training in (False, True):
            inputs = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
            )
            for item in inputs:
                made, called = item.constructor_input, item.forward_input
                if called is not None:
                    samples.add_object(
                        "torch.nn." + name, (made.args, made.kwargs), (called.args, called.kwargs), "ModuleInfo"
                    )


def _optimizers(samples):
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        for item in info.optim_inputs_func("cpu"):
            samples.add("torch.optim." + info.optim_cls.__name__, [], item.kwargs, "optim_db")
