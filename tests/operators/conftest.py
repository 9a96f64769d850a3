"""Random but fitting uses of catalogue layers, for the property tests and for the test against Keras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.spec import LayerSpec, Shape, ShapeError

SIZES = (3, 4, 5, 6, 8)
ATTEMPTS = 500


@dataclass(frozen=True)
class Example:
    """One layer with parameters, inputs and weights that fit."""

    node: Node
    inputs: tuple[np.ndarray, ...]
    weights: dict[str, np.ndarray]

    @property
    def shapes(self) -> list[Shape]:
        return [x.shape for x in self.inputs]

    @property
    def params(self) -> dict[str, Any]:
        return layer(self.node.op).complete(self.node.params)


def _params(spec: LayerSpec, rng: np.random.Generator) -> dict[str, Any]:
    chosen = {}
    for parameter in spec.parameters:
        if parameter.required or rng.random() < 0.5:
            chosen[parameter.name] = parameter.valid[rng.integers(len(parameter.valid))]
    return chosen


def _shapes(spec: LayerSpec, params: dict[str, Any], rng: np.random.Generator) -> list[Shape]:
    rank = int(rng.choice(spec.ranks))
    base = [2, *(int(size) for size in rng.choice(SIZES, rank - 1))]
    count = spec.arity[0] if spec.arity[1] == spec.arity[0] else spec.arity[0] + int(rng.integers(2))
    shapes = []
    for _ in range(count):
        own = list(base)
        if spec.name == "Concatenate":
            own[spec.complete(params)["axis"] % rank if rank > 2 else -1] = int(rng.choice(SIZES))
        elif count > 1 and rng.random() < 0.3:
            own[int(rng.integers(1, rank))] = 1
            own = own if rng.random() < 0.5 or rank == 2 else [own[0], *own[2:]]
        shapes.append(tuple(own))
    return shapes


def _weight(role: str, shape: tuple[int, ...], fan_in: int, rng: np.random.Generator) -> np.ndarray:
    if role in ("scale", "variance"):
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    return rng.normal(0, 1 / np.sqrt(fan_in), shape).astype(np.float32)


def _example(name: str, rng: np.random.Generator) -> Example:
    spec = layer(name)
    for _ in range(ATTEMPTS):
        params = _params(spec, rng)
        shapes = _shapes(spec, params, rng)
        try:
            spec.shape(spec.complete(params), shapes)
        except ShapeError:
            continue
        inputs = tuple(rng.normal(0, 2, shape).astype(np.float32) for shape in shapes)
        declared = spec.weights(spec.complete(params), shapes)
        weights = {f"layer/{key}": _weight(w.role, w.shape, w.fan_in, rng) for key, w in declared.items()}
        refs = tuple(Ref(f"input_{index}") for index in range(len(inputs)))
        return Example(Node("layer", name, refs, params), inputs, weights)
    raise AssertionError(f"no fitting use of {name} in {ATTEMPTS} attempts")


@pytest.fixture(scope="session")
def draw_example() -> Callable[[str, np.random.Generator], Example]:
    return _example
