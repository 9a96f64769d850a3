"""The catalogue by name. Third parties add layers through the entry point group ``tensorparity.layer``."""

from __future__ import annotations

from ..core.registry import Registry
from .spec import LayerSpec

_FAMILIES: dict[str, dict[str, str]] = {
    "activation": {
        "Activation": "ACTIVATION",
        "ELU": "ELU",
        "LeakyReLU": "LEAKY_RELU",
        "ReLU": "RELU",
        "Softmax": "SOFTMAX",
    },
    "convolution": {
        "Conv2D": "CONV2D",
        "DepthwiseConv2D": "DEPTHWISE_CONV2D",
        "SeparableConv2D": "SEPARABLE_CONV2D",
    },
    "dense": {"Dense": "DENSE"},
    "merging": {
        "Add": "ADD",
        "Average": "AVERAGE",
        "Concatenate": "CONCATENATE",
        "Maximum": "MAXIMUM",
        "Minimum": "MINIMUM",
        "Multiply": "MULTIPLY",
        "Subtract": "SUBTRACT",
    },
    "normalization": {"BatchNormalization": "BATCH_NORMALIZATION", "LayerNormalization": "LAYER_NORMALIZATION"},
    "pooling": {
        "AveragePooling2D": "AVERAGE_POOLING2D",
        "GlobalAveragePooling2D": "GLOBAL_AVERAGE_POOLING2D",
        "GlobalMaxPooling2D": "GLOBAL_MAX_POOLING2D",
        "MaxPooling2D": "MAX_POOLING2D",
    },
    "regularization": {"Dropout": "DROPOUT", "Identity": "IDENTITY", "Rescaling": "RESCALING"},
    "reshaping": {
        "Cropping2D": "CROPPING2D",
        "Flatten": "FLATTEN",
        "Permute": "PERMUTE",
        "Reshape": "RESHAPE",
        "UpSampling2D": "UP_SAMPLING2D",
        "ZeroPadding2D": "ZERO_PADDING2D",
    },
}

_LAYERS: Registry[LayerSpec] = Registry(
    "layer",
    {
        name: f"{__package__}.{family}:{attribute}"
        for family, members in _FAMILIES.items()
        for name, attribute in members.items()
    },
)


def layer(name: str) -> LayerSpec:
    """The declaration of a layer type.

    Raises:
        UsageError: if the catalogue has no such layer.
    """
    return _LAYERS.get(name)


def has_layer(name: str) -> bool:
    return name in _LAYERS


def layer_names() -> list[str]:
    return _LAYERS.names()
