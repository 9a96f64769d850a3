"""Scripts of operators' calls, in each library's own words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.triage.reproduce.literals import Unprintable
from tensorparity.triage.reproduce.operator_scripts import operator_parts


def lines(name: str, library: str, flavour: str, shape: tuple[int, ...], **params: Any) -> list[str]:
    operator = OPERATORS.get(name)
    sizes = operator.sizes(params, shape)
    inputs = {
        item.name: np.ones((1, *sizes[item.name]) if item.stacked else sizes[item.name], np.float32)
        for item in operator.operands
    }
    case = Case(operator.api_call(params), Procedure(goal=Goal.CALL), inputs)
    parts = operator_parts(case, library, flavour, watched=False)
    return [*parts.imports, *parts.steps]


def test_torch() -> None:
    script = lines("ndtr", "torch", "eager", (1,))
    assert script[-1] == "observed = np.array(torch.special.ndtr(torch.from_numpy(x)))"
    assert "import torch" in script


def test_jax_imports_the_module_of_the_function_and_compiles() -> None:
    assert "import jax.scipy.special" in lines("ndtr", "jax", "eager", (1,))
    assert lines("ndtr", "jax", "jit", (1,))[-2] == "compiled = jax.jit(lambda x: jax.scipy.special.ndtr(x))"


def test_keras_names_its_backend_first() -> None:
    script = lines("sigmoid", "keras", "torch", (1,))
    assert script.index('os.environ["KERAS_BACKEND"] = "torch"') < script.index("import keras")


def test_axes_are_turned_there_and_back() -> None:
    script = lines("conv2d", "tensorflow", "eager", (3, 3, 1), data_format="channels_first")
    assert "np.ascontiguousarray(x.transpose([0, 3, 1, 2]))" in script[-1]
    assert script[-1].endswith(".transpose([0, 2, 3, 1])")


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(Unprintable, match="keras has no ndtr"):
        lines("ndtr", "keras", "torch", (1,))
    with pytest.raises(Unprintable, match="several times"):
        lines("tanh", "torch", "eager", (1,), times=2)


def test_arrays_are_paired_as_the_call_lists_them() -> None:
    hostile = "x=0;y"
    call = replace(OPERATORS.get("sigmoid").api_call({}), args=(ArrayArg(hostile),))
    case = Case(call, Procedure(goal=Goal.CALL), {hostile: np.ones(1, np.float32)})
    assert operator_parts(case, "torch", "eager", watched=False).steps[0] == 'x = np.array([1], "float32")'
    for args in ((), (ArrayArg("other"),)):
        odd = replace(case, subject=ApiCall(call.api, args))
        with pytest.raises(Unprintable, match="other arrays than sigmoid takes"):
            operator_parts(odd, "torch", "eager", watched=False)


@pytest.mark.parametrize(
    ("library", "flavour", "observed"),
    [
        ("torch", "eager", "np.array(torch.exp(torch.from_numpy(x).bfloat16()).float())"),
        ("tensorflow", "eager", 'np.array(tensorflow.math.exp(tensorflow.cast(x, "bfloat16"))).astype("float32")'),
        (
            "keras",
            "jax",
            'keras.ops.convert_to_numpy(keras.ops.cast(keras.ops.exp(keras.ops.cast(x, "bfloat16")), "float32"))',
        ),
    ],
)
def test_bfloat16_is_cast_by_the_library(library: str, flavour: str, observed: str) -> None:
    operator = OPERATORS.get("exp")
    numbers = np.array([[1.5]], ml_dtypes.bfloat16)
    case = Case(operator.api_call({}), Procedure(goal=Goal.CALL), {"x": numbers})
    steps = operator_parts(case, library, flavour, watched=False).steps
    assert steps == ['x = np.array([[1.5]], "float32")', f"observed = {observed}"]
