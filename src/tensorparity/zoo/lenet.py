"""LeNet-1, LeNet-4 and LeNet-5 as CRADLE's three MNIST models have them (they come from DeepXplore)."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.graph import GraphBuilder, LayerGraph


def lenet1() -> LayerGraph:
    """Two convolutions with pooling, and the classifier."""
    return _lenet("lenet1", filters=(4, 12), dense=())


def lenet4() -> LayerGraph:
    """Wider convolutions, one dense layer before the classifier."""
    return _lenet("lenet4", filters=(6, 16), dense=(84,))


def lenet5() -> LayerGraph:
    """As LeNet-4, with two dense layers."""
    return _lenet("lenet5", filters=(6, 16), dense=(120, 84))


def _lenet(name: str, filters: Sequence[int], dense: Sequence[int]) -> LayerGraph:
    build = GraphBuilder(name)
    x = build.input("image", (28, 28, 1))
    for index, count in enumerate(filters, start=1):
        x = build.add(
            "Conv2D", x, name=f"conv{index}", filters=count, kernel_size=[5, 5], padding="same", activation="relu"
        )
        x = build.add("MaxPooling2D", x, name=f"pool{index}")
    x = build.add("Flatten", x, name="flatten")
    for index, units in enumerate(dense, start=1):
        x = build.add("Dense", x, name=f"fc{index}", units=units, activation="relu")
    x = build.add("Dense", x, name="logits", units=10)
    return build.build(build.add("Softmax", x, name="predictions"))
