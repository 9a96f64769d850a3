"""An ONNX file that an exporter made of another model: its layers go by that model's names.

The file itself says which of its tensors are which layer's (``LAYERS`` in its metadata, written by the
worker that exported it). A layer may be several nodes of the file; alone they run as a piece of it.
Exporters optimize, and layers get lost in it: then the file names another (``STEPS``), the same before
that, beside it, and tracing and replaying use that one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name
from ...core.case import Case, ModelFile
from ...core.errors import ModelRefusedError
from ...core.feeding import has_batch_axis
from ...core.jsontext import Json
from ...core.onnx.files import read_verified
from ...core.onnx.model import OnnxModel, OnnxNode, Value, parse_model
from ...core.onnx.wire import Buffer, WireError, messages, read_fields, text
from ...core.procedure import Goal
from . import protobuf
from .onnx import check_file_procedure
from .onnx_file import model_array, with_outputs
from .onnx_subgraphs import renamed_node
from .refusal import Refusal

#: Key in the file's metadata: {layer key: {"outputs": [tensor], "inputs": [tensor] or null, "sizes", "shapes"}}.
LAYERS = "tensorparity.layers"
#: Key in the file's metadata: the digest of the file to trace and replay.
STEPS = "tensorparity.steps"

_MODEL_METADATA = 14
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_TENSOR, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 2, 5, 11, 12


@dataclass(frozen=True, slots=True)
class _Layer:
    """The tensors of one layer.

    Args:
        inputs: None where it cannot be cut out.
        sizes: of each input: numbers, and names of sizes that vary.
        shapes: inputs of the whole file of which the layer needs the sizes only.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...] | None
    sizes: tuple[tuple[int | str, ...], ...] = ()
    shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Exported:
    """An exported file that was read.

    Args:
        items: it has no batch axis: every instance is a run of its own.
    """

    model: OnnxModel
    layers: Mapping[str, _Layer]
    producers: Mapping[str, OnnxNode]
    items: bool = False


def lower_exported(case: Case) -> tuple[Json, dict[str, Array]] | str:
    """The subject and arrays for an ONNX runtime, or the reason why there are none."""
    assert isinstance(case.subject, ModelFile)
    try:
        check_file_procedure(case)
        exported = _open(case.subject)
        if case.procedure.trace or case.procedure.goal is Goal.REPLAY:
            exported = _steps(case.subject, exported)
        if case.procedure.goal is Goal.REPLAY:
            return _Pieces(exported, case.inputs).lower(case.procedure.nodes)
        return _forward(exported, case)
    except (Refusal, ModelRefusedError, WireError) as reason:
        return str(reason)


def steps_of(path: Path, sha256: str) -> Path:
    """Where the file to trace lies beside the one that was exported."""
    return path.with_name(f"{sha256[:24]}.steps.onnx")


def _steps(file: ModelFile, exported: _Exported) -> _Exported:
    sha256 = _metadata(exported.model).get(STEPS)
    if sha256 is None:
        return exported
    return _open(ModelFile(str(steps_of(Path(file.path), sha256)), sha256, file.format))


@functools.lru_cache(maxsize=2)
def _open(file: ModelFile) -> _Exported:
    model = parse_model(read_verified(file).data)
    made = {output: node for node in model.graph.nodes for output in node.outputs if output}
    known = {*made, *(value.name for value in model.graph.inputs)}
    layers = {key: layer for key, layer in _layers(model).items() if _exists(layer, known)}
    return _Exported(model, layers, made, not has_batch_axis(_sizes(model.graph.inputs), _sizes(model.graph.outputs)))


def _sizes(values: Sequence[Value]) -> list[tuple[int | None, ...]]:
    known = [value.shape for value in values if value.shape is not None]
    return [tuple(size if isinstance(size, int) else None for size in shape) for shape in known]


def _layers(model: OnnxModel) -> dict[str, _Layer]:
    return {key: _layer(item) for key, item in json.loads(_metadata(model).get(LAYERS, "{}")).items()}


def _metadata(model: OnnxModel) -> dict[str, str]:
    entries = [list(read_fields(field.bytes)) for field in read_fields(model.data) if field.number == _MODEL_METADATA]
    found = [{field.number: field.text for field in entry} for entry in entries]
    return {entry.get(1, ""): entry.get(2, "") for entry in found}


def _layer(item: Json) -> _Layer:
    inputs = item["inputs"]
    return _Layer(
        tuple(item["outputs"]),
        None if inputs is None else tuple(inputs),
        tuple(tuple(sizes) for sizes in item.get("sizes", ())),
        {name: tuple(sizes) for name, sizes in item.get("shapes", {}).items()},
    )


def _exists(layer: _Layer, known: set[str]) -> bool:
    return known >= {*layer.outputs, *(layer.inputs or ())}


def _output_key(key: str, index: int) -> str:
    return key if index == 0 else f"{key}.{index}"


def _subject(inputs: list[Json], outputs: list[Json], instances: int = 1, rows: int = 1) -> Json:
    return {"kind": "onnx", "inputs": inputs, "outputs": outputs, "instances": instances, "rows": rows}


