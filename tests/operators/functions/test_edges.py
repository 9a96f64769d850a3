"""Every declared function at the edges, against vectors computed by hand or by mpmath."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.operators.functions.catalogue import OPERATORS

from ..vectors.arrays import NOT_ASKED, VECTORS, Vector
from ..vectors.one_number import FUNCTIONS

#: What a float64 reference may lose of the truth: far below what float32 resolves, and tested to the digit elsewhere.
RELATIVE, ABSOLUTE = 1e-9, 5e-321


def _same(found: float, true: float, relative: float = RELATIVE, absolute: float = ABSOLUTE) -> bool:
    if math.isnan(true) or math.isinf(true) or math.isinf(found):
        return found == true or (math.isnan(found) and math.isnan(true))
    return math.isclose(found, true, rel_tol=relative, abs_tol=absolute)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_one_number(name: str) -> None:
    wrong = []
    for x, true in FUNCTIONS[name].vectors():
        with np.errstate(all="ignore"):
            found = float(np.ravel(OPERATORS.get(name).evaluate({}, [np.array([x])]).value)[0])
        relative, absolute = _slack(name, x)
        if not _same(found, true, relative, absolute):
            wrong.append((x, found, true))
    assert not wrong


def _slack(name: str, x: float) -> tuple[float, float]:
    """Differences that float64 loses and no narrower dtype sees: x - tanh(x) of tiny x, beside other zeros."""
    if name in ("tanh_shrink", "sinc", "lgamma", "digamma"):
        return RELATIVE, 1e-15
    return RELATIVE, ABSOLUTE


def _found(name: str, vector: Vector) -> np.ndarray:
    operator = OPERATORS.get(name)
    with np.errstate(all="ignore"):
        operands = [np.array(operand, np.float64) for operand in vector.operands]
        return np.asarray(operator.evaluate(vector.params, operands).value, np.float64)


@pytest.mark.parametrize("name", VECTORS)
def test_a_function_of_arrays(name: str) -> None:
    wrong = []
    for vector in VECTORS[name]:
        found, true = _found(name, vector), np.array(vector.value, np.float64)
        same = found.shape == true.shape and all(map(_near, found.ravel().tolist(), true.ravel().tolist()))
        if not same:
            wrong.append((vector, found.tolist()))
    assert not wrong


def _near(found: float, true: float) -> bool:
    """Of a sum of large numbers that cancel, 0 is 0 to within the digits of the terms, which these are chosen for."""
    return _same(found, true, RELATIVE, 0.0 if true else 2e-16)


def test_every_declared_function_has_vectors() -> None:
    assert set(OPERATORS.names()) == set(FUNCTIONS) | set(VECTORS)


EDGES = {
    "infinity": np.isinf,
    "nan": np.isnan,
    "huge": lambda x: np.abs(x) >= 1e300,
    "subnormal": lambda x: (x != 0) & (np.abs(x) < 2.3e-308),
}


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("edge", EDGES)
def test_every_edge_is_asked_about(name: str, edge: str) -> None:
    numbers = [np.ravel(np.array(operand, float)) for vector in VECTORS[name] for operand in vector.operands]
    finite = np.concatenate(numbers)
    if edge != "infinity":
        finite = finite[~np.isinf(finite)]
    asked = bool(EDGES[edge](finite).any())
    assert asked != bool(NOT_ASKED.get(name, {}).get(edge))


@pytest.mark.parametrize("name", ["max", "min", "cummax", "max_pool1d", "max_pool3d", "pooling"])
def test_what_chooses_among_numbers_is_asked_about_ties(name: str) -> None:
    chosen = [(np.ravel(np.array(v.operands[0], float)), np.ravel(np.array(v.value, float))) for v in VECTORS[name]]
    assert any(np.sum(numbers == value[-1]) > 1 for numbers, value in chosen)


@pytest.mark.parametrize("name", OPERATORS.names())
def test_no_input_gives_no_output(name: str) -> None:
    operator = OPERATORS.get(name)
    sizes = operator.sizes(operator.defaults(), operator.shapes[0])
    operands = [
        np.ones((0, *sizes[operand.name]) if operand.stacked else sizes[operand.name]) for operand in operator.operands
    ]
    value = np.asarray(operator.evaluate({}, operands).value)
    assert (len(value), value.size) == (0, 0)
