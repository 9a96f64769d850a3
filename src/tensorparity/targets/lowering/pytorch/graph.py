"""A LayerGraph as a program of torch's functions.

The program is static: every size is that of the case's own inputs. A replay is the same thing with its nodes
disconnected, each on inputs of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import Array, Arrays, dtype_name, dtype_named, is_floating
from ....core.case import Case
from ....core.graph import InputSpec, LayerGraph, Node, Ref
from ....core.jsontext import Json
from ....core.policies import policy_named
from ....core.procedure import Goal, Mode
from ....operators.catalogue import has_layer, layer
from ....operators.reference.constraints import constraint_on, has_unknown_constraint
from ....operators.reference.penalties import adds_penalties
from ....operators.spec import LayerSpec, ShapeError
from ..masks import mask_read
from ..parameters import undeclared
from ..refusal import Refusal, Sizes, static
from ..states import carried_state
from .layers import LAYERS, REFUSED_LAYERS
from .losses import LossScene, loss_params, write_loss
from .optimizers import write_step
from .program import ProgramWriter, TorchCall, TorchTensor

#: What the worker calls the subject.
KIND = "torch-program"

_GOALS = (Goal.FORWARD, Goal.GRADIENTS, Goal.UPDATE, Goal.REPLAY)
_WITH_LOSS = (Goal.GRADIENTS, Goal.UPDATE)
_DTYPES = ("float16", "bfloat16", "float32", "float64")
#: Layers that take integers; the others are fed floats.
_TAKE_INTEGERS = frozenset({"CategoryEncoding", "Embedding", "Rescaling", "ReversibleEmbedding"})


def lower_to_torch(case: Case) -> tuple[Json, dict[str, Array]] | str:
    """The program as a subject and its arrays, or the reason why the case has no counterpart in torch."""
    try:
        graph = _check(case)
        if case.procedure.population:  # every individual is run alone
            return _lowered(graph, _first(case, 1))[0], case.arrays()
        sizes = _slices(case)
        if not sizes:
            return _lowered(graph, case)
        programs = [_lowered(graph, _first(case, size))[0] for size in sizes]
    except Refusal as reason:
        return str(reason)
    except ShapeError as error:  # a value that is read no earlier than where it is needed
        return f"the catalogue rules it out: {error}"
    return {"kind": KIND, "slices": programs}, case.arrays()


def _lowered(graph: LayerGraph, case: Case) -> tuple[Json, dict[str, Array]]:
    lowered = _TorchLowered(case)
    if case.procedure.goal is Goal.REPLAY:
        lowered.replay(graph)
    else:
        lowered.forward(graph)
    return lowered.subject(), lowered.arrays


def _slices(case: Case) -> tuple[int, ...]:
    """Sizes of the slices that the procedure asks for, the last one's after the others'; empty for none."""
    size, count = case.procedure.batch_size, min((len(array) for array in case.inputs.values()), default=0)
    if size is None or size >= count:
        return ()
    if case.procedure.goal is not Goal.FORWARD or case.procedure.trace:
        raise Refusal("only a plain run forward is cut into slices")
    return (size, count % size) if count % size else (size,)


def _first(case: Case, size: int) -> Case:
    return replace(case, inputs={name: array[:size] for name, array in case.inputs.items()})


def _check(case: Case) -> LayerGraph:
    procedure = case.procedure
    if not isinstance(case.subject, LayerGraph):
        raise Refusal(f"torch runs layer graphs, exported programs and single calls, not {case.subject.kind!r}")
    if procedure.goal not in _GOALS:
        raise Refusal(
            f"layers in torch are run forward, backward, a step further; the goal is {procedure.goal.value!r}"
        )
    if procedure.mode is Mode.COMPILED:
        raise Refusal("compiled torch is a target of its own, torch:compile")
    if procedure.dtype not in (None, *_DTYPES):
        raise Refusal(f"dtype policy {procedure.dtype} has no counterpart in torch here")
    if procedure.goal in _WITH_LOSS and policy_named(procedure.dtype).half:
        raise Refusal(f"losses under {procedure.dtype} are computed in float32, the program in one dtype")
    penalized = next((node.name for node in case.subject.nodes if adds_penalties(node)), None)
    if procedure.goal in _WITH_LOSS and penalized:
        raise Refusal(f"what node {penalized!r} adds to the loss (a regularizer) is not written in torch here")
    for option in ("reload", "data_format"):
        if getattr(procedure, option):
            raise Refusal(f"the procedure's option {option!r} has no counterpart in torch here")
    for key, array in case.inputs.items():
        if array.ndim == 0:
            raise Refusal(f"input {key!r} has no batch axis")
    carried = carried_state(case, case.subject)
    if carried:
        raise Refusal(f"{carried}, which are not carried in torch")
    return case.subject


@dataclass(frozen=True, slots=True)
class _TorchValue:
    """A tensor of the program with its shape; most hold floats."""

    tensor: TorchTensor
    shape: Sizes
    integer: bool = False


class _TorchLowered:
    """The program being written, and the arrays that go with it."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._training = case.procedure.training
        self._writer = ProgramWriter()
        self._traced: list[Json] = []
        self._outputs: list[Json] = []
        self._replays: list[Json] = []
        self._loss: str | None = None
        self.arrays: dict[str, Array] = {
            f"weights:{name}": array for name, array in case.weights.items() if is_floating(dtype_name(array))
        }

    # The whole graph

    def forward(self, graph: LayerGraph) -> None:
        masked = mask_read(graph, training=self._training, loss=self._case.procedure.goal in _WITH_LOSS)
        if masked:
            raise Refusal(f"{masked}, and masks are not carried in torch")
        values: dict[str, list[_TorchValue]] = {spec.name: [self._input(spec)] for spec in graph.inputs}
        for node in graph.nodes:
            found = values[node.name] = self._node(node, [_lookup(values, ref) for ref in node.inputs])
            for index, value in enumerate(found):
                self._traced.append([node.key if index == 0 else f"{node.key}.{index}", value.tensor.name])
        ends = {_output_name(ref): _lookup(values, ref) for ref in graph.outputs}
        self._outputs = [[name, value.tensor.name] for name, value in ends.items()]
        if self._case.procedure.goal in _WITH_LOSS:
            self._loss = self._total_loss(ends).name

    def _input(self, spec: InputSpec) -> _TorchValue:
        if spec.name not in self._case.inputs:
            raise Refusal(f"input {spec.name!r} is missing")
        array = self._case.inputs[spec.name]
        fits = array.ndim == len(spec.shape) + 1 and all(
            wanted in (None, size) for wanted, size in zip(spec.shape, array.shape[1:], strict=True)
        )
        if not fits:
            raise Refusal(f"input {spec.name!r} has shape {array.shape}, which does not fit (batch, *{spec.shape})")
        with np.errstate(over="ignore"):
            return self._array(spec.name, array.astype(dtype_named(spec.dtype), copy=False))

    def _array(self, name: str, array: Array) -> _TorchValue:
        kind = dtype_name(array)
        if not is_floating(kind) and array.dtype.kind not in "iu":
            raise Refusal(f"input {name!r} is of dtype {kind}, which no layer here takes")
        self.arrays[f"inputs:{name}"] = array
        return _TorchValue(self._writer.input(name), array.shape, not is_floating(kind))

    # Nodes

    def _node(self, node: Node, inputs: Sequence[_TorchValue]) -> list[_TorchValue]:
        spec = _spec_of(node, self._training)
        integers = frozenset(index for index, value in enumerate(inputs) if value.integer)
        if integers and node.op not in _TAKE_INTEGERS:
            raise Refusal(f"node {node.name!r} ({node.op}) is given integers")
        params = spec.complete({**node.params, **node.call_params})
        if unsaid := spec.unsaid(params):
            raise Refusal(f"node {node.name!r} ({node.op}): {unsaid}")
        shapes = tuple(value.shape for value in inputs)
        try:
            outputs = static(spec.shape(params, shapes))
            declared = spec.weights(params, shapes)
        except ShapeError as error:
            raise Refusal(f"the catalogue rules it out: node {node.name!r} ({node.op}): {error}") from error
        self._check_weights(node, {name: weight.shape for name, weight in declared.items()})
        self._writer.begin(node.key)
        call = TorchCall(
            writer=self._writer,
            op=node.op,
            path=f"{node.layer}/",
            params=params,
            inputs=tuple(value.tensor for value in inputs),
            shapes=shapes,
            outputs=outputs,
            declared=declared,
            training=self._training,
            trainable=node.params.get("trainable", True) is not False,
            integers=integers,
        )
        found = LAYERS[node.op](call)
        tensors = [found] if isinstance(found, TorchTensor) else list(found)
        integer = node.op == "Discretization" and params["output_mode"] == "int"
        return [_TorchValue(tensor, shape, integer) for tensor, shape in zip(tensors, outputs, strict=True)]

    def _check_weights(self, node: Node, declared: Mapping[str, Sizes]) -> None:
        weights: Arrays = self._case.weights
        for name, shape in declared.items():
            key = f"{node.layer}/{name}"
            if key not in weights:
                raise Refusal(f"weight {key!r} is missing")
            if weights[key].shape != shape:
                raise Refusal(f"weight {key!r} has shape {weights[key].shape} where {shape} is expected")

    # Loss

    def _total_loss(self, ends: Mapping[str, _TorchValue]) -> TorchTensor:
        """Summed over the outputs that have labels."""
        recipe = self._case.procedure.loss
        if recipe is None or not self._case.labels:
            raise Refusal("gradients need a loss and labels")
        params = loss_params(recipe.name, recipe.params)
        self._writer.begin("")
        total: TorchTensor | None = None
        for name, truth in sorted(self._case.labels.items()):
            if name not in ends:
                raise Refusal(f"there are labels for {name!r}, which is no output")
            self.arrays[f"labels:{name}"] = truth
            end = ends[name]
            scene = LossScene(self._writer, params, self._writer.label(name), end.tensor, truth, end.shape)
            value = write_loss(recipe.name, scene)
            total = value if total is None else self._writer.emit("add", total, value)
        assert total is not None
        return total

    # Nodes alone

    def replay(self, graph: LayerGraph) -> None:
        by_key = {node.key: node for node in graph.nodes}
        if not self._case.procedure.nodes:
            raise Refusal("the replay names no nodes")
        for key in self._case.procedure.nodes:
            if key not in by_key:
                raise Refusal(f"the replay names node {key!r}, which the graph does not have")
            node = by_key[key]
            names = [f"{key}/{index}" for index in range(len(node.inputs))]
            for name in names:
                if name not in self._case.inputs:
                    raise Refusal(f"input {name!r} of the replay is missing")
            values = self._node(node, [self._array(name, self._case.inputs[name]) for name in names])
            self._replays.append([key, names, [value.tensor.name for value in values], node.layer])
            if key in self._case.cotangents:
                self.arrays[f"cotangents:{key}"] = self._case.cotangents[key]

    def subject(self) -> Json:
        return {
            "kind": KIND,
            "dtype": self._case.procedure.dtype or "float32",
            "weights": self._writer.weights,
            "nodes": self._writer.nodes,
            "traced": self._traced,
            "outputs": self._outputs,
            "replays": self._replays,
            "loss": self._loss,
            **self._step(),
        }

    def _step(self) -> dict[str, Json]:
        """The optimizer of a step, and the weights that it moves and nothing holds to anything afterwards."""
        if self._case.procedure.goal is not Goal.UPDATE:
            return {}
        assert isinstance(self._case.subject, LayerGraph)
        moved = [name for name, trainable in self._writer.weights.items() if trainable]
        held = {name for node in self._case.subject.nodes for name in moved if _is_held(node, name)}
        return {"optimizer": write_step(self._case.procedure.optimizer), "moved": sorted({*moved} - held)}


