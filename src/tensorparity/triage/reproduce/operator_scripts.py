"""An operator's call as a script in the library's own words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array, dtype_name
from ...core.case import ApiCall, ArrayArg, Case
from ...operators.functions.catalogue import operator_of
from ...operators.functions.spec import TIMES, Call, Lacking, Operator, Sizes, Tensor
from . import literals
from .script import ScriptParts

#: How a library makes a tensor of an array, and how a call is compiled, by flavour.
TENSORS = {
    "torch": "torch.from_numpy({})",
    "tensorflow": "tensorflow.constant({})",
    "jax": "jax.numpy.array({})",
    "keras": "keras.ops.convert_to_tensor({})",
}
#: NumPy has no bfloat16: the numbers are written down in float32, where they are the same, and cast.
_BFLOAT16 = {
    "torch": "torch.from_numpy({}).bfloat16()",
    "tensorflow": 'tensorflow.cast({}, "bfloat16")',
    "jax": 'jax.numpy.array({}, "bfloat16")',
    "keras": 'keras.ops.cast({}, "bfloat16")',
}
_AS_NUMPY = {"keras": "keras.ops.convert_to_numpy({})"}
_BFLOAT16_AS_NUMPY = {
    "torch": "np.array({}.float())",
    "keras": 'keras.ops.convert_to_numpy(keras.ops.cast({}, "float32"))',
    "tensorflow": 'np.array({}).astype("float32")',
    "jax": 'np.array({}).astype("float32")',
}
_COMPILED = {
    "torch:compile": "torch.compile({})",
    "tensorflow:xla": "tensorflow.function({}, jit_compile=True, autograph=False)",
    "jax:jit": "jax.jit({})",
}
_COUNT = "#"


def operator_parts(case: Case, library: str, flavour: str, *, watched: bool) -> ScriptParts:
    """The parts of a script that calls the operator in a library.

    Raises:
        Unprintable: if the library has no such call.
    """
    assert isinstance(case.subject, ApiCall)
    operator = operator_of(case.subject.api)
    assert operator is not None
    params = {name: value for name, value in case.subject.kwargs.items() if name != TIMES}
    operands = _operands(operator, case)
    try:
        dtype = dtype_name(next(iter(operands.values())))
        called = operator.native(library, params, _sizes(operator, operands), dtype)
    except Lacking as reason:
        raise literals.Unprintable(str(reason)) from reason
    if TIMES in case.subject.kwargs or case.procedure.dtype:
        raise literals.Unprintable("it is applied several times, or in another precision than its input's")
    narrow = dtype == "bfloat16"
    written = {name: array.astype(np.float32) if narrow else array for name, array in operands.items()}
    steps = [f"{literals.name(name)} = {literals.array(array)}" for name, array in written.items()]
    tensors = (_BFLOAT16 if narrow else TENSORS)[library]
    form = _COMPILED.get(f"{library}:{flavour}")
    names = ", ".join(operands)
    if form:
        leaves = ", ".join(tensors.format(name) for name in operands)
        if any(leaf.perm for leaf in leaves_of(called)):
            raise literals.Unprintable("axes are turned on the way into a compiled call")
        steps.append(f"compiled = {form.format(f'lambda {names}: {call_text(called, None)}')}")
        expression = f"compiled({leaves})"
    else:
        expression = call_text(called, tensors)
    turned = f".transpose({list(called.perm)})" if called.perm else ""
    whole = _BFLOAT16_AS_NUMPY[library] if narrow else _AS_NUMPY.get(library, "np.array({})")
    steps.append(f"observed = {whole.format(expression)}{turned}")
    return ScriptParts(_imports(library, flavour, called, watched), steps)


def _imports(library: str, flavour: str, called: Call, watched: bool) -> list[str]:
    start = [*(["import subprocess"] if watched else []), "import sys", ""]
    if library == "keras":
        return [
            "import os",
            *start,
            f'os.environ["KERAS_BACKEND"] = {literals.value(flavour)}',
            "import keras",
            "import numpy as np",
        ]
    modules = {"torch": ["torch"], "tensorflow": ["tensorflow"]}.get(library, [])
    if library == "jax":
        modules = sorted({"jax.numpy", *(name.rpartition(".")[0] for name in _names(called))})
    return [*start, "import numpy as np", *(f"import {module}" for module in modules)]


def _operands(operator: Operator, case: Case) -> dict[str, Array]:
    """The arrays by the operator's own names, paired as the call lists them."""
    assert isinstance(case.subject, ApiCall)
    names = [argument.name for argument in case.subject.args if isinstance(argument, ArrayArg)]
    if len(names) != len(operator.operands) or not all(name in case.inputs for name in names):
        raise literals.Unprintable(f"other arrays than {operator.name} takes")
    return {operand.name: case.inputs[name] for operand, name in zip(operator.operands, names, strict=True)}


def _sizes(operator: Operator, operands: Mapping[str, Array]) -> dict[str, Sizes]:
    sizes: dict[str, Sizes] = {}
    for operand in operator.operands:
        shape = operands[operand.name].shape
        sizes[operand.name] = shape[1:] if operand.stacked else shape
        if operand.stacked:
            sizes[_COUNT] = shape[:1]
    return sizes


def leaves_of(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Call):
        return [leaf for item in (*value.args, *value.kwargs.values()) for leaf in leaves_of(item)]
    return []


def _names(value: object) -> list[str]:
    if not isinstance(value, Call):
        return []
    return [value.api, *(name for item in (*value.args, *value.kwargs.values()) for name in _names(item))]


def call_text(value: object, tensors: str | None) -> str:
    """The value as an expression; ``tensors`` is how an array becomes one, None leaves names."""
    if isinstance(value, Call):
        arguments = [call_text(item, tensors) for item in value.args]
        arguments += [f"{literals.name(name)}={call_text(item, tensors)}" for name, item in value.kwargs.items()]
        pick = "" if value.pick is None else f"[{value.pick}]"
        return f"{value.api}({', '.join(arguments)}){pick}"
    if isinstance(value, Tensor):
        return _tensor(value, tensors)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(call_text(item, tensors) for item in value)}]"
    return literals.value(value)


def _tensor(leaf: Tensor, tensors: str | None) -> str:
    if tensors is None:
        return leaf.name
    if leaf.view and tensors.startswith("torch."):
        return f"{tensors.format(leaf.name)}.permute({list(leaf.perm)})"
    array = f"np.ascontiguousarray({leaf.name}.transpose({list(leaf.perm)}))" if leaf.perm else leaf.name
    return tensors.format(array)
