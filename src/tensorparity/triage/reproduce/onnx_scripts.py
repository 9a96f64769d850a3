"""Scripts for runtimes of ONNX: the graph node by node with ``onnx.helper``, then the runtime itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array, Arrays, dtype_named
from ...core.jsontext import Json
from ...core.onnx.model import DTYPES, OnnxModel, OnnxNode, parse_model
from ...core.onnx.wire import read_fields
from . import literals
from .script import ScriptParts

#: Attributes that are described instead of listed.
_DESCRIBED = re.compile(r"\d+ (values|characters)|tensor of shape")
#: Nothing but letters: a quotation mark in it would reach beyond the string it is replaced in.
_OURS = re.compile(r"tensorparity_\w+", re.ASCII)
#: Fields of a TensorProto.
_DIMS, _TYPE, _RAW = 1, 2, 9


def onnx_parts(
    runtime: str, subject: Json, arrays: Arrays, output: str, dtype: str = "float32", *, watched: bool = False
) -> ScriptParts:
    """The parts of a script for a runtime.

    Args:
        subject: of the lowered case: which input feeds which tensor, which tensor is which output.
        arrays: of the lowered case; the model itself is ``weights:model``.
        output: the name of the output that is looked at, and ``dtype`` what it is where the model does not say.

    Raises:
        Unprintable: if the graph cannot be written down, or there is no script for the runtime.
    """
    model = parse_model(arrays["weights:model"].tobytes())
    tensor = next((item["tensor"] for item in subject["outputs"] if item["name"] == output), None)
    tensor = tensor or subject["outputs"][0]["tensor"]
    feeds = one_run(subject, arrays)
    run = _RUNTIMES.get(runtime)
    if run is None:
        raise literals.Unprintable(f"a script for {runtime}")
    imports = [
        *(["import subprocess"] if watched else []),
        "import sys",
        "",
        "import numpy as np",
        _IMPORTS[runtime],
        "from onnx import TensorProto, helper, numpy_helper",
    ]
    lines = [*_graph(model, tensor, feeds, dtype), *run(tensor, feeds), *joined_lines(subject, output)]
    return ScriptParts(imports, _plainly_named(lines, [*feeds, tensor]))


def one_run(subject: Json, arrays: Arrays) -> dict[str, Array]:
    """What the model is fed, by tensor: a set of inputs without a batch axis loses the axis of instances.

    Raises:
        Unprintable: if it takes several runs.
    """
    several = subject.get("instances", 1) > max(1, subject.get("rows", 1))
    if several and any(item.get("cut", "whole") != "whole" for item in subject["inputs"]):
        raise literals.Unprintable("a model that takes its inputs one by one")
    given = {item["tensor"]: (item, arrays[f"inputs:{item['input']}"]) for item in subject["inputs"]}
    return {tensor: array[0] if item.get("cut") == "items" else array for tensor, (item, array) in given.items()}


def joined_lines(subject: Json, output: str) -> list[str]:
    """What was expected has an axis of instances, where the model has none."""
    item = next((item for item in subject["outputs"] if item["name"] == output), subject["outputs"][0])
    return ["observed = observed[None]  # one instance"] if item.get("join") == "items" else []


def _plainly_named(lines: list[str], names: list[str]) -> list[str]:
    """Short names for the tensors that only we have named."""
    for index, name in enumerate(names):
        if _OURS.fullmatch(name):
            plain = "y" if index == len(names) - 1 else f"x{index}"
            lines = [line.replace(f'"{name}"', f'"{plain}"') for line in lines]
    return lines


def _graph(model: OnnxModel, output: str, feeds: Mapping[str, Array], dtype: str) -> list[str]:
    names = _Names()
    graph = model.graph
    lines = ["nodes = ["]
    lines += [f"    {_node(node)}," for node in graph.nodes]
    lines.append("]")
    constants = [_constant(name, raw) for name, raw in graph.initializers.items()]
    lines.append(f"constants = [{', '.join(constants)}]")
    inputs = ", ".join(_value(name, array) for name, array in feeds.items())
    kind = next((value.dtype for value in graph.outputs if value.name == output), "") or dtype
    outputs = f"helper.make_tensor_value_info({literals.value(output)}, TensorProto.{names.kind(kind)}, None)"
    lines.append(f'graph = helper.make_graph(nodes, "graph", [{inputs}], [{outputs}], constants)')
    opsets = ", ".join(f"helper.make_opsetid({literals.value(d)}, {v})" for d, v in model.opsets.items())
    lines.append(f"model = helper.make_model(graph, opset_imports=[{opsets}], ir_version={model.ir_version})")
    return lines


class _Names:
    """Names of types in ``TensorProto``."""

    _KINDS = {"float32": "FLOAT", "float64": "DOUBLE"}

    def kind(self, dtype: str) -> str:
        return literals.name(self._KINDS.get(dtype, dtype.upper()))


def _node(node: OnnxNode) -> str:
    if node.nested:
        raise literals.Unprintable(f"{node.op}, which holds a graph of its own")
    if any(isinstance(item, str) and _DESCRIBED.search(item) for item in node.attributes.values()):
        raise literals.Unprintable(f"an attribute of {node.op}")
    attributes = "".join(f", {literals.name(name)}={_attribute(item)}" for name, item in node.attributes.items())
    domain = "" if node.standard else f", domain={literals.value(node.domain)}"
    inputs, outputs = literals.value(list(node.inputs)), literals.value(list(node.outputs))
    return f"helper.make_node({literals.value(node.op)}, {inputs}, {outputs}{domain}{attributes})"


def _attribute(item: Json) -> str:
    return f"[{', '.join(map(_attribute, item))}]" if isinstance(item, list) else literals.value(item)


def _constant(name: str, raw: memoryview) -> str:
    return f"numpy_helper.from_array({literals.array(_decoded_array(raw))}, {literals.value(name)})"


def _decoded_array(raw: memoryview) -> Array:
    (field,) = read_fields(raw)
    dims: list[int] = []
    dtype, data = "float32", None
    for part in read_fields(field.bytes):
        if part.number == _DIMS:
            dims += part.integers
        elif part.number == _TYPE:
            dtype = DTYPES.get(part.integer, "")
        elif part.number == _RAW:
            data = bytes(part.bytes)
    size = int(np.prod(dims))
    if data is None and size:
        raise literals.Unprintable("a constant that is not stored plainly")
    return np.frombuffer(data or b"", dtype_named(dtype)).reshape(dims)


def _value(name: str, array: Array) -> str:
    kind = _Names().kind(array.dtype.name)
    return f"helper.make_tensor_value_info({literals.value(name)}, TensorProto.{kind}, {list(array.shape)})"


def _feeds(feeds: Mapping[str, Array]) -> str:
    return "{" + ", ".join(f"{literals.value(name)}: {literals.array(array)}" for name, array in feeds.items()) + "}"


def _onnxruntime(output: str, feeds: Mapping[str, Array]) -> list[str]:
    return [
        'session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])',
        f"observed = session.run([{literals.value(output)}], {_feeds(feeds)})[0]",
    ]


def _openvino(output: str, feeds: Mapping[str, Array]) -> list[str]:
    return [
        "core = openvino.Core()",
        'network = core.read_model(model.SerializeToString(), b"")',
        'compiled = core.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})',
        f"observed = compiled({_feeds(feeds)})[0]",
    ]


def _reference(output: str, feeds: Mapping[str, Array]) -> list[str]:
    return [f"observed = ReferenceEvaluator(model).run([{literals.value(output)}], {_feeds(feeds)})[0]"]


_RUNTIMES = {"onnxruntime": _onnxruntime, "openvino": _openvino, "onnx:reference": _reference}
_IMPORTS = {
    "onnxruntime": "import onnxruntime",
    "openvino": "import openvino",
    "onnx:reference": "from onnx.reference import ReferenceEvaluator",
}
