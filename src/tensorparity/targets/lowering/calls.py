"""An operator's case in a library's own words: one public function with its arguments, or an ONNX model of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array, dtype_name, dtype_named
from ...core.case import ApiCall, ArrayArg, Case
from ...core.errors import UsageError
from ...core.jsontext import Json
from ...core.onnx.layers import PREFIX
from ...operators.functions.api import composed_call
from ...operators.functions.catalogue import operator_of
from ...operators.functions.native import native_call
from ...operators.functions.peers import ONNX
from ...operators.functions.spec import TIMES, Call, Lacking, Tensor
from . import protobuf
from .onnx_graph import IR_VERSION, OPSET
from .onnx_operator import lower_operator

#: Libraries that people write otherwise than we name them.
_SHOWN = {"onnx": "ONNX"}


def lower_call(library: str, case: Case) -> tuple[Json, dict[str, Array]] | str | None:
    """The subject and arrays to send instead; the reason why there are none; None to send the case as it is."""
    assert isinstance(case.subject, ApiCall)
    operator = operator_of(case.subject.api)
    if operator is None and any(isinstance(part, ApiCall) for call in case.subject.calls() for part in call.args):
        return None  # a program is written in the library's own words
    if operator is None and library == ONNX and case.subject.api.startswith(PREFIX):
        return lower_operator(case)
    if operator is None:
        try:
            composed = composed_call(case.subject, case.inputs)
        except UsageError as reason:
            return str(reason)
        if library == "onnx" or (composed and not case.subject.api.startswith(f"{library}.")):
            return f"{_SHOWN.get(library, library)} has no {case.subject.api}"
        return ({"kind": "api-call", **_plain(composed)}, dict(case.arrays())) if composed else None
    times = int(case.subject.kwargs.get(TIMES, 1))
    try:
        native = native_call(operator, library, case)
        if library == "onnx":
            return _onnx(native, case, times)
    except Lacking as reason:
        return str(reason)
    if times > 1 and not _takes_its_own(native):
        return f"{operator.name} is not applied several times in {library}"
    subject = {"kind": "api-call", **_plain(native), "times": times}
    return subject, dict(case.arrays())


def _takes_its_own(native: Call) -> bool:
    """Whether what it gives can go in again as it is: axes are turned before the first time and back after the last."""
    operand = native.args[0] if native.args else None
    if not isinstance(operand, Tensor):
        return False
    axes = range(len(native.perm))
    return not operand.perm if not native.perm else [operand.perm[axis] for axis in native.perm] == list(axes)


def _plain(value: Any) -> Json:
    if isinstance(value, Tensor):
        leaf: dict[str, Json] = {"$array": value.name}
        if value.perm:
            leaf["perm"] = list(value.perm)
        if value.view:
            leaf["view"] = True
        return leaf
    if isinstance(value, Call):
        found: dict[str, Json] = {
            "api": value.api,
            "args": [_argument(item) for item in value.args],
            "kwargs": {key: _argument(item) for key, item in value.kwargs.items()},
        }
        if value.pick is not None:
            found["pick"] = value.pick
        if value.perm:
            found["perm"] = list(value.perm)
        return found
    return value


def _argument(value: Any) -> Json:
    if isinstance(value, Call):
        if value.perm:
            raise Lacking("an inner call turns no axes")
        return {"$call": _plain(value)}
    if isinstance(value, (list, tuple)):
        return [_argument(item) for item in value]
    return _plain(value)


# ONNX


class _OnnxCallWriter:
    """The nodes of one call; constants become initializers in the dtype of the inputs."""

    def __init__(self, case: Case, dtype: str) -> None:
        self._case = case
        self._dtype = dtype
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self.fed: dict[str, str] = {}
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def node(self, op: str, inputs: list[str], attributes: Mapping[str, Any]) -> str:
        output = self.name()
        self.nodes.append(protobuf.node(op, inputs, [output], attributes, name=output))
        return output

    def value(self, given: Any) -> str:
        if given is None:
            return ""
        if isinstance(given, Tensor):
            return self._tensor(given)
        if isinstance(given, Call):
            return self.call(given)
        array = np.asarray(given)
        name = self.name()
        array = array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(dtype_named(self._dtype))
        self.constants.append(protobuf.tensor(name, array))
        return name

    def _tensor(self, tensor: Tensor) -> str:
        if tensor.name not in self.fed:
            name = f"in_{tensor.name}"
            source = dtype_name(self._case.inputs[tensor.name])
            cast = source != self._dtype
            self.fed[tensor.name] = (
                self.node("Cast", [name], {"to": protobuf.DATA_TYPES[self._dtype]}) if cast else name
            )
        name = self.fed[tensor.name]
        return self.node("Transpose", [name], {"perm": list(tensor.perm)}) if tensor.perm else name

    def call(self, given: Call) -> str:
        name = self.node(given.api.removeprefix("onnx."), [self.value(item) for item in given.args], given.kwargs)
        return self.node("Transpose", [name], {"perm": list(given.perm)}) if given.perm else name


def _onnx(native: Call, case: Case, times: int) -> tuple[Json, dict[str, Array]]:
    names = [argument.name for argument in case.subject.args if isinstance(argument, ArrayArg)]  # type: ignore[union-attr]
    dtype = case.procedure.dtype or dtype_name(case.inputs[names[0]])
    if dtype == "bfloat16" or any(dtype_name(case.inputs[name]) == "bfloat16" for name in names):
        raise Lacking("ONNX runtimes take no bfloat16 through NumPy")
    writer = _OnnxCallWriter(case, dtype)
    output = writer.call(native)
    for _ in range(times - 1):
        writer.fed[names[0]] = output
        output = writer.call(native)
    inputs = [
        protobuf.value_info(f"in_{name}", dtype_name(case.inputs[name]), case.inputs[name].shape)
        for name in names
        if name in writer.fed
    ]
    graph = protobuf.graph("call", writer.nodes, writer.constants, inputs, [protobuf.untyped_value(output)])
    model = protobuf.model(graph, ir_version=IR_VERSION, opset=OPSET, producer="tensorparity")
    subject: dict[str, Json] = {
        "kind": "onnx",
        "inputs": [{"tensor": f"in_{name}", "input": name} for name in names if name in writer.fed],
        "outputs": [{"tensor": output, "group": "outputs", "name": "0"}],
    }
    arrays: dict[str, Array] = {f"inputs:{name}": case.inputs[name] for name in names}
    arrays["weights:model"] = np.frombuffer(model, np.uint8)
    return subject, arrays
