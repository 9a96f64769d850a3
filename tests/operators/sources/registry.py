"""Layers by name, each a function of the complete parameters, the inputs and the weights; one table per library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Params = dict[str, Any]
Layer = Callable[..., Any]
T = TypeVar("T")


class Registry:
    """The layers of one library."""

    def __init__(self) -> None:
        self.layers: dict[str, Layer] = {}

    def layer(self, *names: str) -> Callable[[Layer], Layer]:
        """Registers a function as the layers of these names."""

        def register(function: Layer) -> Layer:
            self.layers.update(dict.fromkeys(names, function))
            return function

        return register


def over_axes(base: str, dims: tuple[int, ...] = (1, 2, 3)) -> tuple[str, ...]:
    """Names for one, two and three spatial axes: ``Conv*`` stands for Conv1D, Conv2D and Conv3D."""
    return tuple(base.replace("*", f"{count}D") for count in dims)


def below(weights: dict[str, T], name: str) -> dict[str, T]:
    """The weights of a layer inside of a layer."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}


def sizes(value: Any, count: int) -> list[int]:
    return [int(value)] * count if isinstance(value, int) else [int(item) for item in value]
