"""How instances become the inputs of an exported program: by a batch axis, or each as a whole set of inputs."""

from __future__ import annotations

from collections.abc import Sequence

#: Sizes of a tensor; None for one that may vary.
Sizes = Sequence[int | None]


def has_batch_axis(inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> bool:
    """Whether a program takes several instances at once, along the first axis of all its inputs.

    The worker decides by the same rule (``worker/adapters/pytorch/program``), so nobody has to tell it.
    """
    if any(not sizes for sizes in inputs):
        return False
    first = {sizes[0] for sizes in inputs}
    if len(first) > 1:
        return False
    return first == {None} or all(sizes and sizes[0] in first for sizes in outputs)
