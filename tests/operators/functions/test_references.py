"""Every operator's declaration: the reference agrees with 50 digits, shapes resolve, calls are well formed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tensorparity.core.arrays import Array, dtype_named
from tensorparity.core.case import ApiCall
from tensorparity.core.errors import UsageError
from tensorparity.generators.inputs.operators import draw
from tensorparity.operators.functions.api import api_known, evaluate_call
from tensorparity.operators.functions.catalogue import _FAMILIES, OPERATORS, SEVEN, find_operators, operator_of
from tensorparity.operators.functions.spec import DTYPES, LIBRARIES, Call, Lacking, Operator, Tensor
from tensorparity.operators.reference.rounding import K, unit_roundoff
from tensorparity.oracles.measure.operator_errors import measure_rows, precise_units, stable_errors

NAMES = OPERATORS.names()


def inputs(operator: Operator, source: str, rows: int = 2, dtype: str = "float64") -> list[Array]:
    rng = np.random.default_rng(zlib.crc32(operator.name.encode()))
    shape = min(operator.shapes, key=lambda item: int(np.prod(item)))
    sizes = operator.sizes({}, shape)
    return [
        draw(source, rng, (rows, *sizes[item.name]) if item.stacked else sizes[item.name], item, dtype, middle=True)
        for item in operator.operands
    ]


def test_there_are_enough_and_the_papers_are_among_them() -> None:
    assert len(NAMES) >= 80
    assert set(SEVEN) <= set(NAMES)
    assert [operator.name for operator in find_operators(())][:7] == list(SEVEN)


def test_the_table_lists_what_the_families_hold() -> None:
    for family, names in _FAMILIES.items():
        found = {name for name in NAMES if OPERATORS.get(name).family == family}
        assert found == set(names.split()), family


def test_globs() -> None:
    assert [operator.name for operator in find_operators(("conv?d",))] == ["conv2d", "conv1d", "conv3d"]
    with pytest.raises(UsageError, match="no operator is called 'sigmoidd'"):
        find_operators(("sigmoidd",))


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_agrees_with_fifty_digits(name: str) -> None:
    operator = OPERATORS.get(name)
    for source in ("normal", "moderate"):
        arrays = inputs(operator, source)
        with np.errstate(all="ignore"):
            value = operator.evaluate({}, arrays).value
        assert precise_units(operator, {}, arrays, np.asarray(value, dtype=np.float64), "float64") <= K


@pytest.mark.parametrize("name", NAMES)
def test_a_stable_evaluation_in_float32_is_within_the_bound(name: str) -> None:
    """So that no bound is tighter than what a careful implementation reaches."""
    operator = OPERATORS.get(name)
    arrays = inputs(operator, "normal", rows=8, dtype="float32")
    with np.errstate(all="ignore"):
        truth = operator.evaluate({}, arrays)
    assert stable_errors(operator, {}, arrays, truth, "float32").units.max() <= K


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_not_so_wide_that_anything_passes(name: str) -> None:
    """Outputs off by a thousandth are beyond it in float32."""
    operator = OPERATORS.get(name)
    arrays = inputs(operator, "normal", rows=4, dtype="float32")
    truth = operator.evaluate({}, arrays)
    off = np.asarray(truth.value * 1.001 + 1e-3).astype(np.float32)
    assert measure_rows(off, truth, "float32").units.max() > K


@pytest.mark.parametrize("name", NAMES)
def test_calls_name_public_functions_of_their_library(name: str) -> None:
    operator = OPERATORS.get(name)
    sizes = {**operator.sizes({}, operator.shapes[0]), "#": (2,)}
    assert set(operator.calls) <= set(LIBRARIES)
    assert operator.calls
    for library in operator.calls:
        called = operator.native(library, {}, sizes)
        root = {"keras": "keras.ops.", "onnx": "onnx."}.get(library, f"{library}.")
        assert called.api.startswith(root)
        assert {tensor.name for tensor in tensors(called)} == {operand.name for operand in operator.operands}


def tensors(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Call):
        return [found for item in (*value.args, *value.kwargs.values()) for found in tensors(item)]
    if isinstance(value, (list, tuple)):
        return [found for item in value for found in tensors(item)]
    return []


def test_a_library_without_the_function_says_so() -> None:
    with pytest.raises(Lacking, match="keras has no mish"):
        OPERATORS.get("mish").native("keras", {}, {"x": (3,)})


def test_operators_are_part_of_the_enumerated_api() -> None:
    assert api_known("op.sigmoid")
    assert not api_known("op.no_such_thing")
    assert operator_of("torch.softmax") is None
    call = OPERATORS.get("sigmoid").api_call({})
    assert isinstance(call, ApiCall)
    value = evaluate_call(call, {"x": np.array([[-20.0]], np.float32)}).value
    assert value[0, 0] == pytest.approx(2.0611536e-9, rel=1e-7)


def test_applied_several_times() -> None:
    tanh = OPERATORS.get("tanh")
    x = np.array([[0.5]])
    assert tanh.evaluate({"times": 3}, [x]).value == np.tanh(np.tanh(np.tanh(x)))


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("i0", 2.0, 2.2795853023360673),
        ("i1", 2.0, 1.5906368546373291),
        ("digamma", 1.0, -0.5772156649015329),
        ("lgamma", -0.5, 1.2655121234846454),
        ("lgamma", -3.0, np.inf),
        ("erfinv", 0.5, 0.4769362762044699),
        ("log_ndtr", -20.0, -203.91715537109727),
        ("ndtri", 0.975, 1.959963984540054),
        ("gelu", 1.0, 0.8413447460685429),
        ("mish", -1.0, -0.3034014613741089),
    ],
)
def test_known_values(name: str, x: float, expected: float) -> None:
    value = OPERATORS.get(name).evaluate({}, [np.array([[x]])]).value
    np.testing.assert_allclose(value, [[expected]], rtol=1e-14)


def test_convolution_by_hand() -> None:
    x = np.arange(16.0).reshape(1, 4, 4, 1)
    kernel = np.arange(9.0).reshape(3, 3, 1, 1)
    conv = OPERATORS.get("conv2d")
    valid = conv.evaluate({}, [x, kernel]).value
    assert valid[0, 0, 0, 0] == sum(x[0, i, j, 0] * kernel[i, j, 0, 0] for i in range(3) for j in range(3))
    same = conv.evaluate({"padding": "same", "strides": 2}, [x, kernel]).value
    assert same.shape == (1, 2, 2, 1)
    padded = np.pad(x, [(0, 0), (0, 1), (0, 1), (0, 0)])  # the odd zero comes at the end
    assert same[0, 1, 1, 0] == (padded[0, 2:5, 2:5, 0] * kernel[..., 0, 0]).sum()
    assert unit_roundoff("float32") == 2.0**-24


ENDS = [("asin", 1.0), ("asin", -1.0), ("acos", 1.0), ("acos", -1.0), ("acosh", 1.0)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "end"), ENDS)
def test_an_infinite_slope_does_not_excuse_any_answer(name: str, end: float, dtype: str) -> None:
    operator, x = OPERATORS.get(name), np.array([[end]])
    with np.errstate(all="ignore"):
        truth = operator.evaluate({}, [x])
    right = truth.value.astype(dtype_named(dtype))
    assert measure_rows(right, truth, dtype).units[0] <= 1
    off = (truth.value + 0.75).astype(dtype_named(dtype))
    assert measure_rows(off, truth, dtype).units[0] > K


@pytest.mark.parametrize(("name", "end"), ENDS)
def test_fifty_digits_bound_it_alike(name: str, end: float) -> None:
    operator, x = OPERATORS.get(name), np.array([[end]])
    with np.errstate(all="ignore"):
        plain = operator.evaluate({}, [x])
    assert float(operator.evaluate_precisely({}, [x]).kappa[0, 0]) == pytest.approx(plain.kappa[0, 0])
    assert precise_units(operator, {}, [x], plain.value, "float64") <= 1
    assert precise_units(operator, {}, [x], plain.value + 1e-6, "float64") > K


def test_a_slope_beyond_the_range_has_a_bound_as_well() -> None:
    """1 / x at 1e-200, whose slope is beyond float64: the bound is about the value."""
    found = OPERATORS.get("reciprocal").evaluate({}, [np.array([1e-200])])
    assert found.kappa[0] == pytest.approx(found.value[0], rel=0.1)
