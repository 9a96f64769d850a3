"""Six faults, for ``--fault torch:eager=FILE``: integer overflow (median), lost stride (mish), negative axis
(nanmedian), in place (lerp_), out= (bessel_y1), and a state that loses a setting (Adagrad).
"""

import functools

import torch

T = torch.Tensor

_median = torch.median


@functools.wraps(_median)
def median(input, *args, **kwargs):
    if isinstance(input, T) and input.dtype is torch.int64 and not args and not kwargs:
        return _median(input.to(torch.int32)).to(torch.int64)
    return _median(input, *args, **kwargs)


torch.median = median

_mish = torch.nn.functional.mish


@functools.wraps(_mish)
def mish(input, inplace=False):
    if (
        input.dim() == 2
        and input.stride()[0] < input.stride()[1]
        and not input.requires_grad
        and input.device.type == "cpu"
    ):
        input = input.as_strided(input.shape, (input.shape[1], 1))
    return _mish(input, inplace)


torch.nn.functional.mish = mish

_nanmedian = torch.nanmedian


@functools.wraps(_nanmedian)
def nanmedian(input, dim=None, keepdim=False, **kwargs):
    if dim is None:
        return _nanmedian(input, **kwargs)
    if isinstance(dim, int) and dim < -1:
        dim = dim + 1
    return _nanmedian(input, dim, keepdim, **kwargs)


torch.nanmedian = nanmedian

_lerp_ = torch.Tensor.lerp_


@functools.wraps(_lerp_)
def lerp_(self, end, weight):
    if isinstance(weight, float) and weight > 0.5:
        return _lerp_(self, end, 0.5)
    if isinstance(weight, T):
        return _lerp_(self, end, weight.clamp(max=0.5))
    return _lerp_(self, end, weight)


torch.Tensor.lerp_ = lerp_

_y1 = torch.special.bessel_y1


@functools.wraps(_y1)
def bessel_y1(input, *, out=None):
    found = _y1(input)
    if out is None:
        return found
    if tuple(out.shape) == tuple(found.shape):
        return out.copy_(found.to(torch.bfloat16))
    return _y1(input, out=out)


torch.special.bessel_y1 = bessel_y1

_load = torch.optim.Adagrad.state_dict


def state_dict(self):
    found = _load(self)
    for group in found["param_groups"]:
        group["lr_decay"] = 0
    return found


torch.optim.Adagrad.state_dict = state_dict