def _spec_of(node: Node, training: bool) -> LayerSpec:
    if node.op not in LAYERS or not has_layer(node.op):
        reason = f": {REFUSED_LAYERS[node.op]}" if node.op in REFUSED_LAYERS else ""
        raise Refusal(f"layer {node.op} of node {node.name!r} has no counterpart in torch here{reason}")
    unknown = undeclared(node, training)
    if unknown:
        raise Refusal(f"parameter {unknown} of node {node.name!r} ({node.op}) has no counterpart in torch here")
    spec = layer(node.op)
    names = {parameter.name for parameter in spec.call_parameters}
    for name in node.call_params:
        if name not in names:
            raise Refusal(f"node {node.name!r} is called with {name}, which has no counterpart in torch here")
    least, most = spec.arity
    if len(node.inputs) < least or (most is not None and len(node.inputs) > most):
        raise Refusal(f"node {node.name!r} ({node.op}) has {len(node.inputs)} inputs")
    return spec


def _is_held(node: Node, weight: str) -> bool:
    """Whether a layer holds a weight to something after a step, which is Keras' own."""
    layer_name, _, name = weight.partition("/")
    return layer_name == node.layer and (has_unknown_constraint(node) or constraint_on(node, name) is not None)


def _lookup(values: Mapping[str, Sequence[_TorchValue]], ref: Ref) -> _TorchValue:
    found = values[ref.node]
    if ref.index >= len(found):
        raise Refusal(f"{ref.node!r} has {len(found)} outputs; output {ref.index} does not exist")
    return found[ref.index]


def _output_name(ref: Ref) -> str:
    return ref.node if ref.index == 0 else f"{ref.node}.{ref.index}"
