"""Every declared layer at the edges, against vectors computed by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import Node, Ref
from tensorparity.generators.single_cases.reloads import networks_of_one
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.reference.evaluate import evaluate, evaluate_node

from ..vectors.layers import BOUNDED, REASONS, VECTORS, LayerVector

_BY_ROLE = {"kernel": 1.0, "scale": 1.0, "variance": 1.0, "bias": 0.0, "offset": 0.0, "mean": 0.0}


def _weights(name: str, vector: LayerVector) -> dict[str, np.ndarray]:
    spec = layer(name)
    declared = spec.weights(spec.complete(vector.params), [shape for shape, _ in vector.inputs])
    found = {}
    for weight, what in declared.items():
        given = [number for end, number in vector.weights.items() if weight.endswith(end)]
        found[f"layer/{weight}"] = np.full(what.shape, given[0] if given else _BY_ROLE[what.role])
    return found


def _found(name: str, vector: LayerVector) -> np.ndarray:
    node = Node("layer", name, tuple(Ref(f"input_{i}") for i in range(len(vector.inputs))), dict(vector.params))
    inputs: list[Any] = [np.array(numbers, np.float64).reshape(shape) for shape, numbers in vector.inputs]
    if layer(name).domain(layer(name).complete(vector.params)).dtype.startswith("int"):
        inputs = [array.astype(np.int32) for array in inputs]
    return np.asarray(evaluate_node(node, inputs, _weights(name, vector))[0].value, np.float64)


@pytest.mark.parametrize("name", [name for name in VECTORS if VECTORS[name]])
def test_a_layer(name: str) -> None:
    wrong = []
    for vector in VECTORS[name]:
        found, (shape, numbers) = _found(name, vector), vector.value
        if found.shape != shape or not all(map(_near, found.ravel().tolist(), numbers)):
            wrong.append((vector, found.tolist()))
    assert not wrong


def _near(found: float, true: float) -> bool:
    if not math.isfinite(true) or not math.isfinite(found):
        return found == true or (math.isnan(found) and math.isnan(true))
    return math.isclose(found, true, rel_tol=1e-9, abs_tol=0.0 if true else 1e-300)


def test_every_declared_layer_has_vectors_or_a_reason() -> None:
    assert set(VECTORS) == set(layer_names())
    assert {name for name, vectors in VECTORS.items() if not vectors} == set(REASONS)


@pytest.fixture(scope="module")
def drawn() -> dict[str, Case]:
    names = layer_names()
    return dict(itertools.islice(networks_of_one(0), len(names)))


@pytest.mark.parametrize("name", layer_names())
def test_no_row_gives_no_row(name: str, drawn: dict[str, Case]) -> None:
    case = drawn[name]
    full, none = (
        evaluate(case.subject, {key: array[:rows] for key, array in case.inputs.items()}, case.weights)
        for rows in (None, 0)
    )
    for key, evaluations in full.items():
        assert [found.value.shape for found in none[key]] == [(0, *one.value.shape[1:]) for one in evaluations]


OF_FLOATS = sorted(set(VECTORS) - BOUNDED - set(REASONS))
#: Layers that choose among numbers: which of several equal ones, and whether it counts once.
CHOOSING = [name for name in OF_FLOATS if "Max" in name or name == "Minimum"]


def _numbers(name: str) -> list[float]:
    numbers = [n for vector in VECTORS[name] for _, given in vector.inputs for n in given]
    return numbers + [n for vector in VECTORS[name] for n in vector.weights.values()]


@pytest.mark.parametrize("name", OF_FLOATS)
def test_every_layer_of_floats_is_asked_about_what_is_no_number(name: str) -> None:
    assert any(map(math.isnan, _numbers(name)))
    assert any(map(math.isinf, _numbers(name)))


@pytest.mark.parametrize("name", OF_FLOATS)
def test_every_layer_of_floats_is_asked_about_both_ends_of_the_range(name: str) -> None:
    finite = [abs(number) for number in _numbers(name) if math.isfinite(number)]
    assert max(finite) >= 1e30
    assert any(0.0 < number < 1e-300 for number in finite)


@pytest.mark.parametrize("name", CHOOSING)
def test_every_layer_that_chooses_is_asked_about_ties(name: str) -> None:
    assert CHOOSING
    assert any(_has_tie([x for _, given in vector.inputs for x in given]) for vector in VECTORS[name])


def _has_tie(given: list[float]) -> bool:
    finite = [x for x in given if math.isfinite(x)]
    return len(set(finite)) < len(finite)
