"""A call of one of ONNX's own operators as a model of that operator alone."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array, dtype_name
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case
from ...core.jsontext import Json
from ...core.onnx.operators import OPSET, attributes_of, domain_and_type, shown_outputs
from . import protobuf

#: Any version of the operators may stand in a file of this version.
_IR_VERSION = 10


def lower_operator(case: Case) -> tuple[Json, dict[str, Array]] | str:
    """The ONNX subject and its arrays, or the reason why there are none.

    Inputs that are stacked are run one by one; the model is of one of them.
    """
    call = case.subject
    assert isinstance(call, ApiCall)
    version = call.kwargs.get(OPSET)
    if not isinstance(version, int) or not all(item is None or isinstance(item, ArrayArg) for item in call.args):
        return f"{call.api} is called with what is no operator's input"
    if case.procedure.derivative:
        return "ONNX runtimes compute no gradients"
    names = list(call.arrays())
    odd = [name for name in names if dtype_name(case.inputs[name]) not in protobuf.DATA_TYPES]
    if odd:
        return f"ONNX has no {dtype_name(case.inputs[odd[0]])}"
    domain, op = domain_and_type(call.api)
    inputs = [item.name if isinstance(item, ArrayArg) else "" for item in call.args]
    taken = set(names)
    outputs = [_free(f"out_{place}", taken) if shown else "" for place, shown in enumerate(shown_outputs(call.kwargs))]
    attributes = {name: list(item) if isinstance(item, tuple) else item for name, item in attributes_of(call).items()}
    node = protobuf.node(op, inputs, outputs, attributes, "", domain)
    values = [_value(name, case) for name in names]
    shown = [name for name in outputs if name]
    graph = protobuf.graph("operator", [node], [], values, map(protobuf.untyped_value, shown))
    model = protobuf.model(graph, ir_version=_IR_VERSION, opset=version, producer="tensorparity", domain=domain)
    subject: dict[str, Json] = {
        "kind": "onnx",
        "inputs": [{"tensor": name, "input": name} for name in names],
        "outputs": [{"tensor": name, "group": "outputs", "name": str(place)} for place, name in enumerate(shown)],
    }
    arrays = {f"inputs:{name}": case.inputs[name] for name in names}
    return subject, {**arrays, "weights:model": np.frombuffer(model, np.uint8)}


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _value(name: str, case: Case) -> bytes:
    array = case.inputs[name]
    shape = array.shape if case.procedure.rows is None else array.shape[1:]
    return protobuf.value_info(name, dtype_name(array), shape)
