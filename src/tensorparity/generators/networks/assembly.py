"""A network under construction: nodes, weights and the true value of every tensor so far.

The values are the catalogue's, in float64. They are why a generated network stays alive: a layer whose output is not
finite or out of all proportion is not taken, and what grew large is scaled down by a power of two, which rounds
nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, is_floating
from ...core.errors import TensorParityError
from ...core.graph import InputSpec, LayerGraph, Node, Ref, leading_to
from ...core.jsontext import Json
from ...core.policies import PLAIN, Policy, cast
from ...operators.catalogue import layer
from ...operators.masks_and_states import MasksAndStates, keeps_states
from ...operators.reference.evaluate import draw_weights, evaluate_node
from ...operators.spec import ShapeError
from .policies import LARGEST_IN_HALF, input_for

#: Activations stay below it, so that ten more layers cannot overflow.
_LARGEST = 1e4
#: Beyond it an output is scaled down to the order of one.
_LOUD = 32.0
#: Of what is scaled down; what is no normal number of float32 is zero to some libraries.
_LEAST_SCALE = 2.0**-120
#: Layers whose output may be of integers, which most layers do not take; Rescaling makes them floats.
_GIVES_INTEGERS = ("CategoryEncoding", "Discretization", "HashedCrossing", "Hashing", "IntegerLookup")


@dataclass(frozen=True, slots=True)
class NetworkTensor:
    """One tensor of the network, with the value it has in float64."""

    ref: Ref
    value: Array
    op: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Without the batch axis."""
        return tuple(self.value.shape[1:])

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


