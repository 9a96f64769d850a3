"""The zoo's architectures as LayerGraphs: no library is needed to have one."""

from __future__ import annotations

from collections.abc import Callable

from ..core.errors import UsageError
from ..core.graph import GraphBuilder, LayerGraph, Ref


def lenet5() -> LayerGraph:
    """LeNet-5 as CRADLE's three MNIST models have it: two convolutions with pooling, three dense layers."""
    build = GraphBuilder("lenet5")
    x = build.input("image", (28, 28, 1))
    x = build.add("Conv2D", x, name="conv1", filters=6, kernel_size=[5, 5], padding="same", activation="relu")
    x = build.add("MaxPooling2D", x, name="pool1")
    x = build.add("Conv2D", x, name="conv2", filters=16, kernel_size=[5, 5], padding="same", activation="relu")
    x = build.add("MaxPooling2D", x, name="pool2")
    x = build.add("Flatten", x, name="flatten")
    x = build.add("Dense", x, name="fc1", units=120, activation="relu")
    x = build.add("Dense", x, name="fc2", units=84, activation="relu")
    x = build.add("Dense", x, name="logits", units=10)
    return build.build(build.add("Softmax", x, name="predictions"))


def resnet20() -> LayerGraph:
    """ResNet-20 for 32x32 images: three stages of three residual blocks, stride 2 between stages."""
    build = GraphBuilder("resnet20")
    x = _normalized(build, build.input("image", (32, 32, 3)), 16, 1, "stem")
    x = build.add("ReLU", x, name="stem_relu")
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(3):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(build, x, filters, stride, f"s{stage + 1}b{block + 1}")
    x = build.add("GlobalAveragePooling2D", x, name="average")
    x = build.add("Dense", x, name="logits", units=10)
    return build.build(build.add("Softmax", x, name="predictions"))


def _normalized(build: GraphBuilder, x: Ref, filters: int, stride: int, name: str, kernel: int = 3) -> Ref:
    x = build.add(
        "Conv2D",
        x,
        name=f"{name}_conv",
        filters=filters,
        kernel_size=[kernel, kernel],
        strides=[stride, stride],
        padding="same",
        use_bias=False,
    )
    return build.add("BatchNormalization", x, name=f"{name}_bn")


def _residual(build: GraphBuilder, x: Ref, filters: int, stride: int, name: str) -> Ref:
    shortcut = _normalized(build, x, filters, stride, f"{name}_short", kernel=1) if stride > 1 else x
    y = build.add("ReLU", _normalized(build, x, filters, stride, f"{name}_1"), name=f"{name}_1_relu")
    y = _normalized(build, y, filters, 1, f"{name}_2")
    return build.add("ReLU", build.add("Add", y, shortcut, name=f"{name}_add"), name=f"{name}_relu")


def inception_block() -> LayerGraph:
    """One block as InceptionV3 has them: parallel towers, average pooling with padding, concatenation."""
    build = GraphBuilder("inception-block")
    image = build.input("image", (17, 17, 16))
    towers = [build.add("ReLU", _normalized(build, image, 8, 1, "t1", kernel=1), name="t1_relu")]
    y = build.add("ReLU", _normalized(build, image, 8, 1, "t2a", kernel=1), name="t2a_relu")
    towers.append(build.add("ReLU", _normalized(build, y, 12, 1, "t2b"), name="t2b_relu"))
    pooled = build.add("AveragePooling2D", image, name="pool", pool_size=[3, 3], strides=[1, 1], padding="same")
    towers.append(build.add("ReLU", _normalized(build, pooled, 8, 1, "t3", kernel=1), name="t3_relu"))
    x = build.add("Concatenate", *towers, name="mixed")
    x = build.add("MaxPooling2D", x, name="shrink", pool_size=[3, 3], strides=[2, 2], padding="same")
    x = build.add("GlobalAveragePooling2D", x, name="average")
    x = build.add("Dense", x, name="logits", units=10)
    return build.build(build.add("Softmax", x, name="predictions"))


ARCHITECTURES: dict[str, Callable[[], LayerGraph]] = {
    "lenet5": lenet5,
    "resnet20": resnet20,
    "inception-block": inception_block,
}


def architecture(name: str) -> LayerGraph:
    """The zoo's model of that name.

    Raises:
        UsageError: naming those that exist.
    """
    if name not in ARCHITECTURES:
        raise UsageError(f"no model {name!r} in the zoo; there are {', '.join(sorted(ARCHITECTURES))}")
    return ARCHITECTURES[name]()
