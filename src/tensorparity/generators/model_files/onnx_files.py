"""ONNX files, inspected before any runtime gets them, and without the ``onnx`` package.

An ONNX file is data: it names operators and holds numbers. What it can do wrong is to be broken, to be
huge, and to ask for external data that is none of its business.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...core.case import ModelFile
from ...core.errors import ModelRefusedError, UsageError
from ...core.graph import InputSpec, LayerGraph
from ...core.onnx.files import OnnxContent, read_onnx
from ...core.onnx.layers import RANDOM, Feeding, OnnxLayers
from ...core.onnx.model import DATA_TYPES, OnnxModel, Value, parse_model
from ...core.onnx.wire import WireError
from ..inputs.models import Draw
from .existing import check_is_file
from .onnx_ranges import index_draws
from .torch_files import WHOLE_SETS

#: Numbers in one instance of one input; what is larger is no model but an attack on memory.
_MOST_NUMBERS = 1 << 28


@dataclass(frozen=True, slots=True)
class InspectedOnnx:
    """A file that may be run: its identity, signature and layers, and what was noticed on the way.

    Args:
        draws: how inputs are drawn that are indices of something.
    """

    file: ModelFile
    inputs: tuple[InputSpec, ...]
    graph: LayerGraph
    notes: tuple[str, ...] = ()
    draws: Mapping[str, Draw] = field(default_factory=dict)


def inspect_onnx_file(path: Path) -> InspectedOnnx:
    """Look into an ONNX file without running it.

    Raises:
        ModelRefusedError: missing, no ONNX model, damaged, without inputs or outputs, or asking for data that
            does not lie in its own folder.
    """
    check_is_file(path)
    content = read_onnx(path)
    try:
        model = parse_model(content.data)
    except WireError as error:
        raise ModelRefusedError(f"{path.name} is not an ONNX model, or is truncated: {error}") from error
    layers = _checked_layers(path, model)
    try:
        graph = layers.graph(path.stem)
    except UsageError as error:
        raise ModelRefusedError(f"{path.name} is not a valid ONNX graph: {error}") from error
    return InspectedOnnx(
        file=ModelFile(str(path.parent.resolve() / path.name), content.sha256, "onnx", content.parts),
        inputs=layers.specs(),
        graph=graph,
        notes=tuple(_notes(model, layers, content)),
        draws=index_draws(model.graph),
    )


def _checked_layers(path: Path, model: OnnxModel) -> OnnxLayers:
    layers = OnnxLayers(model.graph)
    if not model.graph.inputs:
        raise ModelRefusedError(f"{path.name} has no inputs, so there is nothing to feed it")
    if not layers.outputs:
        found = ", ".join(f"{value.name} ({value.kind})" for value in model.graph.outputs) or "none"
        raise ModelRefusedError(f"{path.name}: expected outputs that are tensors; received {found}")
    for value in model.graph.inputs:
        _check_input(path, value)
    names = [name for node in model.graph.nodes for name in node.outputs if name]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelRefusedError(f"{path.name} is not a valid ONNX graph: two nodes give {twice!r}")
    return layers


def _check_input(path: Path, value: Value) -> None:
    if value.kind != "tensor":
        raise ModelRefusedError(f"{path.name}: expected inputs that are tensors; {value.name!r} is a {value.kind}")
    if value.dtype not in DATA_TYPES:
        raise ModelRefusedError(
            f"{path.name}: input {value.name!r} is of {value.dtype or 'no type'}, not of a known one"
        )
    if value.shape is None:
        raise ModelRefusedError(
            f"{path.name}: input {value.name!r} does not say its rank; write shapes into the file first"
        )
    sizes = [size for size in value.shape if isinstance(size, int)]
    if math.prod(sizes) > _MOST_NUMBERS:
        raise ModelRefusedError(f"{path.name}: input {value.name!r} has shape {value.shape}, which is too large")


def _notes(model: OnnxModel, layers: OnnxLayers, content: OnnxContent) -> Iterator[str]:
    if layers.feeding is Feeding.ITEMS:
        yield WHOLE_SETS
    elif layers.feeding is Feeding.ROWS:
        yield "the batch size is fixed to 1: one run per instance"
    foreign = sorted({node.domain for node in model.graph.nodes if not node.standard})
    if foreign:
        yield f"operators of {', '.join(foreign)}: not every target has them"
    if model.functions:
        yield f"functions of the file's own: {', '.join(sorted(model.functions))}"
    if content.parts:
        yield f"external data: {', '.join(name for name, _ in content.parts)}"
    left_out = [
        f"{value.name} ({value.dtype or value.kind})" for value in model.graph.outputs if value not in layers.outputs
    ]
    if left_out:
        yield f"not compared, for they are no tensors of numbers: {', '.join(left_out)}"
    drawn = sorted({layer.node.op for layer in layers.layers if layer.node.op in RANDOM})
    if drawn:
        yield f"random operators, whose results no two targets share: {', '.join(drawn)}"
