"""An ONNX graph in the making, and the view of it that the lowering of one layer gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, Arrays
from ...operators.spec import LayerSpec, Params
from . import protobuf
from .refusal import Refusal, Sizes, static

#: Opset 20 is the first with Gelu, 17 with LayerNormalization; IR version 9 belongs to it.
OPSET = 20
IR_VERSION = 9
#: Operators that came later, or with another meaning before: a graph that has one is of its opset, others run anywhere.
SINCE = {"Attention": 23, "GroupNormalization": 21, "RMSNormalization": 23}
_IR_VERSIONS = {OPSET: IR_VERSION, 21: 10, 23: 11}

#: A serialised message may not exceed 2 GiB; the rest is for everything that is no weight.
MOST_WEIGHT_BYTES = 2**31 - 2**24


class GraphWriter:
    """Collects operators and constants under unique names; every tensor is named by a string."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._initializers: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: dict[str, bytes] = {}
        self._taken: set[str] = set()
        self._weights: dict[str, str] = {}
        self._weight_bytes = 0
        self._opset = OPSET

    def name(self, hint: str) -> str:
        """A new name of letters, digits and underscores: other characters are legal but not safe everywhere."""
        clean = re.sub(r"\W", "_", hint, flags=re.ASCII) or "tensor"
        found, count = clean, 1
        while found in self._taken:
            count += 1
            found = f"{clean}_{count}"
        self._taken.add(found)
        return found

    def input(self, hint: str, shape: Sizes, dtype: str = "float32") -> str:
        name = self.name(hint)
        self._inputs.append(protobuf.value_info(name, dtype, shape))
        return name

    def output(self, tensor: str, shape: Sizes, dtype: str = "float32") -> None:
        """Make a tensor an output of the graph; asked twice, it is one once."""
        self._outputs[tensor] = protobuf.value_info(tensor, dtype, shape)

    def constant(self, hint: str, array: Array) -> str:
        name = self.name(hint)
        self._initializers.append(protobuf.tensor(name, array))
        return name

    def weight(self, key: str, array: Array) -> str:
        """A constant that all calls of a shared layer share. ``key`` decides; the array is used at first sight.

        Raises:
            Refusal: if the weights of the graph are too large for one message.
        """
        if key not in self._weights:
            self._weight_bytes += array.nbytes
            if self._weight_bytes > MOST_WEIGHT_BYTES:
                raise Refusal("the weights exceed the 2 GiB that one ONNX message can hold")
            self._weights[key] = self.constant(key, array)
        return self._weights[key]

    def emit(self, op: str, inputs: Sequence[str], hint: str, **attributes: protobuf.Attribute) -> str:
        return self.emit_all(op, inputs, [hint], **attributes)[0]

    def emit_all(
        self, op: str, inputs: Sequence[str], hints: Sequence[str], **attributes: protobuf.Attribute
    ) -> list[str]:
        """Append an operator with one output per hint."""
        outputs = [self.name(hint) for hint in hints]
        self._opset = max(self._opset, SINCE.get(op, OPSET))
        self._nodes.append(protobuf.node(op, inputs, outputs, attributes, name=outputs[0]))
        return outputs

    def model(self, name: str) -> bytes:
        graph = protobuf.graph(name, self._nodes, self._initializers, self._inputs, self._outputs.values())
        return protobuf.model(graph, ir_version=_IR_VERSIONS[self._opset], opset=self._opset, producer="tensorparity")


@dataclass(frozen=True, slots=True)
class OnnxCall:
    """One call of one layer, to be written as ONNX operators.

    Args:
        layer: its name; of a layer inside of another with that one's before it.
        params: complete, defaults filled in, and found valid by the catalogue.
        inputs: the names of the input tensors; ``shapes`` are their shapes, batch axis included.
        outputs: the shapes of the outputs, by the catalogue.
        weights: the layer's own, float32, by short name (``kernel``).
        training: the layer is called with ``training=True``.
        integers: the inputs that hold integers, by position.
    """

    writer: GraphWriter
    op: str
    layer: str
    params: Params
    inputs: tuple[str, ...]
    shapes: tuple[Sizes, ...]
    outputs: tuple[Sizes, ...]
    weights: Arrays
    training: bool = False
    integers: frozenset[int] = frozenset()

    @property
    def x(self) -> str:
        return self.inputs[0]

    @property
    def shape(self) -> Sizes:
        """Of the first output."""
        return self.outputs[0]

    @property
    def rank(self) -> int:
        return len(self.shapes[0])

    def emit(self, op: str, *inputs: str, **attributes: protobuf.Attribute) -> str:
        """Append one operator; its output is named after the layer and the operator."""
        return self.writer.emit(op, inputs, f"{self.layer}_{op}", **attributes)

    def weight(self, name: str, turn: Callable[[Array], Array] = lambda array: array) -> str:
        """A weight of the layer as a constant, turned into ONNX' layout."""
        return self.writer.weight(f"{self.layer}/{name}", turn(self.weights[name]))

    def numbers(self, values: object) -> str:
        """A float32 constant."""
        with np.errstate(over="ignore"):
            array = np.asarray(values, dtype=np.float32)
        return self.writer.constant(f"{self.layer}_numbers", array)

    def sizes(self, values: Sequence[int]) -> str:
        """An int64 constant: shapes, paddings, axes."""
        return self.writer.constant(f"{self.layer}_sizes", np.asarray(values, dtype=np.int64))

    def transpose(self, tensor: str, permutation: Sequence[int]) -> str:
        if list(permutation) == list(range(len(permutation))):
            return tensor
        return self.emit("Transpose", tensor, perm=tuple(permutation))

    def reshape(self, tensor: str, shape: Sizes) -> str:
        # A 0 in the shape means "as in the input" unless told otherwise; for us it is an empty axis.
        return self.emit("Reshape", tensor, self.sizes(shape), allowzero=int(0 in shape))

    def inside(
        self, spec: LayerSpec, params: Params, name: str, inputs: Sequence[str], shapes: Sequence[Sizes]
    ) -> OnnxCall:
        """The call of a layer that this one wraps, called ``name``, which its weights' names begin with."""
        prefix = f"{name}/"
        return replace(
            self,
            op=spec.name,
            layer=f"{self.layer}/{name}",
            params=params,
            inputs=tuple(inputs),
            shapes=tuple(shapes),
            outputs=static(spec.shape(params, shapes)),
            weights={key.removeprefix(prefix): w for key, w in self.weights.items() if key.startswith(prefix)},
        )


#: Writes the operators of one call and names the tensors with the results.
Lowering = Callable[[OnnxCall], str | Sequence[str]]


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(axis) for axis in np.argsort(permutation))
