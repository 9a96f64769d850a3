"""A model made ready for a search: its logits are an output, and what it reads are numbers that can be moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, Arrays, is_floating
from ...core.case import Case, ModelFile
from ...core.errors import UsageError
from ...core.graph import InputSpec, LayerGraph, Node, Ref, output_name
from ...operators.catalogue import layer
from ...operators.reference.evaluate import infer_shapes

#: Activations that turn logits into probabilities, and the layers that are nothing else.
_SQUASHING = ("softmax", "sigmoid", "log_softmax")
_SQUASHING_LAYERS = ("Softmax",)
#: What is added to the name of a layer for its activation, once that is a node of its own.
_ACTIVATED = "_activated"


@dataclass(frozen=True)
class ExposedModel:
    """A graph whose outputs are its answer and, after it, the layer that a search looks at.

    Args:
        graph: or a file, whose first output is both.
        original: the same without that, as users have it.
        label: the name of the answer's output; ``watched`` that of the layer; empty of a file.
        batch_size: the only one that a file takes.
    """

    graph: LayerGraph | ModelFile
    original: LayerGraph | ModelFile
    weights: Arrays
    label: str
    watched: str
    batch_size: int | None = None

    def case(self, inputs: Arrays, weights: Arrays | None = None, seed: int = 0) -> Case:
        """The model as users have it on these inputs."""
        return Case(self.original, inputs=inputs, weights=weights or self.weights, seed=seed)


def expose_file(file: ModelFile, batch_size: int | None = None) -> ExposedModel:
    """A file of which nobody can read the layers: its inputs can be moved, and its outputs looked at."""
    return ExposedModel(file, file, {}, "", "", batch_size)


def expose(graph: LayerGraph, weights: Arrays, watched: str = "") -> ExposedModel:
    """The model with the layer that a search looks at as another output.

    Args:
        watched: a layer by name; by default the logits, which are what the last softmax or sigmoid reads.

    Raises:
        UsageError: if there is no such layer.
    """
    answer = graph.outputs[0]
    if watched:
        named = next((node for node in graph.nodes if watched in (node.name, node.layer)), None)
        if named is None:
            known = ", ".join(node.name for node in graph.nodes)
            raise UsageError(f"{graph.name} has no layer {watched!r}; there are {known}")
        found, seen = graph, Ref(named.name)
    else:
        found, seen = _with_logits(graph, answer)
        answer = found.outputs[0]
    outputs = (answer,) if seen == answer else (answer, seen)
    exposed = replace(found, outputs=outputs)
    return ExposedModel(exposed, graph, weights, output_name(answer), output_name(seen))


def _with_logits(graph: LayerGraph, answer: Ref) -> tuple[LayerGraph, Ref]:
    """The graph with its logits as a tensor of their own, and that tensor."""
    last = next((node for node in graph.nodes if node.name == answer.node), None)
    if last is None:
        return graph, answer
    if last.op in _SQUASHING_LAYERS or (last.op == "Activation" and last.params.get("activation") in _SQUASHING):
        return graph, last.inputs[0]
    if last.op == "Activation" or last.params.get("activation") not in _SQUASHING:
        return graph, answer
    return _activation_apart(graph, last)


def _activation_apart(graph: LayerGraph, last: Node) -> tuple[LayerGraph, Ref]:
    """The activation of the last layer as a layer of its own; its name and weights stay those of the linear part."""
    linear = replace(last, params={**last.params, "activation": None})
    name = last.name + _ACTIVATED
    activated = Node(name, "Activation", (Ref(last.name),), {"activation": last.params["activation"]})
    nodes = tuple(linear if node.layer == last.layer else node for node in graph.nodes)
    return LayerGraph(graph.inputs, (*nodes, activated), (Ref(name),), graph.name), Ref(last.name)


def without_embeddings(graph: LayerGraph, weights: Arrays, inputs: Arrays) -> tuple[LayerGraph, Arrays, Arrays]:
    """The model behind its embeddings: what they give is an input, so that a text has genes that can be moved.

    Embeddings that hide some of their indices stay: nobody but them makes their mask.
    """
    cut = [node for node in graph.nodes if _is_read_alone(graph, node)]
    if not cut:
        return graph, weights, inputs
    shapes = infer_shapes(graph, None)
    specs = tuple(InputSpec(node.name, shapes[node.name][0][1:]) for node in cut)
    names = {node.name for node in cut}
    kept = tuple(node for node in graph.nodes if node.name not in names)
    read = {ref.node for node in kept for ref in node.inputs}
    left = tuple(item for item in graph.inputs if item.name in read)
    embedded = {node.name: _embedded(node, weights, inputs) for node in cut}
    layers = {node.layer for node in cut} - {node.layer for node in kept}
    return (
        LayerGraph((*left, *specs), kept, graph.outputs, f"{graph.name}-embedded"),
        {name: array for name, array in weights.items() if name.partition("/")[0] not in layers},
        {**{item.name: inputs[item.name] for item in left}, **embedded},
    )


def _is_read_alone(graph: LayerGraph, node: Node) -> bool:
    """An embedding of an input that hides nothing, and is no output."""
    spec = layer(node.op)
    fed = node.inputs and any(node.inputs[0].node == item.name for item in graph.inputs)
    answers = any(ref.node == node.name for ref in graph.outputs)
    return node.op == "Embedding" and bool(fed) and not answers and not spec.complete(node.params)["mask_zero"]


def _embedded(node: Node, weights: Arrays, inputs: Arrays) -> Array:
    table: Array = weights[f"{node.layer}/embeddings"]
    return np.asarray(table[inputs[node.inputs[0].node].astype(np.int64)], np.float32)


def movable_inputs(graph: LayerGraph | ModelFile, inputs: Mapping[str, Array]) -> tuple[str, ...]:
    """The inputs whose numbers are genes: floats that no layer takes for an index."""
    if isinstance(graph, ModelFile):
        return tuple(name for name, array in inputs.items() if is_floating(array.dtype.name))
    bounded = {
        ref.node
        for node in graph.nodes
        for index, ref in enumerate(node.inputs)
        if layer(node.op).domain_of(layer(node.op).complete(node.params), index).high is not None
    }
    return tuple(item.name for item in graph.inputs if is_floating(item.dtype) and item.name not in bounded)
