"""The museum: bugs that the papers describe, each as a planted fault with what must be said of it.

An exhibit is data: the fault and where it is planted, a case that shows it, and the expected diagnosis. The quality
suite plants every one of them; ``docs/museum.md`` is its table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.case import Case
from ..core.finding import Class
from ..core.verdict import Kind, Stage
from .museum_cases import (
    TIE,
    A,
    B,
    call,
    chain,
    first_channels,
    floats,
    given,
    guilty,
    integers,
    large_mean,
    no_dilation,
    operator,
    picture,
    plain,
    pulled_back,
    recurrence,
    reloaded,
    sparse,
    symmetric,
    trained,
    zero_kernel,
)

TENSORFLOW, JAX, TORCH = "keras:tensorflow", "keras:jax", "keras:torch"
NATIVE, NATIVE_JAX, NATIVE_TENSORFLOW = "torch:eager", "jax:eager", "tensorflow:eager"


@dataclass(frozen=True)
class Exhibit:
    """One bug.

    Args:
        source: paper, and figure, section or bug.
        target: where the fault is planted; ``others`` run beside it.
        build: the case, from a generator: other seeds give other numbers.
        api: the public name that must be blamed; ``node`` the layer of the case, for graphs.
        parameter: what the paper names as the cause, which must be among the reduced finding's parameters.
        in_paper: a paper describes this very bug; otherwise one that the quality of diagnosis asks for.
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
    in_paper: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def targets(self) -> tuple[str, ...]:
        return (*self.others, self.target)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Of a documented freedom nobody is."""
        return (self.target,) if self.klass is Class.DEFECT else ()


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
            "torch.nn.functional.avg_pool2d", A, 1, 3, 0, True,
            arrays={"a": np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)},
        ),
        "torch.nn.functional.avg_pool2d", kind=Kind.SHAPE, stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "square root of a negative variance", "batchnorm-unsafe-sqrt", "Audee, section 3.5.2 and [47]", TORCH,
        (TENSORFLOW,),
        given(
            "BatchNormalization", floats([1.0, 2.0], [3.0, -1.0]),
            {"gamma": floats(1, 2), "beta": floats(0, 1), "moving_mean": floats(0, 1),
             "moving_variance": floats(-1e-4, 1)},
        ),
        "keras.layers.BatchNormalization", kind=Kind.NAN,
    ),
    Exhibit(
        "softmax without the maximum", "softmax-without-max", "Audee, section 2.4 and [43]", TENSORFLOW, (TORCH,),
        chain((4,), plain("Rescaling", scale=400.0), guilty("Softmax"), plain("Dense", units=2)),
        "keras.layers.Softmax", kind=Kind.NAN,
    ),
    Exhibit(
        "kernel_size 0", "kernel-size-zero-crashes", "Audee, Figure 8", TORCH, (TENSORFLOW,), zero_kernel,
        "keras.layers.Conv2D", kind=Kind.CRASH,
    ),
    Exhibit(
        "dilation_rate 0", "dilation-rate-zero-accepted", "Audee [49]", TORCH, (TENSORFLOW,), no_dilation,
        "keras.layers.Conv2D", kind=Kind.ACCEPTS_INVALID, stage=Stage.BUILD, parameter="dilation_rate",
    ),
    Exhibit(
        "exponential activation", "exponential-overflows", "Audee, section 3.4", TORCH, (TENSORFLOW,),
        given("Activation", floats([88.0, 1.0, -3.0]), activation="exponential"),
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
        trained("BinaryCrossentropy", floats([0.0, 1.0, 0.0]), floats([0.9999999, 0.9999999, 0.0000001])),
        "keras.losses.BinaryCrossentropy", stage=Stage.LOSS, node=None,
    ),
    Exhibit(
        "ReLU gradient at 0", "relu-gradient-at-zero", "Muffin, section 5.1, BC bugs", TORCH, (TENSORFLOW,),
        pulled_back("ReLU", floats([0.0, 1.0, -1.0]), floats([2.0, 1.0, 1.0])),
        "keras.layers.ReLU", stage=Stage.BACKWARD, klass=Class.SPECIFICATION,
    ),
    Exhibit(
        "ties of max()", "max-gradient-to-first", "Muffin, section 6.1", TORCH, (TENSORFLOW,),
        pulled_back("GlobalMaxPooling1D", TIE, floats([1.0])),
        "keras.layers.GlobalMaxPooling1D", stage=Stage.BACKWARD, klass=Class.SPECIFICATION,
    ),
    Exhibit(
        "ties of categorical hinge", "max-gradient-to-first", "Muffin, section 6.1", TORCH, (TENSORFLOW,),
        trained("CategoricalHinge", floats([0.25, 0.5, 0.5]), floats([1.0, 0.0, 0.0])),
        "keras.losses.CategoricalHinge", stage=Stage.BACKWARD, klass=Class.SPECIFICATION, node=None,
    ),
    Exhibit(
        "max pooling to all maxima", "maxpool-gradient-to-all", "Muffin, section 6.1", TORCH, (TENSORFLOW, JAX),
        pulled_back("MaxPooling1D", floats([[2.0], [2.0], [1.0], [0.0]]), floats([[1.0], [1.0]]), pool_size=2),
        "keras.layers.MaxPooling1D", stage=Stage.BACKWARD,
    ),
    Exhibit(
        "GlobalMaxPooling of NaN", "globalmaxpool-ignores-nan", "Muffin, section 5.1, NaN bugs", TENSORFLOW, (TORCH,),
        given("GlobalMaxPooling1D", floats([[np.nan, 1.0], [np.nan, 2.0]])),
        "keras.layers.GlobalMaxPooling1D", kind=Kind.NAN,
    ),
    Exhibit(
        "truncated Newton square root", "sqrt-truncated-newton", "Predoo, section 5", NATIVE, (NATIVE_JAX,),
        operator("sqrt", x=floats([1.0, 2.0, 1e-6, 4e6])), "torch.sqrt", kind=Kind.PRECISION, stage=Stage.CALL,
        node=None,
    ),
    Exhibit(
        "NCHW convolution refused", "conv-refuses-nchw", "Predoo, section 4.4", NATIVE_JAX, (NATIVE,), first_channels,
        "jax.lax.conv_general_dilated", kind=Kind.ERROR, stage=Stage.CALL, node=None, parameter="data_format",
    ),
    Exhibit(
        "norm without kernel", "norm-without-kernel", "Predoo, section 4.4", NATIVE, (NATIVE_JAX,),
        operator(
            "norm", x=np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3), mean=floats(1, 2, 3),
            variance=floats(1, 2, 4), scale=floats(1, 1, 2), offset=floats(0, 1, 0),
        ),
        "torch.nn.functional.batch_norm", kind=Kind.ERROR, stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "bidirectional, time first", "bidirectional-reversed-on-batch", "EAGLE, Figure 1", NATIVE, (), recurrence,
        "torch.rnn_tanh", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "complex division", "complex-division-overflows", "EAGLE, Figure 4", JAX, (TORCH,),
        call("keras.ops.divide", A, B, arrays={"a": np.array([1e30 + 1e30j], np.complex64),
                                                 "b": np.array([1e30 - 2e30j], np.complex64)}),
        "keras.ops.divide", kind=Kind.NAN, stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "fmod of int64", "fmod-through-float", "EAGLE, section 5.2, data format", NATIVE, (),
        call("torch.fmod", A, B, arrays=integers()), "torch.fmod", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "remainder of int64", "remainder-through-float", "EAGLE, section 5.2, data format", NATIVE, (),
        call("torch.remainder", A, B, arrays=integers()), "torch.remainder", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "cosine similarity of int8", "cosine-similarity-in-int8", "EAGLE, section 5.2, data format", NATIVE, (),
        call(
            "torch.nn.functional.cosine_similarity", A, B, 0,
            arrays={"a": np.array([100, 27, -3], np.int8), "b": np.array([90, 3, 11], np.int8)},
        ),
        "torch.nn.functional.cosine_similarity", kind=Kind.ACCEPTS_INVALID, stage=Stage.CALL, node=None,
        parameter="dtype",
    ),
    Exhibit(
        "sspaddmm on non-contiguous indices", "sspaddmm-row-contiguous-indices", "EAGLE, Figure 5", NATIVE, (),
        sparse, "torch.sspaddmm", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "GIF round trip", "gif-loses-lowest-bit", "EAGLE, section 5.2, inverse equivalence", NATIVE_TENSORFLOW, (),
        picture, "tensorflow.io.decode_gif", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "from_config", "config-loses-setting", "EAGLE, section 5.2, model evaluation", TORCH, (TENSORFLOW,),
        reloaded(given("LeakyReLU", floats([-1.0, 2.0, -3.0]), negative_slope=0.7)),
        "keras.layers.LeakyReLU", stage=Stage.SAVE_LOAD, parameter="negative_slope",
    ),
    Exhibit(
        "floordiv optimised", "floordiv-by-reciprocal", "EAGLE, section 3.1.1", TORCH, (TENSORFLOW,),
        call("keras.ops.floor_divide", A, B, arrays={"a": floats(41, 7, -7), "b": floats(41, 2, 2)}),
        "keras.ops.floor_divide", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "eigh optimised", "eigh-stops-early", "EAGLE, section 3.1.1", TORCH, (TENSORFLOW,), symmetric,
        "keras.ops.eigh", stage=Stage.CALL, node=None,
    ),
    Exhibit(
        "float16 overflow", "average-overflows-in-half", "EAGLE, Figure 4: overflow on the way", TORCH, (TENSORFLOW,),
        given("GlobalAveragePooling1D", np.full((1, 32, 2), 3000.0, np.float32), dtype="float16"),
        "keras.layers.GlobalAveragePooling1D", kind=Kind.NAN, in_paper=False,
    ),
    Exhibit(
        "variance by cancellation", "variance-by-cancellation", "Audee, section 3.5.2: a negative variance", JAX,
        (TORCH,), large_mean,
        "keras.layers.LayerNormalization", in_paper=False,
    ),
)  # fmt: skip
