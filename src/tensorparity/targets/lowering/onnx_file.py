"""A user's ONNX file as what the runtimes take: as it is, with every node's output shown, or node by node.

The subject is that of the other lowering to ONNX, with more to say about instances (see ``worker``'s
``onnx_base``): not every file has a batch axis, and not every one leaves it open.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name
from ...core.case import Case, ModelFile
from ...core.errors import ModelRefusedError
from ...core.jsontext import Json
from ...core.onnx.files import read_verified
from ...core.onnx.layers import RANDOM, Feeding, Layer, OnnxLayers
from ...core.onnx.model import OnnxModel, OnnxNode, parse_model
from ...core.onnx.wire import Buffer, delimited_field, messages, read_fields, text
from ...core.procedure import Goal
from . import protobuf
from .onnx import check_file_procedure
from .refusal import Refusal

_MODEL_GRAPH, _GRAPH_NODE, _GRAPH_NAME, _GRAPH_INPUT, _GRAPH_OUTPUT = 7, 1, 2, 11, 12
_NODE_INPUT, _NODE_OUTPUT = 1, 2


@dataclass(frozen=True)
class _Opened:
    """A file that was read: the model with all its data inside, and its layers."""

    model: OnnxModel
    layers: OnnxLayers


def lower_onnx_file(case: Case) -> tuple[Json, dict[str, Array]] | str:
    """The subject and arrays for an ONNX runtime, or the reason why there are none."""
    try:
        if not isinstance(case.subject, ModelFile) or case.subject.format != "onnx":
            raise Refusal("expected an ONNX file")
        check_file_procedure(case)
        opened = _open(case.subject)
        if case.procedure.goal is Goal.REPLAY:
            return _Replay(opened, case.inputs).lower(case.procedure.nodes)
        return _forward(opened, case)
    except (Refusal, ModelRefusedError) as reason:
        return str(reason)


@functools.lru_cache(maxsize=1)
def _open(file: ModelFile) -> _Opened:
    """Kept, because one file is asked for many times in a row."""
    model = parse_model(read_verified(file).data)
    return _Opened(model, OnnxLayers(model.graph))


def _subject(instances: int, rows: int, inputs: list[Json], outputs: list[Json]) -> Json:
    return {"kind": "onnx", "inputs": inputs, "outputs": outputs, "instances": instances, "rows": rows}


def model_array(model: Buffer) -> Array:
    """A serialized model as it travels."""
    return np.frombuffer(model, dtype=np.uint8)


# Forward


def _forward(opened: _Opened, case: Case) -> tuple[Json, dict[str, Array]]:
    layers, trace = opened.layers, case.procedure.trace
    missing = [spec.name for spec in layers.specs() if spec.name not in case.inputs]
    if missing:
        raise Refusal(f"input {missing[0]!r} is missing")
    arrays = {f"inputs:{spec.name}": case.inputs[spec.name] for spec in layers.specs()}
    instances = _instances(case.inputs)
    items = layers.feeding is Feeding.ITEMS
    inputs: list[Json] = [_given(spec.name, spec.name, _cut(layers, True)) for spec in layers.specs()]
    outputs: list[Json] = [
        _shown(value.name, "outputs", value.name, "items" if items else "rows") for value in layers.outputs
    ]
    model: Buffer = opened.model.data
    if trace:
        model = with_outputs(opened.model, [tensor for layer in layers.layers for tensor in layer.outputs])
        for layer in layers.layers:
            outputs += _shown_layer(layer, layer.outputs, layers.feeding)
    rows = {Feeding.ROWS: 1, Feeding.ITEMS: 1}.get(layers.feeding, 0)
    rows = rows or (case.procedure.batch_size if not trace else None) or max(1, instances)
    return _subject(instances, rows, inputs, outputs), {**arrays, "weights:model": model_array(model)}


def _given(tensor: str, name: str, cut: str) -> Json:
    return {"tensor": tensor, "input": name, "cut": cut}


def _shown(tensor: str, group: str, name: str, join: str) -> Json:
    return {"tensor": tensor, "group": group, "name": name, "join": join}


def _shown_layer(layer: Layer, tensors: Iterable[str], feeding: Feeding) -> list[Json]:
    """What a node gives; where every instance has a run of its own, one value per run."""
    join = "whole" if feeding is Feeding.BATCH else "items"
    return [_shown(tensor, "nodes", layer.output_key(index), join) for index, tensor in enumerate(tensors)]


def _cut(layers: OnnxLayers, of_graph: bool) -> str:
    """How an array becomes a tensor: inputs of the file keep a batch axis, what was traced has none on top."""
    if layers.feeding is Feeding.BATCH:
        return "rows" if of_graph else "whole"
    return "rows" if of_graph and layers.feeding is Feeding.ROWS else "items"


def _instances(inputs: Arrays) -> int:
    counts = {len(array) if array.ndim else 0 for array in inputs.values()}
    if len(counts) > 1 or 0 in counts:
        raise Refusal(f"expected as many instances in every input, at least one; received {sorted(counts)}")
    return counts.pop() if counts else 1


def with_outputs(model: OnnxModel, tensors: Sequence[str]) -> bytes:
    """The model with more outputs; types and shapes are left to the runtime."""
    there = {value.name for value in model.graph.outputs}
    more = [protobuf.untyped_value(tensor) for tensor in dict.fromkeys(tensors) if tensor not in there]
    written: list[Buffer] = []
    for field in read_fields(model.data):
        if field.number == _MODEL_GRAPH:
            written.append(delimited_field(_MODEL_GRAPH, b"".join((field.bytes, messages(_GRAPH_OUTPUT, more)))))
        else:
            written.append(field.raw)
    return b"".join(written)


# Replay


class _Replay:
    """Nodes side by side in one model, none connected to another.

    A node's own inputs and outputs get names of this model's; what its subgraphs capture keeps its name, for
    they speak of it by that name.
    """

    def __init__(self, opened: _Opened, inputs: Arrays) -> None:
        self._opened = opened
        self._layers = opened.layers
        self._given = inputs
        self._arrays: dict[str, Array] = {}
        self._fixed: dict[str, Buffer] = {}
        self._nodes: list[bytes] = []
        self._inputs: dict[str, bytes] = {}
        self._entries: list[Json] = []
        self._outputs: list[Json] = []
        self._taken = set(_all_names(opened))
        self._fed = {value.name for value in opened.layers.source.inputs}

    def lower(self, keys: Sequence[str]) -> tuple[Json, dict[str, Array]]:
        """The model of all nodes that can be run alone.

        Raises:
            Refusal: if none can, or a node is not there.
        """
        by_key = {layer.key: layer for layer in self._layers.layers}
        reason = "the replay names no nodes"
        for key in keys:
            if key not in by_key:
                raise Refusal(f"the replay names node {key!r}, which the model does not have")
            if by_key[key].node.op in RANDOM:
                reason = f"{key} draws random numbers, which no two runtimes draw alike"
            else:
                self._add(by_key[key])
        if not self._nodes:
            raise Refusal(reason)
        whole = self._layers.feeding is Feeding.BATCH
        instances = 1 if whole else _instances(self._arrays)
        arrays = {f"inputs:{name}": array for name, array in self._arrays.items()}
        subject = _subject(instances, 1, self._entries, self._outputs)
        return subject, {**arrays, "weights:model": model_array(self._model())}

    def _add(self, layer: Layer) -> None:
        node = layer.node
        renamed: dict[str, str] = {}
        for index, tensor in enumerate(layer.given):
            if tensor not in renamed:
                renamed[tensor] = self._feed(f"{layer.key}/{index}", tensor, node)
        for tensor in (*node.inputs, *node.captured):
            self._fix(tensor)
        inputs = [text(_NODE_INPUT, renamed.get(name, name)) for name in node.inputs]
        outputs = [self._name("output") if name else "" for name in node.outputs]
        rest = [field.raw for field in read_fields(node.raw) if field.number not in (_NODE_INPUT, _NODE_OUTPUT)]
        self._nodes.append(b"".join((*inputs, *(text(_NODE_OUTPUT, name) for name in outputs), *rest)))
        self._outputs += _shown_layer(layer, filter(None, outputs), self._layers.feeding)

    def _feed(self, name: str, tensor: str, node: OnnxNode) -> str:
        """Give one tensor to the model; return what it is called there."""
        keep_name = tensor in node.captured
        if name not in self._given:
            raise Refusal(f"input {name!r} of the replay is missing")
        if keep_name and tensor in self._inputs:
            return tensor
        array = self._given[name]
        cut = "whole" if self._layers.feeding is Feeding.BATCH else _cut(self._layers, tensor in self._fed)
        if cut != "whole" and array.ndim == 0:
            raise Refusal(f"input {name!r} has no axis for the instances")
        called = tensor if keep_name else self._name("input")
        shape: Sequence[int | None]
        shape = {"whole": array.shape, "items": array.shape[1:], "rows": (1, *array.shape[1:])}[cut]
        if node.nested:  # the branch that is not taken need not fit these sizes
            shape = [None] * len(shape)
        self._inputs[called] = protobuf.value_info(called, dtype_name(array), shape)
        self._entries.append(_given(called, name, cut))
        self._arrays[name] = array
        return called

    def _fix(self, tensor: str) -> None:
        """A weight or constant that a node uses: as the file has it, once."""
        if tensor in self._layers.source.initializers:
            self._fixed[tensor] = self._layers.source.initializers[tensor]
        elif tensor in self._layers.constants:
            self._fixed[tensor] = delimited_field(_GRAPH_NODE, self._layers.constants[tensor].raw)

    def _name(self, hint: str) -> str:
        count = len(self._taken)
        while (name := f"tensorparity_{hint}_{count}") in self._taken:
            count += 1
        self._taken.add(name)
        return name

    def _model(self) -> bytes:
        graph = (
            *self._fixed.values(),
            messages(_GRAPH_NODE, self._nodes),
            text(_GRAPH_NAME, "replay"),
            messages(_GRAPH_INPUT, self._inputs.values()),
            messages(_GRAPH_OUTPUT, (protobuf.untyped_value(item["tensor"]) for item in self._outputs)),
        )
        return self._opened.model.framed(b"".join(graph))


def _all_names(opened: _Opened) -> Iterable[str]:
    """Names that tensors of the main graph have; those inside of subgraphs are theirs."""
    graph = opened.layers.source
    yield from graph.initializers
    yield from (value.name for value in graph.inputs)
    for node in graph.nodes:
        yield from node.outputs
