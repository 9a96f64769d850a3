"""Random but fitting uses of catalogue layers, for the property tests and for the test against Keras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.spec import Domain, LayerSpec, Parameter, Shape, ShapeError

SIZES = (3, 4, 5, 6, 8)
ATTEMPTS = 500
Draw = Callable[[dict[str, Any], np.random.Generator], Any]


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
        return layer(self.node.op).complete({**self.node.params, **self.node.call_params})


def _params(parameters: tuple[Parameter, ...], rng: np.random.Generator) -> dict[str, Any]:
    chosen = {}
    for parameter in parameters:
        if parameter.required or rng.random() < 0.5:
            chosen[parameter.name] = parameter.valid[rng.integers(len(parameter.valid))]
    return chosen


def _shapes(spec: LayerSpec, params: dict[str, Any], rng: np.random.Generator) -> list[Shape]:
    if spec.name in SHAPES:
        return [tuple(int(size) for size in shape) for shape in SHAPES[spec.name](params, rng)]
    rank = int(rng.choice(spec.ranks))
    base = [2, *(int(size) for size in rng.choice(SIZES, rank - 1))]
    count = spec.arity[0] if spec.arity[1] == spec.arity[0] else spec.arity[0] + int(rng.integers(2))
    shapes = []
    for _ in range(count):
        own = list(base)
        if spec.name == "Concatenate":
            own[params["axis"] % rank if rank > 2 else -1] = int(rng.choice(SIZES))
        elif count > 1 and rng.random() < 0.3:
            own[int(rng.integers(1, rank))] = 1
            own = own if rng.random() < 0.5 or rank == 2 else [own[0], *own[2:]]
        shapes.append(tuple(own))
    return shapes


def _attended(params: dict[str, Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Query, value and sometimes a key: lengths and sizes that differ where they may."""
    queries, keys, size, depth = rng.choice(SIZES, 4)
    if rng.random() < 0.5:
        return [(2, queries, size), (2, keys, size)]
    return [(2, queries, size), (2, keys, depth), (2, keys, size)]


def _attended_over(params: dict[str, Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """The same of more axes: those that are not attended over agree."""
    rank = int(rng.choice((3, 3, 4, 5)))
    if rank == 3:
        return _attended(params, rng)
    query, value = (rng.choice((2, 3, 4), rank - 2) for _ in range(2))
    axes = params["attention_axes"]
    items = range(1, rank - 1) if axes is None else [axes] if isinstance(axes, int) else axes
    attended = {axis % rank for axis in items}
    value = [size if axis in attended else query[axis - 1] for axis, size in enumerate(value, 1)]
    sizes = rng.choice(SIZES, 3)
    shapes = [(2, *query, sizes[0]), (2, *value, sizes[1]), (2, *value, sizes[2])]
    return shapes[: int(rng.integers(2, 4))]


def _dotted(params: dict[str, Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Two inputs of few different sizes, so that the axes often fit."""
    return [(2, *rng.choice((3, 5), int(rng.integers(1, 3)))) for _ in range(2)]


def _films(dims: int) -> Draw:
    def shapes(params: dict[str, Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
        return [(2, 3, *rng.choice((2, 3, 4), dims + 1))]

    return shapes


def _short(params: dict[str, Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Few steps: what rounding may do grows with each, and with it what a reference has to allow."""
    return [(2, rng.choice((1, 3, 5)), rng.choice(SIZES))]


def _as_wanted(params: dict[str, Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Images that have the size already: of others Keras gives back what it got (trophies/)."""
    image, channels = (params["height"], params["width"]), int(rng.choice(SIZES))
    return [(2, channels, *image) if params["data_format"] == "channels_first" else (2, *image, channels)]


#: Layers whose inputs have to fit each other or the parameters in ways of their own, or grow large.
SHAPES: dict[str, Draw] = {
    **dict.fromkeys(("AdditiveAttention", "Attention", "GroupQueryAttention"), _attended),
    "MultiHeadAttention": _attended_over,
    **{f"ConvLSTM{dims}D": _films(dims) for dims in (1, 2, 3)},
    "Dot": _dotted,
    "ContrastLimitedAdaptiveHistogramEqualization": lambda params, rng: [(2, *rng.choice((8, 9, 11), 3))],
    "RandomCrop": _as_wanted,
    "HashedCrossing": lambda params, rng: [(4, 1)] * int(rng.integers(2, 4)),
    **dict.fromkeys(("Bidirectional", "GRU", "LSTM", "RNN", "SimpleRNN"), _short),
}


def _inputs(spec: LayerSpec, params: dict[str, Any], shapes: list[Shape], rng: np.random.Generator) -> list[np.ndarray]:
    drawn = [_values(spec.domain_of(params, index), shape, rng) for index, shape in enumerate(shapes)]
    return INPUTS[spec.name](params, drawn, rng) if spec.name in INPUTS else drawn


def _values(domain: Domain, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    if domain.dtype.startswith("int"):
        return rng.integers(domain.low, domain.high, shape).astype(domain.dtype)
    if domain.low is not None:
        return rng.uniform(domain.low, domain.high, shape).astype(domain.dtype)
    return rng.normal(0, 2, shape).astype(np.float32)


def _some_masked(params: dict[str, Any], drawn: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    drawn[0][rng.random(drawn[0].shape[:-1]) < 0.4] = params["mask_value"]
    return drawn


#: Layers that look for particular values.
INPUTS: dict[str, Callable[[dict[str, Any], list[np.ndarray], np.random.Generator], list[np.ndarray]]] = {
    "Masking": _some_masked
}


def _weight(role: str, shape: tuple[int, ...], fan_in: int, rng: np.random.Generator) -> np.ndarray:
    if role in ("scale", "variance"):
        return np.asarray(rng.uniform(0.5, 1.5, shape), dtype=np.float32)
    return np.asarray(rng.normal(0, 1 / np.sqrt(fan_in), shape), dtype=np.float32)


def _example(name: str, rng: np.random.Generator) -> Example:
    spec = layer(name)
    for _ in range(ATTEMPTS):
        own, called = _params(spec.parameters, rng), _params(spec.call_parameters, rng)
        params = spec.complete({**own, **called})
        shapes = _shapes(spec, params, rng)
        if spec.unsaid(params):
            continue
        try:
            spec.shape(params, shapes)
        except ShapeError:
            continue
        inputs = tuple(_inputs(spec, params, shapes, rng))
        declared = spec.weights(params, shapes)
        weights = {f"layer/{key}": _weight(w.role, w.shape, w.fan_in, rng) for key, w in declared.items()}
        refs = tuple(Ref(f"input_{index}") for index in range(len(inputs)))
        return Example(Node("layer", name, refs, own, call_params=called), inputs, weights)
    raise AssertionError(f"no fitting use of {name} in {ATTEMPTS} attempts")


@pytest.fixture(scope="session")
def draw_example() -> Callable[[str, np.random.Generator], Example]:
    return _example
