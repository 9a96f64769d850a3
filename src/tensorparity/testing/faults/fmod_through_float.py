"""EAGLE, section 5.2, data format equivalence: torch.fmod of int64 and of float64 differ."""

import torch

_right = torch.fmod


def fmod(input, other):
    if input.dtype is torch.int64:
        return _right(input.to(torch.float32), other.to(torch.float32)).to(torch.int64)
    return _right(input, other)


torch.fmod = fmod
