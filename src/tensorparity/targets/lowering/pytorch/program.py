"""A program in the making: calls of torch's public functions, one after another, and one layer's view of it.

Tensors have names: ``x:`` inputs, ``w:`` weights in Keras' own layout, ``y:`` labels, ``t`` results. A step is
``[function, arguments, keyword arguments, name or names of what it gives]``; in arguments a tensor is
``{"$": name}`` and a dtype ``{"dtype": name}``, an empty one being the dtype that the case is computed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....core.jsontext import Json
from ....operators.spec import LayerSpec, Params, WeightSpec
from ..refusal import Refusal, Sizes, static

#: Steps beyond which a sequence is too long to be written out step by step.
MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class TorchTensor:
    """A tensor of the program, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype by name; the empty one is that in which the case is computed."""

    name: str = ""


class ProgramWriter:
    """Collects steps; ``begin`` says which node the next ones belong to."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.weights: dict[str, bool] = {}
        self._steps: list[Json] = []
        self._count = 0

    def begin(self, key: str) -> None:
        self._steps = []
        self.nodes.append([key, self._steps])

    def input(self, name: str) -> TorchTensor:
        return TorchTensor(f"x:{name}")

    def label(self, name: str) -> TorchTensor:
        return TorchTensor(f"y:{name}")

    def weight(self, key: str, *, trainable: bool) -> TorchTensor:
        self.weights[key] = trainable
        return TorchTensor(f"w:{key}")

    def emit(self, api: str, *args: Any, **kwargs: Any) -> TorchTensor:
        """Append the call of ``torch.<api>``, which gives one tensor."""
        result = self._name()
        self._append(api, args, kwargs, result)
        return TorchTensor(result)

    def emit_all(self, count: int, api: str, *args: Any, **kwargs: Any) -> list[TorchTensor]:
        """Append a call that gives ``count`` tensors."""
        results = [self._name() for _ in range(count)]
        self._append(api, args, kwargs, results)
        return [TorchTensor(name) for name in results]

    def _name(self) -> str:
        self._count += 1
        if self._count > MOST_STEPS:
            raise Refusal(f"it takes more than {MOST_STEPS} calls of torch's functions")
        return f"t{self._count}"

    def _append(self, api: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Json) -> None:
        named = {name: _plain(value) for name, value in kwargs.items()}
        self._steps.append([f"torch.{api}", [_plain(value) for value in args], named, result])


def _plain(value: Any) -> Json:
    if isinstance(value, TorchTensor):
        return {"$": value.name}
    if isinstance(value, Dtype):
        return {"dtype": value.name}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class TorchCall:
    """One call of one layer, to be written as calls of torch's functions.

    Args:
        params: complete, defaults filled in, and found valid by the catalogue.
        shapes: of the inputs, batch axis included; ``outputs`` those of the outputs, by the catalogue.
        declared: the layer's weights by short name (``kernel``); ``path`` is what stands before it.
        training: the layer is called with ``training=True``.
        integers: the inputs that hold integers, by position.
    """

    writer: ProgramWriter
    op: str
    path: str
    params: Params
    inputs: tuple[TorchTensor, ...]
    shapes: tuple[Sizes, ...]
    outputs: tuple[Sizes, ...]
    declared: Mapping[str, WeightSpec]
    training: bool = False
    trainable: bool = True
    integers: frozenset[int] = frozenset()

    @property
    def x(self) -> TorchTensor:
        return self.inputs[0]

    @property
    def rank(self) -> int:
        return len(self.shapes[0])

    @property
    def shape(self) -> Sizes:
        """Of the first output."""
        return self.outputs[0]

    def emit(self, api: str, *args: Any, **kwargs: Any) -> TorchTensor:
        return self.writer.emit(api, *args, **kwargs)

    def weight(self, name: str) -> TorchTensor:
        """A weight in Keras' layout; turning it is part of the program, so that gradients come back in that layout."""
        return self.writer.weight(self.path + name, trainable=self.trainable and self.declared[name].trainable)

    def has(self, name: str) -> bool:
        return name in self.declared

    def numbers(self, values: Any) -> TorchTensor:
        """A constant in the dtype of the case."""
        return self.emit("tensor", values, dtype=Dtype())

    def permute(self, tensor: TorchTensor, order: Sequence[int]) -> TorchTensor:
        if list(order) == list(range(len(order))):
            return tensor
        return self.emit("permute", tensor, list(order))

    def reshape(self, tensor: TorchTensor, shape: Sequence[int]) -> TorchTensor:
        return self.emit("reshape", tensor, list(shape))

    def add(self, *tensors: TorchTensor) -> TorchTensor:
        total = tensors[0]
        for tensor in tensors[1:]:
            total = self.emit("add", total, tensor)
        return total

    def inside(
        self, spec: LayerSpec, params: Params, path: str, inputs: Sequence[TorchTensor], shapes: Sequence[Sizes]
    ) -> TorchCall:
        """The call of a layer that this one wraps; ``path`` is where its weights are inside of this one's."""
        return replace(
            self,
            op=spec.name,
            path=f"{self.path}{path}/",
            params=params,
            inputs=tuple(inputs),
            shapes=tuple(shapes),
            outputs=static(spec.shape(params, shapes)),
            declared=spec.weights(params, shapes),
            integers=frozenset(),
        )


#: Writes the steps of one call and returns its outputs.
Lowering = Callable[[TorchCall], TorchTensor | Sequence[TorchTensor]]


def inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)
