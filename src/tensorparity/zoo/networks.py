"""Deep convolutional networks for 32x32 images: ResNet-20, VGG-16, MobileNetV2; and a block of InceptionV3."""

from __future__ import annotations

from ..core.graph import GraphBuilder, LayerGraph, Ref

_IMAGE = (32, 32, 3)
#: VGG-16's filters by stage, a quarter of the original's: thirteen convolutions that train in a minute.
_VGG_STAGES = ((16, 16), (32, 32), (64, 64, 64), (128, 128, 128), (128, 128, 128))
#: MobileNetV2's bottlenecks: expansion, filters, repeats, stride of the first. Thin, and ten blocks of seventeen.
_BOTTLENECKS = ((1, 8, 1, 1), (6, 12, 2, 1), (6, 16, 2, 2), (6, 24, 3, 2), (6, 32, 1, 1), (6, 48, 1, 1))


def resnet20() -> LayerGraph:
    """ResNet-20 for 32x32 images: three stages of three residual blocks, stride 2 between stages."""
    build = GraphBuilder("resnet20")
    x = _convolution_and_norm(build, build.input("image", _IMAGE), 16, 1, "stem")
    x = build.add("ReLU", x, name="stem_relu")
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(3):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(build, x, filters, stride, f"s{stage + 1}b{block + 1}")
    return _classifier_head(build, build.add("GlobalAveragePooling2D", x, name="average"))


def vgg16() -> LayerGraph:
    """VGG-16 as it is known for CIFAR-10: with batch normalization, and one dense layer of two; dropout around it."""
    build = GraphBuilder("vgg16")
    x = build.input("image", _IMAGE)
    for stage, widths in enumerate(_VGG_STAGES, start=1):
        for index, filters in enumerate(widths, start=1):
            name = f"block{stage}_conv{index}"
            x = build.add(
                "Conv2D", x, name=name, filters=filters, kernel_size=[3, 3], padding="same", activation="relu"
            )
            x = build.add("BatchNormalization", x, name=f"{name}_bn")
        x = build.add("MaxPooling2D", x, name=f"block{stage}_pool")
    x = build.add("Dropout", build.add("Flatten", x, name="flatten"), name="flatten_dropout", rate=0.5)
    x = build.add("Dense", x, name="fc1", units=128, activation="relu")
    x = build.add("BatchNormalization", x, name="fc1_bn")
    return _classifier_head(build, build.add("Dropout", x, name="fc1_dropout", rate=0.5))


def mobilenetv2() -> LayerGraph:
    """MobileNetV2, thin and for 32x32 images: inverted residuals with depthwise convolutions and ReLU6."""
    build = GraphBuilder("mobilenetv2")
    x = _relu6(build, _convolution_and_norm(build, build.input("image", _IMAGE), 16, 2, "stem"), "stem")
    filters = 16
    block = 0
    for expansion, wanted, repeats, stride in _BOTTLENECKS:
        for repeat in range(repeats):
            block += 1
            x = _bottleneck(build, x, (filters, wanted), expansion, stride if repeat == 0 else 1, f"b{block}")
            filters = wanted
    x = _relu6(build, _convolution_and_norm(build, x, 128, 1, "head", kernel=1), "head")
    x = build.add("GlobalAveragePooling2D", x, name="average")
    return _classifier_head(build, build.add("Dropout", x, name="dropout", rate=0.2))


def inception_block() -> LayerGraph:
    """One block as InceptionV3 has them: parallel towers, average pooling with padding, concatenation."""
    build = GraphBuilder("inception-block")
    image = build.input("image", (17, 17, 16))
    towers = [build.add("ReLU", _convolution_and_norm(build, image, 8, 1, "t1", kernel=1), name="t1_relu")]
    y = build.add("ReLU", _convolution_and_norm(build, image, 8, 1, "t2a", kernel=1), name="t2a_relu")
    towers.append(build.add("ReLU", _convolution_and_norm(build, y, 12, 1, "t2b"), name="t2b_relu"))
    pooled = build.add("AveragePooling2D", image, name="pool", pool_size=[3, 3], strides=[1, 1], padding="same")
    towers.append(build.add("ReLU", _convolution_and_norm(build, pooled, 8, 1, "t3", kernel=1), name="t3_relu"))
    x = build.add("Concatenate", *towers, name="mixed")
    x = build.add("MaxPooling2D", x, name="shrink", pool_size=[3, 3], strides=[2, 2], padding="same")
    return _classifier_head(build, build.add("GlobalAveragePooling2D", x, name="average"))


def _classifier_head(build: GraphBuilder, x: Ref) -> LayerGraph:
    x = build.add("Dense", x, name="logits", units=10)
    return build.build(build.add("Softmax", x, name="predictions"))


def _convolution_and_norm(build: GraphBuilder, x: Ref, filters: int, stride: int, name: str, kernel: int = 3) -> Ref:
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
    shortcut = _convolution_and_norm(build, x, filters, stride, f"{name}_short", kernel=1) if stride > 1 else x
    y = build.add("ReLU", _convolution_and_norm(build, x, filters, stride, f"{name}_1"), name=f"{name}_1_relu")
    y = _convolution_and_norm(build, y, filters, 1, f"{name}_2")
    return build.add("ReLU", build.add("Add", y, shortcut, name=f"{name}_add"), name=f"{name}_relu")


def _relu6(build: GraphBuilder, x: Ref, name: str) -> Ref:
    return build.add("ReLU", x, name=f"{name}_relu6", max_value=6.0)


def _bottleneck(build: GraphBuilder, x: Ref, filters: tuple[int, int], expansion: int, stride: int, name: str) -> Ref:
    """Widen, convolve each channel by itself, narrow without an activation; around it the shortcut, if it fits."""
    given, wanted = filters
    y = x
    if expansion > 1:
        y = _relu6(
            build, _convolution_and_norm(build, y, expansion * given, 1, f"{name}_expand", kernel=1), f"{name}_expand"
        )
    y = build.add(
        "DepthwiseConv2D",
        y,
        name=f"{name}_depthwise",
        kernel_size=[3, 3],
        strides=[stride, stride],
        padding="same",
        use_bias=False,
    )
    y = _relu6(build, build.add("BatchNormalization", y, name=f"{name}_depthwise_bn"), f"{name}_depthwise")
    y = _convolution_and_norm(build, y, wanted, 1, f"{name}_project", kernel=1)
    return build.add("Add", x, y, name=f"{name}_add") if stride == 1 and given == wanted else y
