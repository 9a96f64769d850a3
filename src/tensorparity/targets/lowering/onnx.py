"""A LayerGraph as an ONNX model, emitted directly: an implementation that owes nothing to Keras.

The model is static: every size is that of the case's own inputs, so paddings and shapes are constants.
A replay is the same thing with its nodes disconnected, each on graph inputs of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name, dtype_named
from ...core.case import Case
from ...core.graph import InputSpec, LayerGraph, Node, Ref
from ...core.jsontext import Json
from ...core.procedure import Goal, Mode
from ...operators.catalogue import has_layer, layer
from ...operators.reference.evaluate import infer_shapes
from ...operators.spec import ShapeError
from .masks import mask_read
from .onnx_graph import GraphWriter, OnnxCall
from .onnx_layers import LAYERS, REFUSED_LAYERS, check_training
from .parameters import undeclared
from .refusal import Refusal, Sizes, static
from .states import carried_state

#: Layers compute in float32 by their default policy and cast these inputs to it; integers they leave alone.
_CAST_BY_LAYERS = frozenset({"float16", "bfloat16", "float32", "float64"})

#: Layers that take integers, and the dtypes of those; the others are fed floats.
_TAKE_INTEGERS = frozenset({"CategoryEncoding", "Embedding", "Rescaling", "ReversibleEmbedding"})
_INTEGERS = frozenset({"int32", "int64"})


def lower_to_onnx(case: Case) -> tuple[Json, dict[str, Array]] | str:
    """The ONNX subject and its arrays, or the reason why the case cannot be said in ONNX.

    The subject lists which input array feeds which tensor, and under which name each output is reported;
    the arrays are the inputs in float32 and, as ``weights:model``, the bytes of the model.
    """
    try:
        graph = _check(case)
        lowered = _OnnxLowered(case)
        if case.procedure.goal is Goal.REPLAY:
            _replay(graph, case, lowered)
        else:
            _forward(graph, case, lowered)
    except Refusal as reason:
        return str(reason)
    except ShapeError as error:  # a value that is read no earlier than where it is needed
        return f"the catalogue rules it out: {error}"
    return lowered.result(graph.name)


# What is refused before anything is written


def _check(case: Case) -> LayerGraph:
    if not isinstance(case.subject, LayerGraph):
        raise Refusal(f"only layer graphs are lowered to ONNX, not subjects of kind {case.subject.kind!r}")
    check_procedure(case)
    _check_inputs(case)
    unsaid = carried_state(case, case.subject)
    if case.procedure.goal is not Goal.REPLAY:
        unsaid = unsaid or mask_read(case.subject, training=case.procedure.training, loss=False)
    if unsaid:
        raise Refusal(f"{unsaid}, which ONNX has no way to say")
    return case.subject


def _check_inputs(case: Case) -> None:
    slice_size = case.procedure.batch_size
    for key, array in case.inputs.items():
        if array.dtype.kind not in "fiub" and dtype_name(array) not in _CAST_BY_LAYERS:
            raise Refusal(f"input {key!r} is of dtype {dtype_name(array)}, which is not lowered to ONNX")
        if array.ndim == 0:
            raise Refusal(f"input {key!r} has no batch axis")
        if slice_size is not None and slice_size < array.shape[0]:
            raise Refusal(f"a static ONNX graph takes the whole batch, not slices of {slice_size}")


def check_file_procedure(case: Case) -> None:
    """Refuse what no ONNX file can be asked for: how it is in training it does not say.

    Raises:
        Refusal: naming it.
    """
    check_procedure(case)
    if case.procedure.training:
        raise Refusal("ONNX files are run in inference mode only, not with training=True")


def check_procedure(case: Case) -> None:
    """Refuse what no ONNX model can be asked for.

    Raises:
        Refusal: naming it.
    """
    procedure = case.procedure
    if procedure.goal not in (Goal.FORWARD, Goal.REPLAY):
        raise Refusal(f"ONNX graphs are run forward only; the goal is {procedure.goal.value!r}")
    if procedure.mode is not Mode.USER:
        raise Refusal(f"ONNX graphs are run in one mode only, so there is no {procedure.mode.value} one to ask for")
    if procedure.dtype not in (None, "float32"):
        raise Refusal(f"the lowering to ONNX is of float32 graphs; the procedure asks for dtype {procedure.dtype}")
    for option in ("reload", "data_format"):
        if getattr(procedure, option):
            raise Refusal(f"the procedure's option {option!r} is not lowered to ONNX")
    if procedure.goal is Goal.REPLAY and case.cotangents:
        raise Refusal("replaying the backward pass needs gradients, which ONNX graphs do not compute")


def _check_node(node: Node, training: bool) -> None:
    if node.op not in LAYERS or not has_layer(node.op):
        reason = f": {REFUSED_LAYERS[node.op]}" if node.op in REFUSED_LAYERS else ""
        raise Refusal(f"layer {node.op} of node {node.name!r} has no ONNX counterpart here{reason}")
    declared = {parameter.name for parameter in layer(node.op).call_parameters}
    others = sorted(set(node.call_params) - declared)
    if others:
        raise Refusal(f"node {node.name!r} is called with arguments that are not lowered to ONNX: {', '.join(others)}")
    unknown = undeclared(node, training)
    if unknown:
        raise Refusal(f"parameter {unknown} of node {node.name!r} ({node.op}) is not lowered to ONNX")


# The graph


@dataclass(frozen=True, slots=True)
class _OnnxValue:
    """A tensor of the ONNX graph."""

    tensor: str
    shape: Sizes
    dtype: str = "float32"


class _OnnxLowered:
    """The model being written, and what the worker is told about its inputs and outputs."""

    def __init__(self, case: Case) -> None:
        self._weights: Arrays = case.weights
        self._training = case.procedure.training
        self._writer = GraphWriter()
        self._inputs: list[Json] = []
        self._outputs: list[Json] = []
        self._arrays: dict[str, Array] = {}

    def input(self, name: str, array: Array) -> _OnnxValue:
        tensor = self._writer.input(name, array.shape, dtype_name(array))
        self._inputs.append({"tensor": tensor, "input": name})
        self._arrays[f"inputs:{name}"] = array
        return _OnnxValue(tensor, array.shape, dtype_name(array))

    def passed_on(self, value: _OnnxValue) -> _OnnxValue:
        """The same values under another name: a graph's input is not directly its output."""
        return _OnnxValue(self._writer.emit("Identity", [value.tensor], f"{value.tensor}_output"), value.shape)

    def output(self, group: str, name: str, value: _OnnxValue) -> None:
        self._writer.output(value.tensor, value.shape, value.dtype)
        self._outputs.append({"tensor": value.tensor, "group": group, "name": name})

    def node(self, node: Node, inputs: Sequence[_OnnxValue]) -> list[_OnnxValue]:
        """Write one node.

        Raises:
            Refusal: if the layer, its parameters, shapes or weights cannot be lowered.
        """
        _check_node(node, self._training)
        integers = frozenset(index for index, value in enumerate(inputs) if value.dtype != "float32")
        if node.op not in _TAKE_INTEGERS and integers:
            raise Refusal(f"node {node.name!r} ({node.op}) is given integers, which are not lowered to ONNX")
        spec = layer(node.op)
        shapes = tuple(value.shape for value in inputs)
        outputs = _output_shapes(node, shapes)
        params = spec.complete({**node.params, **node.call_params})
        if unsaid := spec.unsaid(params):
            raise Refusal(f"node {node.name!r} ({node.op}): {unsaid}")
        call = OnnxCall(
            writer=self._writer,
            op=node.op,
            layer=node.layer,
            params=params,
            inputs=tuple(value.tensor for value in inputs),
            shapes=shapes,
            outputs=outputs,
            weights={
                name: self._weight(f"{node.layer}/{name}", declared.shape)
                for name, declared in spec.weights(params, shapes).items()
            },
            training=self._training,
            integers=integers,
        )
        check_training(call)
        found = LAYERS[node.op](call)
        tensors = [found] if isinstance(found, str) else found
        dtype = "int32" if node.op == "Discretization" and params["output_mode"] == "int" else "float32"
        return [_OnnxValue(tensor, shape, dtype) for tensor, shape in zip(tensors, outputs, strict=True)]

    def _weight(self, key: str, shape: Sizes) -> Array:
        if key not in self._weights:
            raise Refusal(f"weight {key!r} is missing")
        array = self._weights[key]
        if array.shape != shape:
            raise Refusal(f"weight {key!r} has shape {array.shape} where {shape} is expected")
        return _as_float32(array)

    def result(self, name: str) -> tuple[Json, dict[str, Array]]:
        model = np.frombuffer(self._writer.model(name), dtype=np.uint8)
        subject = {"kind": "onnx", "inputs": self._inputs, "outputs": self._outputs}
        return subject, {**self._arrays, "weights:model": model}


