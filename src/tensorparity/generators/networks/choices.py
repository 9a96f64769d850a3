"""Which of the layers may be chosen, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import UsageError
from ...operators.catalogue import layer
from ...operators.spec import Domain, no_weights
from .support import unfit

#: Parts of the names of layers that downsample.
_REDUCING = ("Pooling", "Cropping", "Conv1D", "Conv2D", "Conv3D", "CenterCrop", "Resizing")


def choosable(names: Sequence[str], *, integers: bool) -> tuple[list[str], list[str]]:
    """The layers that read one tensor, and those that read several.

    Args:
        integers: whether layers that read integers are among them, which need an input of their own.

    Raises:
        UsageError: if none is left.
    """
    left = [name for name in names if integers or not reads_integers(name)]
    if not left:
        raise UsageError(
            f"{', '.join(names)}: expected a layer that reads floats, which is all that a plain network has"
        )
    return [name for name in left if layer(name).arity[0] == 1], [name for name in left if layer(name).arity[0] > 1]


def reads_integers(name: str) -> bool:
    """Whether a layer with its defaults reads integers."""
    domain = _domain(name)
    return domain.low is not None and domain.dtype.startswith("int")


def takes_edges(name: str, style: str) -> bool:
    """Whether a layer reads any numbers, and can be judged on those of a style; with weights only where sums can."""
    plain = layer(name).weights is no_weights or style in ("nan", "infinite")
    return plain and _domain(name).low is None and not unfit(name, style)


def _domain(name: str) -> Domain:
    spec = layer(name)
    required = {parameter.name: parameter.valid[0] for parameter in spec.parameters if parameter.required}
    return spec.domain(spec.complete(required))


def reducing_layers(names: Sequence[str]) -> list[str]:
    """Those that downsample; where there are none, all that may happen to give less than they read."""
    found = [name for name in names if any(part in name for part in _REDUCING) and "Transpose" not in name]
    return found or [name for name in names if not reads_integers(name)]
