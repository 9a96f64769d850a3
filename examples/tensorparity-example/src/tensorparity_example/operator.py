"""The operator ``tiny_cube``: its true value, and how torch is asked for it."""

from __future__ import annotations

from tensorparity.plugin import Tensor, call, elementwise

TINY_CUBE = elementwise(
    "tiny_cube",
    "x times x times x",
    lambda m, x: x * x * x,
    lambda m, x: 3 * x * x,
    family="tiny",
    torch=lambda params, sizes: call("torch.pow", Tensor("x"), 3),
)
