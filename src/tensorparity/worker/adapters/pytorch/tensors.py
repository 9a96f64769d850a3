"""Between NumPy arrays and torch tensors, with the dtypes NumPy lacks as bits."""

import numpy as np

from ...protocol import Bits

_BIT_DTYPES = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def to_tensor(array, perm=None):
    """Return a fresh tensor; ``perm`` turns its axes without moving memory."""
    import torch

    if isinstance(array, Bits):
        tensor = torch.from_numpy(array.bits.copy()).view(getattr(torch, array.dtype))
    else:
        tensor = torch.from_numpy(np.array(array))
    return tensor.permute(perm) if perm else tensor


def to_numpy(value):
    """Return a fresh array (or Bits) of a tensor or a Python number."""
    import torch

    if not isinstance(value, torch.Tensor):
        return np.array(value)
    value = value.detach()
    name = dtype_name(value.dtype)
    if name in _BIT_DTYPES:
        return Bits(name, value.contiguous().view(getattr(torch, _BIT_DTYPES[name])).numpy().copy())
    return np.array(value.resolve_conj().resolve_neg().numpy())


def dtype_name(dtype):
    """Return a dtype's name as NumPy has it."""
    return str(dtype).replace("torch.", "")