def _output_shapes(node: Node, shapes: Sequence[Sizes]) -> tuple[Sizes, ...]:
    """By the catalogue, which also checks parameters and number of inputs."""
    batches = {shape[0] for shape in shapes}
    if len(batches) > 1:
        raise Refusal(f"the inputs of node {node.name!r} differ in their batch sizes: {sorted(batches)}")
    names = [f"{node.name}/{index}" for index in range(len(shapes))]
    specs = tuple(InputSpec(name, shape[1:]) for name, shape in zip(names, shapes, strict=True))
    alone = replace(node, inputs=tuple(Ref(name) for name in names))
    try:
        found = infer_shapes(LayerGraph(specs, (alone,), (Ref(node.name),)), batches.pop() if batches else None)
    except ShapeError as error:
        raise Refusal(f"the catalogue rules it out: {error}") from error
    return static(found[node.name])


def _as_float32(array: Array) -> Array:
    with np.errstate(over="ignore"):  # an infinity is what the library under test makes of it, too
        return array.astype(np.float32, copy=False)


# Forward


def _forward(graph: LayerGraph, case: Case, lowered: _OnnxLowered) -> None:
    values = {spec.name: [lowered.input(spec.name, _input_array(spec, case.inputs, graph))] for spec in graph.inputs}
    for node in graph.nodes:
        values[node.name] = lowered.node(node, [_lookup(values, ref) for ref in node.inputs])
    for ref in graph.outputs:
        value = _lookup(values, ref)
        spec = next((item for item in graph.inputs if item.name == ref.node), None)
        if spec is not None:
            value = _passed_on(spec, value, lowered)
        lowered.output("outputs", _numbered(ref.node, ref.index), value)
    if case.procedure.trace:
        for node in graph.nodes:
            for index, value in enumerate(values[node.name]):
                lowered.output("nodes", _numbered(node.key, index), value)


