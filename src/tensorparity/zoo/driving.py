"""DAVE-2, NVIDIA's network from a camera's picture to a steering angle, in DeepXplore's three variants.

Two departures. Pictures have 64x64 pixels instead of 100x100, which leaves the last convolution one
position of five by five; and the angle, 2 atan(x) in the originals, is pi tanh(x): layers know tanh but
not atan, and either has the range from -pi to pi.
"""

from __future__ import annotations

import math

from ..core.graph import GraphBuilder, LayerGraph, Ref

_PICTURE = (64, 64, 3)


def dave_orig() -> LayerGraph:
    """DaveOrig: five convolutions, five dense layers; the pictures are normalized inside of the network."""
    build = GraphBuilder("dave-orig")
    x = build.add("BatchNormalization", build.input("image", _PICTURE), name="normalized")
    return _steering_head(build, _dense(build, _convolution(build, x)))


def dave_norminit() -> LayerGraph:
    """DaveNormInit: DaveOrig without normalization; its dense layers start from normal numbers of deviation 0.1."""
    build = GraphBuilder("dave-norminit")
    return _steering_head(build, _dense(build, _convolution(build, build.input("image", _PICTURE))))


def dave_dropout() -> LayerGraph:
    """DaveDropout: three convolutions with pooling, dropout between the dense layers."""
    build = GraphBuilder("dave-dropout")
    x = build.input("image", _PICTURE)
    for index, filters in enumerate((16, 32, 64), start=1):
        x = build.add("Conv2D", x, name=f"conv{index}", filters=filters, kernel_size=[3, 3], activation="relu")
        x = build.add("MaxPooling2D", x, name=f"pool{index}")
    x = build.add("Flatten", x, name="flatten")
    x = build.add("Dense", x, name="fc1", units=500, activation="relu")
    x = build.add("Dropout", x, name="dropout1", rate=0.5)
    x = build.add("Dense", x, name="fc2", units=100, activation="relu")
    x = build.add("Dropout", x, name="dropout2", rate=0.25)
    return _steering_head(build, build.add("Dense", x, name="fc3", units=20, activation="relu"))


def _convolution(build: GraphBuilder, x: Ref) -> Ref:
    for index, (filters, kernel, stride) in enumerate(
        ((24, 5, 2), (36, 5, 2), (48, 5, 2), (64, 3, 1), (64, 3, 1)), start=1
    ):
        x = build.add(
            "Conv2D",
            x,
            name=f"conv{index}",
            filters=filters,
            kernel_size=[kernel, kernel],
            strides=[stride, stride],
            activation="relu",
        )
    return build.add("Flatten", x, name="flatten")


def _dense(build: GraphBuilder, x: Ref) -> Ref:
    for index, units in enumerate((1164, 100, 50, 10), start=1):
        x = build.add("Dense", x, name=f"fc{index}", units=units, activation="relu")
    return x


def _steering_head(build: GraphBuilder, x: Ref) -> LayerGraph:
    x = build.add("Dense", x, name="before_angle", units=1)
    x = build.add("Activation", x, name="bounded", activation="tanh")
    return build.build(build.add("Rescaling", x, name="angle", scale=math.pi))
