"""The museum: bugs that the papers describe, each as a planted fault with what must be said of it.

An exhibit is data: the fault and where it is planted, a case that shows it, and the expected diagnosis. The quality
suite plants every one of them; ``docs/museum.md`` is its table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, ArrayArg, Case
from ..core.finding import Class
from ..core.graph import GraphBuilder, LayerGraph
from ..core.procedure import Goal, Procedure, Recipe
from ..core.verdict import Kind, Stage
from ..operators.evaluate import draw_weights

TENSORFLOW, JAX, TORCH, NATIVE = "keras:tensorflow", "keras:jax", "keras:torch", "torch:eager"

#: A layer's type and its parameters.
Step = tuple[str, dict[str, object]]


@dataclass(frozen=True)
class Exhibit:
    """One bug.

    Args:
        source: paper, and figure, section or bug.
        target: where the fault is planted; ``others`` run beside it.
        build: the case, from a generator: other seeds give other numbers.
        api: the public name that must be blamed; ``node`` the layer of the case, for graphs.
        parameter: what the paper names as the cause, which must be among the reduced finding's parameters.
    """

    name: str
    fault: str
    source: str
    target: str
    others: tuple[str, ...]
    build: Callable[[np.random.Generator], Case]
    api: str
    kind: Kind = Kind.INCONSISTENCY
    stage: Stage = Stage.FORWARD
    klass: Class = Class.DEFECT
    node: str | None = "guilty#0"
    parameter: str | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def targets(self) -> tuple[str, ...]:
        return (*self.others, self.target)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Of a documented freedom nobody is."""
        return (self.target,) if self.klass is Class.DEFECT else ()


# --- cases


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


def _floats(*values: object) -> Array:
    return np.array(values, np.float32)


_A, _B = ArrayArg("a"), ArrayArg("b")
_TIE = _floats([[1.0], [3.0], [3.0], [0.0]])


def _integers() -> dict[str, Array]:
    return {"a": np.array([2**40 + 1, 7, -(2**33) - 5], np.int64), "b": np.array([3, 4, 7], np.int64)}


def _recurrence(rng: np.random.Generator) -> Case:
    """Three steps of two sequences, time first, with different weights for the two directions."""
    shapes = {"w": (2, 3), "u": (2, 2), "b": (2,), "c": (2,)}
    arrays = {f"{name}{side}": _drawn(rng, shape) for side in (0, 1) for name, shape in shapes.items()}
    arrays = {"x": _drawn(rng, (3, 2, 3)), "h": np.zeros((2, 2, 2), np.float32), **arrays}
    weights = tuple(ArrayArg(f"{name}{side}") for side in (0, 1) for name in shapes)
    arguments = (ArrayArg("x"), ArrayArg("h"), weights, True, 1, 0.0, False, True, False)
    return Case(ApiCall("torch.rnn_tanh", arguments), Procedure(goal=Goal.CALL), inputs=arrays)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def _symmetric(rng: np.random.Generator) -> Case:
    matrix = _drawn(rng, (4, 4))
    return call("keras.ops.eigh", _A, arrays={"a": matrix + matrix.T})(rng)


def _large_mean(rng: np.random.Generator) -> Case:
    x = (300.0 + 0.3 * rng.standard_normal((2, 8))).astype(np.float32)
    return given("LayerNormalization", x)(rng)


def _zero_kernel(rng: np.random.Generator) -> Case:
    weights = {"kernel": np.zeros((0, 0, 1, 2), np.float32), "bias": np.zeros(2, np.float32)}
    return given("Conv2D", np.ones((1, 4, 4, 1), np.float32), weights, filters=2, kernel_size=0)(rng)


def _no_dilation(rng: np.random.Generator) -> Case:
    weights = {"kernel": np.ones((2, 2, 1, 2), np.float32), "bias": np.zeros(2, np.float32)}
    return given("Conv2D", np.ones((1, 4, 4, 1), np.float32), weights, filters=2, kernel_size=2, dilation_rate=0)(rng)


# --- the exhibits

_CONV = plain("Conv2D", filters=3, kernel_size=3, padding="same", activation="tanh")
_END = (plain("Flatten"), plain("Dense", units=3))

EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "batch-norm epsilon", "batchnorm-epsilon-outside-sqrt", "CRADLE, Figure 2", TORCH, (TENSORFLOW,),
        chain((4, 4, 2), _CONV, guilty("BatchNormalization"), *_END),
        "keras.layers.BatchNormalization",
    ),
    Exhibit(
        "pooling scheme", "avgpool-counts-padding", "CRADLE, Figure 6", TORCH, (TENSORFLOW,),
        chain((5, 5, 2), _CONV, guilty("AveragePooling2D", pool_size=2, padding="same"), *_END),
        "keras.layers.AveragePooling2D", parameter="padding",
    ),
    Exhibit(
        "SAME padding shift", "same-padding-shifted", "CRADLE, section V-A, padding scheme", TORCH, (TENSORFLOW,),
        chain((6, 6, 2), plain("ReLU"), guilty("Conv2D", filters=2, kernel_size=2, padding="same"), *_END),
        "keras.layers.Conv2D", parameter="padding",
    ),
    Exhibit(
        "convolution kernel orientation", "conv-kernels-flipped", "CRADLE, Table III, parameter organization", TORCH,
        (TENSORFLOW,),
        chain((5, 5, 2), plain("Rescaling", scale=0.5), guilty("Conv2D", filters=2, kernel_size=3), *_END),
        "keras.layers.Conv2D",
    ),
    Exhibit(
        "depthwise convolution of one channel", "depthwise-first-channel", "Audee, Figure 6a", TORCH, (TENSORFLOW,),
        chain((4, 4, 3), plain("ReLU"), guilty("DepthwiseConv2D", kernel_size=2, padding="same"), *_END),
        "keras.layers.DepthwiseConv2D", parameter="padding",
    ),
    Exhibit(
        "average pooling outside of the image", "avgpool-steps-outside", "Audee, Figure 7", NATIVE, (),
        call(
            "torch.nn.functional.avg_pool2d", _A, 1, 3, 0, True,
            arrays={"a": np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)},
        ),
        "torch.nn.functional.avg_pool2d", kind=Kind.SHAPE, stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "square root of a negative variance", "batchnorm-unsafe-sqrt", "Audee, section 3.5.2 and [47]", TORCH,
        (TENSORFLOW,),
        given(
            "BatchNormalization", _floats([1.0, 2.0], [3.0, -1.0]),
            {"gamma": _floats(1, 2), "beta": _floats(0, 1), "moving_mean": _floats(0, 1),
             "moving_variance": _floats(-1e-4, 1)},
        ),
        "keras.layers.BatchNormalization", kind=Kind.NAN,
    ),
    Exhibit(
        "softmax without the maximum", "softmax-without-max", "Audee, section 2.4 and [43]", TENSORFLOW, (TORCH,),
        chain((4,), plain("Rescaling", scale=400.0), guilty("Softmax"), plain("Dense", units=2)),
        "keras.layers.Softmax", kind=Kind.NAN,
    ),
    Exhibit(
        "kernel_size 0", "kernel-size-zero-crashes", "Audee, Figure 8", TORCH, (TENSORFLOW,), _zero_kernel,
        "keras.layers.Conv2D", kind=Kind.CRASH,
    ),
    Exhibit(
        "dilation_rate 0", "dilation-rate-zero-accepted", "Audee [49]", TORCH, (TENSORFLOW,), _no_dilation,
        "keras.layers.Conv2D", kind=Kind.ACCEPTS_INVALID, stage=Stage.BUILD, parameter="dilation_rate",
    ),
    Exhibit(
        "exponential activation", "exponential-overflows", "Audee, section 3.4", TORCH, (TENSORFLOW,),
        given("Activation", _floats([88.0, 1.0, -3.0]), activation="exponential"),
        "keras.layers.Activation", kind=Kind.NAN, parameter="activation",
    ),
    Exhibit(
        "max pooling with SAME padding", "maxpool-same-shifted", "Audee, section 3.5.1, Figure 6c", TORCH,
        (TENSORFLOW,),
        chain((5, 5, 2), _CONV, guilty("MaxPooling2D", pool_size=2, padding="same"), *_END),
        "keras.layers.MaxPooling2D", parameter="padding",
    ),
    Exhibit(
        "average pooling of the whole input", "avgpool-window-as-large-as-input", "Muffin, section 5.1, FC bugs", TORCH,
        (TENSORFLOW,),
        chain((4, 4, 2), _CONV, guilty("AveragePooling2D", pool_size=4, padding="same"), *_END),
        "keras.layers.AveragePooling2D", parameter="pool_size",
    ),
    Exhibit(
        "BinaryCrossentropy epsilon", "bce-epsilon-twice", "Muffin, section 5.1, LC bugs", TORCH, (TENSORFLOW, JAX),
        trained("BinaryCrossentropy", _floats([0.0, 1.0, 0.0]), _floats([0.9999999, 0.9999999, 0.0000001])),
        "keras.losses.BinaryCrossentropy", stage=Stage.LOSS, node=None,
    ),
    Exhibit(
        "ReLU gradient at 0", "relu-gradient-at-zero", "Muffin, section 5.1, BC bugs", TORCH, (TENSORFLOW,),
        pulled_back("ReLU", _floats([0.0, 1.0, -1.0]), _floats([2.0, 1.0, 1.0])),
        "keras.layers.ReLU", stage=Stage.BACKWARD, klass=Class.SPECIFICATION,
    ),
    Exhibit(
        "ties of max()", "max-gradient-to-first", "Muffin, section 6.1", TORCH, (TENSORFLOW,),
        pulled_back("GlobalMaxPooling1D", _TIE, _floats([1.0])),
        "keras.layers.GlobalMaxPooling1D", stage=Stage.BACKWARD, klass=Class.SPECIFICATION,
    ),
    Exhibit(
        "ties of categorical hinge", "max-gradient-to-first", "Muffin, section 6.1", TORCH, (TENSORFLOW,),
        trained("CategoricalHinge", _floats([0.25, 0.5, 0.5]), _floats([1.0, 0.0, 0.0])),
        "keras.losses.CategoricalHinge", stage=Stage.BACKWARD, klass=Class.SPECIFICATION, node=None,
    ),
    Exhibit(
        "max pooling to all maxima", "maxpool-gradient-to-all", "Muffin, section 6.1", TORCH, (TENSORFLOW, JAX),
        pulled_back("MaxPooling1D", _floats([[2.0], [2.0], [1.0], [0.0]]), _floats([[1.0], [1.0]]), pool_size=2),
        "keras.layers.MaxPooling1D", stage=Stage.BACKWARD,
    ),
    Exhibit(
        "GlobalMaxPooling of NaN", "globalmaxpool-ignores-nan", "Muffin, section 5.1, NaN bugs", TENSORFLOW, (TORCH,),
        given("GlobalMaxPooling1D", _floats([[np.nan, 1.0], [np.nan, 2.0]])),
        "keras.layers.GlobalMaxPooling1D", kind=Kind.NAN,
    ),
    Exhibit(
        "bidirectional, time first", "bidirectional-reversed-on-batch", "EAGLE, Figure 1", NATIVE, (), _recurrence,
        "torch.rnn_tanh", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "complex division", "complex-division-overflows", "EAGLE, Figure 4", JAX, (TORCH,),
        call("keras.ops.divide", _A, _B, arrays={"a": np.array([1e30 + 1e30j], np.complex64),
                                                 "b": np.array([1e30 - 2e30j], np.complex64)}),
        "keras.ops.divide", kind=Kind.NAN, stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "fmod of int64", "fmod-through-float", "EAGLE, section 5.2, data format", NATIVE, (),
        call("torch.fmod", _A, _B, arrays=_integers()), "torch.fmod", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "remainder of int64", "remainder-through-float", "EAGLE, section 5.2, data format", NATIVE, (),
        call("torch.remainder", _A, _B, arrays=_integers()), "torch.remainder", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "from_config", "config-loses-setting", "EAGLE, section 5.2, model evaluation", TORCH, (TENSORFLOW,),
        reloaded(given("LeakyReLU", _floats([-1.0, 2.0, -3.0]), negative_slope=0.7)),
        "keras.layers.LeakyReLU", stage=Stage.SAVE_LOAD, parameter="negative_slope",
    ),
    Exhibit(
        "floordiv optimised", "floordiv-by-reciprocal", "EAGLE, section 3.1.1", TORCH, (TENSORFLOW,),
        call("keras.ops.floor_divide", _A, _B, arrays={"a": _floats(41, 7, -7), "b": _floats(41, 2, 2)}),
        "keras.ops.floor_divide", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "eigh optimised", "eigh-stops-early", "EAGLE, section 3.1.1", TORCH, (TENSORFLOW,), _symmetric,
        "keras.ops.eigh", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "float16 overflow", "average-overflows-in-half", "EAGLE, Figure 4: overflow on the way", TORCH, (TENSORFLOW,),
        given("GlobalAveragePooling1D", np.full((1, 32, 2), 3000.0, np.float32), dtype="float16"),
        "keras.layers.GlobalAveragePooling1D", kind=Kind.NAN,
    ),
    Exhibit(
        "variance by cancellation", "variance-by-cancellation", "Audee, section 3.5.2: a negative variance", JAX,
        (TORCH,), _large_mean,
        "keras.layers.LayerNormalization",
    ),
)  # fmt: skip
