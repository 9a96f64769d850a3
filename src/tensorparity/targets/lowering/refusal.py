"""What every lowering shares: how it says that a case has no counterpart, and shapes that are known."""

from __future__ import annotations

from collections.abc import Sequence

from ...operators.spec import Shape

#: A shape without unknown sizes.
Sizes = tuple[int, ...]


class Refusal(Exception):
    """The case has no counterpart where it would go; the message is the reason."""


def static(shapes: Sequence[Shape]) -> tuple[Sizes, ...]:
    """Shapes without unknown sizes.

    Raises:
        Refusal: if one is not known.
    """
    found = []
    for shape in shapes:
        sizes = tuple(size for size in shape if size is not None)
        if len(sizes) != len(shape):
            raise Refusal(f"the output shape is not known: {shape}")
        found.append(sizes)
    return tuple(found)
