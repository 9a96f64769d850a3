"""What travels beside the values of a graph: masks of tensors, and the states that layers keep between calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.arrays import Array
from ..core.graph import LayerGraph, Node, Ref
from .spec import Evaluation, LayerSpec, Mask, Params, ShapeError


class MasksAndStates:
    """Masks by tensor and states by layer, as far as a graph has been evaluated, node by node in its order."""

    def __init__(self) -> None:
        self._masks: dict[Ref, Array] = {}
        self._states: dict[str, tuple[Evaluation, ...]] = {}
        self._lost: set[str] = set()
        self._called: set[str] = set()

    def lose(self, node: Node) -> None:
        """The node was not evaluated: what it hands on beside its values, if anything, is not known."""
        if self.concerns(node) or self.is_lost(node):
            self._lost |= {node.name, node.layer}

    def is_lost(self, node: Node) -> bool:
        return node.layer in self._lost or any(ref.node in self._lost for ref in node.inputs)

    def forget(self, node: Node) -> None:
        """As if the node, the last call of its layer, had not been evaluated."""
        for ref in [ref for ref in self._masks if ref.node == node.name]:
            del self._masks[ref]
        if keeps_states(node):
            self._states.pop(node.layer, None)
            self._called.discard(node.layer)

    def put(self, ref: Ref, mask: Array) -> None:
        """Give a tensor a mask that no node made: an input's own."""
        self._masks[ref] = mask

    def mask_of(self, ref: Ref) -> Mask:
        return self._masks.get(ref)

    def masks_into(self, node: Node) -> list[Mask]:
        return [self.mask_of(ref) for ref in node.inputs]

    def concerns(self, node: Node) -> bool:
        """Whether the node has to do with masks or states at all."""
        masks = self.masks_into(node)
        makes = node.op == "Masking" or bool(node.params.get("mask_zero"))
        return makes or keeps_states(node) or any(mask is not None for mask in masks)

    def copy(self) -> MasksAndStates:
        same = self.next_batch()
        same._masks, same._lost, same._called = dict(self._masks), set(self._lost), set(self._called)
        return same

    def next_batch(self) -> MasksAndStates:
        """The same layers, on other values: states stay, masks do not."""
        following = MasksAndStates()
        following._states = dict(self._states)
        return following

    def evaluate(
        self,
        node: Node,
        spec: LayerSpec,
        params: Params,
        inputs: Sequence[Array],
        weights: Mapping[str, Array],
        training: bool,
    ) -> tuple[Evaluation, ...]:
        """A node's outputs; its masks and states are remembered.

        Raises:
            ShapeError: if a mask does not fit, or is one of which the documentation does not say what it does.
        """
        masks = self.masks_into(node)
        found = self._outputs(node, spec, params, inputs, weights, masks, training)
        for index, mask in enumerate(spec.masks(params, inputs, masks)):
            if mask is not None:
                self._masks[Ref(node.name, index)] = mask
        return found

    def _outputs(
        self,
        node: Node,
        spec: LayerSpec,
        params: Params,
        inputs: Sequence[Array],
        weights: Mapping[str, Array],
        masks: Sequence[Mask],
        training: bool,
    ) -> tuple[Evaluation, ...]:
        if spec.carried is not None and keeps_states(node):
            if node.layer in self._called:
                raise ShapeError(f"In which order the calls of the stateful {node.layer!r} are run is nowhere said")
            self._called.add(node.layer)
            found, after = spec.carried(params, inputs, weights, masks, self._states.get(node.layer, ()))
            self._states[node.layer] = after
            return found
        if spec.masked is not None and any(mask is not None for mask in masks):
            return spec.masked(params, inputs, weights, masks, training)
        reference = spec.training or spec.reference if training else spec.reference
        return reference(params, inputs, weights)


def keeps_states(node: Node) -> bool:
    """Whether the next call of the layer starts from what this one leaves."""
    inner = node.params.get("layer")
    config = inner.get("config") if isinstance(inner, dict) else None
    return bool(node.params.get("stateful") or (isinstance(config, dict) and config.get("stateful")))


def is_stateful(graph: LayerGraph) -> bool:
    return any(keeps_states(node) for node in graph.nodes)


def layer_of(graph: LayerGraph) -> Node | None:
    """The one layer of a graph, behind nothing but what gives its inputs their masks; None of other graphs."""
    given = {item.name for item in graph.inputs}
    for node in graph.nodes[:-1]:
        if not all(ref.node in given for ref in node.inputs) or not _only_masks(node):
            return None
        given.add(node.name)
    return graph.nodes[-1] if all(ref.node in given for ref in graph.nodes[-1].inputs) else None


def _only_masks(node: Node) -> bool:
    inner = node.params.get("layer")
    reshapes = isinstance(inner, dict) and inner.get("class_name") == "Reshape"
    return node.op == "Masking" or (node.op == "TimeDistributed" and reshapes)