def _forward(exported: _Exported, case: Case) -> tuple[Json, dict[str, Array]]:
    """All instances in one run, unless the user wants smaller batches: the batch is open, or the host keeps to it."""
    graph = exported.model.graph
    names = [value.name for value in graph.inputs]
    missing = [name for name in names if name not in case.inputs]
    if missing:
        raise Refusal(f"input {missing[0]!r} is missing")
    size = 1 if exported.items else None if case.procedure.trace else case.procedure.batch_size
    how = "items" if exported.items else "rows" if size else "whole"
    inputs: list[Json] = [{"tensor": name, "input": name, "cut": how} for name in names]
    outputs: list[Json] = [
        {"tensor": value.name, "group": "outputs", "name": value.name, "join": how} for value in graph.outputs
    ]
    model: Buffer = exported.model.data
    if case.procedure.trace:
        model = with_outputs(exported.model, [name for layer in exported.layers.values() for name in layer.outputs])
        way = "items" if exported.items else "whole"
        outputs += [_shown(key, index, name, way) for key, index, name in _shown_layers(exported.layers)]
    arrays = {f"inputs:{name}": case.inputs[name] for name in names}
    instances = len(case.inputs[names[0]]) if size else 1
    return _subject(inputs, outputs, instances, size or 1), {**arrays, "weights:model": model_array(model)}


def _shown(key: str, index: int, tensor: str, join: str) -> Json:
    return {"tensor": tensor, "group": "nodes", "name": _output_key(key, index), "join": join}


def _shown_layers(layers: Mapping[str, _Layer]) -> list[tuple[str, int, str]]:
    return [(key, index, name) for key, layer in layers.items() for index, name in enumerate(layer.outputs)]


class _Pieces:
    """Layers side by side in one model, each a copy of its nodes under names of its own."""

    def __init__(self, exported: _Exported, inputs: Arrays) -> None:
        self._exported = exported
        self._given = inputs
        self._way = "items" if exported.items else "whole"
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._fixed: dict[str, Buffer] = {}
        self._entries: list[Json] = []
        self._outputs: list[Json] = []

    def lower(self, keys: Sequence[str]) -> tuple[Json, dict[str, Array]]:
        """The model of all layers that can be run alone; the others are left out.

        Raises:
            Refusal: if none can.
        """
        for key in keys:
            layer = self._exported.layers.get(key)
            if layer is not None and layer.inputs is not None:
                self._add(key, layer, layer.inputs)
        if not self._nodes:
            raise Refusal(f"{', '.join(keys)} cannot be cut out of the exported file")
        arrays = {f"inputs:{item['input']}": self._given[item["input"]] for item in self._entries}
        instances = len(next(iter(arrays.values()))) if self._exported.items and arrays else 1
        subject = _subject(self._entries, self._outputs, instances)
        return subject, {**arrays, "weights:model": model_array(self._model())}

    def _add(self, key: str, layer: _Layer, inputs: Sequence[str]) -> None:
        needed = self._nodes_between(layer.outputs, {*inputs, *layer.shapes})
        if not needed:
            return  # nothing to compute
        prefix = f"{key}/"
        renamed = {name: prefix + name for node in needed for name in node.outputs if name}
        for index, name in enumerate(inputs):
            renamed[name] = self._feed(f"{key}/{index}", f"{prefix}{index}/{name}")
        for name, shape in self._shapes(key, layer).items():
            renamed[name] = prefix + name
            self._fixed[prefix + name] = messages(_GRAPH_TENSOR, [protobuf.tensor(prefix + name, shape)])
        for node in needed:
            self._copy(node, renamed, prefix)
        for index, name in enumerate(layer.outputs):
            self._outputs.append(_shown(key, index, renamed[name], self._way))

    def _shapes(self, key: str, layer: _Layer) -> dict[str, Array]:
        """Zeros instead of the file's inputs whose sizes alone matter; the inputs given tell sizes that vary."""
        given = [self._shape(f"{key}/{index}") for index in range(len(layer.sizes))] if layer.shapes else []
        pairs = zip(layer.sizes, given, strict=False)
        known = {name: size for sizes, shape in pairs for name, size in zip(sizes, shape, strict=False)}
        try:
            shapes = {n: [s if isinstance(s, int) else known[s] for s in sizes] for n, sizes in layer.shapes.items()}
        except KeyError as error:
            raise Refusal(f"{key}: its inputs do not tell the size {error}") from error
        return {name: np.zeros(shape, bool) for name, shape in shapes.items()}

    def _nodes_between(self, outputs: Sequence[str], given: set[str]) -> list[OnnxNode]:
        """The nodes between the given tensors and the outputs, in the order of the file."""
        waiting, seen = list(outputs), set(given)
        wanted: set[int] = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            node = self._exported.producers.get(name)
            if node is not None:
                wanted.add(id(node))
                waiting += (*node.inputs, *node.captured)
        return [node for node in self._exported.model.graph.nodes if id(node) in wanted]

    def _feed(self, name: str, tensor: str) -> str:
        if name not in self._given:
            raise Refusal(f"input {name!r} of the replay is missing")
        self._inputs.append(protobuf.value_info(tensor, dtype_name(self._given[name]), self._shape(name)))
        self._entries.append({"tensor": tensor, "input": name, "cut": self._way})
        return tensor

    def _shape(self, name: str) -> tuple[int, ...]:
        """Of one run."""
        shape: tuple[int, ...] = self._given[name].shape
        return shape[1:] if self._exported.items else shape

    def _copy(self, node: OnnxNode, renamed: Mapping[str, str], prefix: str) -> None:
        for name in (*node.inputs, *node.captured):
            if name in self._exported.model.graph.initializers:
                self._fixed[name] = self._exported.model.graph.initializers[name]
        # several layers may need one node of the file: runtimes want names to be unique
        self._nodes.append(renamed_node(node, renamed, f"{prefix}{node.name}"))

    def _model(self) -> bytes:
        graph = (
            *self._fixed.values(),
            messages(_GRAPH_NODE, self._nodes),
            text(_GRAPH_NAME, "replay"),
            messages(_GRAPH_INPUT, self._inputs),
            messages(_GRAPH_OUTPUT, (protobuf.untyped_value(item["tensor"]) for item in self._outputs)),
        )
        return self._exported.model.framed(b"".join(graph))