class Assembly:
    """Adds nodes one by one and keeps what they compute.

    Args:
        finite: whether every output has to be.
        policy: the dtype policy of all layers: what flows is of its compute dtype, weights are of its variable dtype.
        quiet: whether what grew large is scaled down.
        empty: whether tensors may have no elements.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        batch: int,
        most_elements: int,
        training: bool,
        *,
        finite: bool = True,
        policy: Policy = PLAIN,
        quiet: bool = True,
        empty: bool = False,
    ) -> None:
        self._rng = rng
        self._policy = policy
        self._quiet = quiet
        self._empty = empty
        self._training = training
        self._finite = finite
        self.batch = batch
        self.most_elements = most_elements
        self.inputs: dict[str, Array] = {}
        self.weights: dict[str, Array] = {}
        self.nodes: list[Node] = []
        self._specs: list[InputSpec] = []
        self._calls: dict[str, int] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._beside = MasksAndStates()

    def input(self, value: Array) -> NetworkTensor:
        name = f"x{len(self._specs)}"
        value = input_for(self._policy, value)
        self._specs.append(InputSpec(name, value.shape[1:], value.dtype.name))
        self.inputs[name] = value
        return NetworkTensor(Ref(name), value, "Input")

    def add(
        self,
        op: str,
        sources: Sequence[NetworkTensor],
        params: Mapping[str, Json],
        call_params: Mapping[str, Json] | None = None,
    ) -> NetworkTensor | None:
        """The node's first output; None, and nothing added, where the layer does not fit or its output is no use."""
        count = sum(node.op == op and node.call == 0 for node in self.nodes)
        name = f"{op.lower()}_{count + 1}"
        node = Node(name, op, tuple(source.ref for source in sources), params, call_params=call_params or {})
        return self._append(node, sources)

    def add_again(self, first: Node, source: NetworkTensor) -> NetworkTensor | None:
        """Another call of an earlier layer, which shares its weights."""
        call = self._calls[first.layer] + 1
        name = f"{first.layer}__{call}"
        node = Node(name, first.op, (source.ref,), first.params, first.layer, call, first.call_params)
        return self._append(node, [source])

    def reusable(self, source: NetworkTensor) -> list[Node]:
        """Earlier layers with weights that take a tensor of this shape."""
        shared = {name.partition("/")[0] for name in self.weights}
        return [
            node
            for node in self.nodes
            if node.call == 0 and node.layer in shared and len(node.inputs) == 1 and not keeps_states(node)
            if self._shapes[node.name] == source.shape and layer(node.op).domain(_complete(node)).low is None
        ]

    def _append(self, node: Node, sources: Sequence[NetworkTensor]) -> NetworkTensor | None:
        values = [source.value for source in sources]
        weights: dict[str, Array] = {}
        try:
            shapes = layer(node.op).shape(_complete(node), [value.shape for value in values])
            if max(math.prod(size or 1 for size in shape[1:]) for shape in shapes) > self.most_elements:
                return None
            if node.call == 0:
                weights = self._draw(node, values)
            with np.errstate(all="warn" if self._finite else "ignore"):
                known = {**self.weights, **weights}
                outputs = evaluate_node(
                    node, values, known, training=self._training, dtype=self._policy.name, beside=self._beside
                )
        except (ShapeError, TensorParityError):
            return None
        except (ValueError, IndexError):
            if all(value.size for value in values):
                raise
            return None  # there is no extreme of nothing
        value = self._as_it_flows(outputs[0].value)
        largest = LARGEST_IN_HALF if self._policy.half else _LARGEST
        if not _useful(value, self._finite, self._empty, largest):
            self._beside.forget(node)
            return None
        self.weights.update(weights)
        self.nodes.append(node)
        self._calls[node.layer] = node.call
        self._shapes[node.name] = sources[0].shape
        if node.op in _GIVES_INTEGERS:
            return self.add("Rescaling", [NetworkTensor(Ref(node.name), value, node.op)], {"scale": 0.5})
        if _leaves_open(node):
            return self.add(
                "Reshape", [NetworkTensor(Ref(node.name), value, node.op)], {"target_shape": list(value.shape[1:])}
            )
        return self._quietened(NetworkTensor(Ref(node.name), value, node.op))

    def _as_it_flows(self, value: Array) -> Array:
        """In half precision rounded as the layer's output is; a float64 array in any case."""
        rounded = cast(value, self._policy.compute) if self._policy.half else value
        return cast(rounded, "float64")

    def _draw(self, node: Node, values: Sequence[Array]) -> dict[str, Array]:
        names = [f"x{index}" for index in range(len(values))]
        specs = tuple(InputSpec(name, value.shape[1:]) for name, value in zip(names, values, strict=True))
        alone = Node(node.name, node.op, tuple(map(Ref, names)), node.params, call_params=node.call_params)
        return draw_weights(LayerGraph(specs, (alone,), (Ref(node.name),)), self._rng, self._policy.variable)

    def last(self, op: str) -> str:
        """The name of the latest node of a layer type."""
        return next(node.name for node in reversed(self.nodes) if node.op == op)

    def _quietened(self, tensor: NetworkTensor) -> NetworkTensor:
        if not self._quiet:
            return tensor
        loudest = float(np.abs(tensor.value).max(initial=0.0))
        if not loudest > _LOUD or not math.isfinite(loudest) or tensor.op in ("Rescaling", "Embedding"):
            return tensor
        scale = max(2.0 ** -math.ceil(math.log2(loudest)), _LEAST_SCALE)
        return self.add("Rescaling", [tensor], {"scale": scale}) or tensor

    def bring(self, tensor: NetworkTensor, shape: tuple[int, ...]) -> NetworkTensor:
        """Reshaping layers (section 3.2.2): to the shape, by cropping or padding where the sizes differ."""
        wanted = math.prod(shape)
        if tensor.shape == shape:
            return tensor
        if tensor.elements != wanted:
            line = self._must("Reshape", tensor, {"target_shape": [tensor.elements, 1]})
            missing = wanted - tensor.elements
            if missing < 0:
                tensor = self._must("Cropping1D", line, {"cropping": [0, -missing]})
            else:
                tensor = self._must("ZeroPadding1D", line, {"padding": [0, missing]})
        return tensor if tensor.shape == shape else self._must("Reshape", tensor, {"target_shape": list(shape)})

    def _must(self, op: str, tensor: NetworkTensor, params: Mapping[str, Json]) -> NetworkTensor:
        added = self.add(op, [tensor], params)
        if added is None:
            raise ShapeError(f"{op} does not fit {tensor.shape} with {dict(params)}")
        return added

    def mark(self) -> tuple[int, int]:
        """A point that ``restore`` can go back to."""
        return len(self._specs), len(self.nodes)

    def restore(self, mark: tuple[int, int]) -> None:
        """Forget what was added since."""
        inputs, nodes = mark
        for spec in self._specs[inputs:]:
            del self.inputs[spec.name]
        for node in reversed(self.nodes[nodes:]):
            self._calls[node.layer] = node.call - 1
            self._beside.forget(node)
            if node.call == 0:
                self._forget_weights(node.layer)
        del self._specs[inputs:], self.nodes[nodes:]

    def _forget_weights(self, name: str) -> None:
        for key in [key for key in self.weights if key.startswith(f"{name}/")]:
            del self.weights[key]

    def graph(self, outputs: Sequence[NetworkTensor], name: str) -> LayerGraph:
        """The finished graph; nodes and inputs that no output depends on are left out, as libraries do."""
        needed = leading_to(self.nodes, [output.ref.node for output in outputs])
        kept = [node for node in self.nodes if node.name in needed]
        for layer_name in {node.layer for node in self.nodes} - {node.layer for node in kept}:
            self._forget_weights(layer_name)
        self.inputs = {name: array for name, array in self.inputs.items() if name in needed}
        specs = tuple(spec for spec in self._specs if spec.name in needed)
        return LayerGraph(specs, tuple(_with_calls_numbered(kept)), tuple(output.ref for output in outputs), name)


def _with_calls_numbered(nodes: Sequence[Node]) -> list[Node]:
    """Calls of a layer numbered without gaps."""
    calls: Counter[str] = Counter()
    found: list[Node] = []
    for node in nodes:
        found.append(replace(node, call=calls[node.layer]))
        calls[node.layer] += 1
    return found


def _complete(node: Node) -> dict[str, Json]:
    return layer(node.op).complete({**node.params, **node.call_params})


def _leaves_open(node: Node) -> bool:
    """Whether Keras was told not to know a size of the output, which layers with weights then refuse."""
    shape = node.params.get("output_shape") if node.op == "EinsumDense" else None
    return isinstance(shape, (list, tuple)) and None in shape


def _useful(value: Array, finite: bool, empty: bool, largest: float) -> bool:
    if not value.size:
        return empty
    if not is_floating(value.dtype.name):
        return value.dtype.kind in "iub"
    return not finite or bool(np.isfinite(value).all()) and float(np.abs(value).max()) <= largest