def _numbered(name: str, index: int) -> str:
    return name if index == 0 else f"{name}.{index}"


def _lookup(values: Mapping[str, Sequence[_OnnxValue]], ref: Ref) -> _OnnxValue:
    found = values[ref.node]
    if ref.index >= len(found):
        raise Refusal(f"{ref.node!r} has {len(found)} outputs; output {ref.index} does not exist")
    return found[ref.index]


def _passed_on(spec: InputSpec, value: _OnnxValue, lowered: _OnnxLowered) -> _OnnxValue:
    if spec.dtype != "float32":
        raise Refusal(f"input {spec.name!r} is an output of the graph and of dtype {spec.dtype}, not float32")
    return lowered.passed_on(value)


def _input_array(spec: InputSpec, inputs: Arrays, graph: LayerGraph) -> Array:
    """The input as the first layer sees it: rounded to the declared dtype, then cast unless it takes integers."""
    takers = {node.op for node in graph.nodes for ref in node.inputs if ref.node == spec.name}
    integers = spec.dtype in _INTEGERS and takers <= _TAKE_INTEGERS
    if spec.dtype not in _CAST_BY_LAYERS and not integers:
        raise Refusal(f"input {spec.name!r} is of dtype {spec.dtype}, which is not lowered to ONNX")
    if spec.name not in inputs:
        raise Refusal(f"input {spec.name!r} is missing")
    array = inputs[spec.name]
    fits = array.ndim == len(spec.shape) + 1 and all(
        wanted in (None, size) for wanted, size in zip(spec.shape, array.shape[1:], strict=True)
    )
    if not fits:
        raise Refusal(f"input {spec.name!r} has shape {array.shape}, which does not fit (batch, *{spec.shape})")
    with np.errstate(over="ignore"):
        rounded = array.astype(dtype_named(spec.dtype), copy=False)
    return rounded if integers else _as_float32(rounded)


# Replay


def _replay(graph: LayerGraph, case: Case, lowered: _OnnxLowered) -> None:
    by_key = {node.key: node for node in graph.nodes}
    if not case.procedure.nodes:
        raise Refusal("the replay names no nodes")
    for key in case.procedure.nodes:
        if key not in by_key:
            raise Refusal(f"the replay names node {key!r}, which the graph does not have")
        node = by_key[key]
        names = [f"{key}/{index}" for index in range(len(node.inputs))]
        values = [lowered.input(name, _replay_array(name, case.inputs, node)) for name in names]
        for index, value in enumerate(lowered.node(node, values)):
            lowered.output("nodes", _numbered(key, index), value)


def _replay_array(name: str, inputs: Arrays, node: Node) -> Array:
    if name not in inputs:
        raise Refusal(f"input {name!r} of the replay is missing")
    array = inputs[name]
    if dtype_name(array) in _INTEGERS and node.op in _TAKE_INTEGERS:
        return array
    if dtype_name(array) not in _CAST_BY_LAYERS:
        raise Refusal(f"input {name!r} is of dtype {dtype_name(array)}, which is not lowered to ONNX")
    return _as_float32(array)
