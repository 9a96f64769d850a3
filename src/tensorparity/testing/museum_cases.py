"""The cases of the museum: small numbers that show a bug, and the networks around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, ArrayArg, Case
from ..core.graph import GraphBuilder, LayerGraph
from ..core.procedure import Goal, Procedure, Recipe
from ..operators.functions.catalogue import OPERATORS
from ..operators.reference.evaluate import draw_weights

#: A layer's type and its parameters.
Step = tuple[str, dict[str, object]]


def chain(
    shape: tuple[int, ...], *steps: Step, procedure: Procedure | None = None, scale: float = 1.0
) -> Callable[[np.random.Generator], Case]:
    """Layers one after another on normal numbers; the one that is to be blamed is marked by its name."""

    def build(rng: np.random.Generator) -> Case:
        graph = _chain(shape, steps)
        x = (scale * rng.standard_normal((2, *shape))).astype(np.float32)
        return Case(graph, procedure or Procedure(), inputs={"x": x}, weights=draw_weights(graph, rng))

    return build


def _chain(shape: tuple[int, ...], steps: Sequence[Step]) -> LayerGraph:
    builder = GraphBuilder("exhibit")
    x = builder.input("x", shape)
    for op, params in steps:
        x = builder.add(op, x, **params)  # type: ignore[arg-type]
    return builder.build(x)


def guilty(op: str, **params: object) -> Step:
    return op, {"name": "guilty", **params}


def plain(op: str, **params: object) -> Step:
    return op, params


def given(
    op: str, x: Array, weights: Mapping[str, Array] | None = None, dtype: str | None = None, **params: object
) -> Callable[[np.random.Generator], Case]:
    """One layer on numbers that show it; weights as given, or drawn."""

    def build(rng: np.random.Generator) -> Case:
        graph = _chain(x.shape[1:], [guilty(op, **params)])
        own = draw_weights(graph, rng) if weights is None else {f"guilty/{n}": a for n, a in weights.items()}
        return Case(graph, Procedure(dtype=dtype), inputs={"x": x}, weights=own)

    return build


def reloaded(build: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
    """The same, saved and loaded before it is run."""

    def rebuilt(rng: np.random.Generator) -> Case:
        case = build(rng)
        return replace(case, procedure=replace(case.procedure, reload=True))

    return rebuilt


def pulled_back(op: str, x: Array, cotangent: Array, **params: object) -> Callable[[np.random.Generator], Case]:
    """The backward pass of one layer alone."""

    def build(rng: np.random.Generator) -> Case:
        graph = _chain(x.shape[1:], [guilty(op, **params)])
        procedure = Procedure(goal=Goal.REPLAY, nodes=("guilty#0",))
        return Case(graph, procedure, inputs={"guilty#0/0": x}, cotangents={"guilty#0": cotangent})

    return build


def trained(loss: str, x: Array, labels: Array) -> Callable[[np.random.Generator], Case]:
    """The loss of numbers that pass through unchanged, and its gradient."""

    def build(rng: np.random.Generator) -> Case:
        graph = _chain(x.shape[1:], [guilty("Identity")])
        procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe(loss))
        return Case(graph, procedure, inputs={"x": x}, labels={"guilty": labels})

    return build


def call(
    api: str, *arguments: object, arrays: Mapping[str, Array], **keywords: object
) -> Callable[[np.random.Generator], Case]:
    def build(rng: np.random.Generator) -> Case:
        return Case(ApiCall(api, arguments, keywords), Procedure(goal=Goal.CALL), inputs=arrays)

    return build


def operator(name: str, **arrays: Array) -> Callable[[np.random.Generator], Case]:
    """One operator in every library's own words, channels last."""

    def build(rng: np.random.Generator) -> Case:
        return Case(OPERATORS.get(name).api_call({}), Procedure(goal=Goal.CALL), inputs=arrays)

    return build


def first_channels(rng: np.random.Generator) -> Case:
    arrays = {"x": drawn(rng, (1, 5, 6, 2)), "kernel": drawn(rng, (3, 3, 2, 8))}
    subject = OPERATORS.get("conv2d").api_call({"data_format": "channels_first"})
    return Case(subject, Procedure(goal=Goal.CALL), inputs=arrays)


def picture(rng: np.random.Generator) -> Case:
    """Six by five pixels of four colours."""
    arrays = {
        "indices": rng.integers(0, 4, (6, 5)).astype(np.uint8),
        "palette": np.array([[0, 0, 0], [254, 3, 7], [10, 200, 30], [90, 91, 92]], np.uint8),
    }
    subject = ApiCall("tensorflow.io.decode_gif", tuple(map(ArrayArg, arrays)))
    return Case(subject, Procedure(goal=Goal.CALL), inputs=arrays)


def sparse(rng: np.random.Generator) -> Case:
    """Four entries of a matrix of three by three, by place and value."""
    arrays = {
        "matrix": drawn(rng, (3, 2)),
        "indices": np.array([[0, 1], [0, 2], [1, 0], [2, 2]], np.int64),
        "values": drawn(rng, (4,)),
        "dense": drawn(rng, (3, 2)),
    }
    subject = ApiCall("torch.sspaddmm", tuple(map(ArrayArg, arrays)), {"size": [3, 3]})
    return Case(subject, Procedure(goal=Goal.CALL), inputs=arrays)


def floats(*values: object) -> Array:
    return np.array(values, np.float32)


A, B = ArrayArg("a"), ArrayArg("b")
TIE = floats([[1.0], [3.0], [3.0], [0.0]])


def integers() -> dict[str, Array]:
    return {"a": np.array([2**40 + 1, 7, -(2**33) - 5], np.int64), "b": np.array([3, 4, 7], np.int64)}


def recurrence(rng: np.random.Generator) -> Case:
    """Three steps of two sequences, time first, with different weights for the two directions."""
    shapes = {"w": (2, 3), "u": (2, 2), "b": (2,), "c": (2,)}
    arrays = {f"{name}{side}": drawn(rng, shape) for side in (0, 1) for name, shape in shapes.items()}
    arrays = {"x": drawn(rng, (3, 2, 3)), "h": np.zeros((2, 2, 2), np.float32), **arrays}
    weights = tuple(ArrayArg(f"{name}{side}") for side in (0, 1) for name in shapes)
    arguments = (ArrayArg("x"), ArrayArg("h"), weights, True, 1, 0.0, False, True, False)
    return Case(ApiCall("torch.rnn_tanh", arguments), Procedure(goal=Goal.CALL), inputs=arrays)


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def symmetric(rng: np.random.Generator) -> Case:
    matrix = drawn(rng, (4, 4))
    return call("keras.ops.eigh", A, arrays={"a": matrix + matrix.T})(rng)


def large_mean(rng: np.random.Generator) -> Case:
    x = (300.0 + 0.3 * rng.standard_normal((2, 8))).astype(np.float32)
    return given("LayerNormalization", x)(rng)


def zero_kernel(rng: np.random.Generator) -> Case:
    weights = {"kernel": np.zeros((0, 0, 1, 2), np.float32), "bias": np.zeros(2, np.float32)}
    return given("Conv2D", np.ones((1, 4, 4, 1), np.float32), weights, filters=2, kernel_size=0)(rng)


def no_dilation(rng: np.random.Generator) -> Case:
    weights = {"kernel": np.ones((2, 2, 1, 2), np.float32), "bias": np.zeros(2, np.float32)}
    return given("Conv2D", np.ones((1, 4, 4, 1), np.float32), weights, filters=2, kernel_size=2, dilation_rate=0)(rng)
