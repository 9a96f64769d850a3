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
    "attention": {"AdditiveAttention": "ADDITIVE_ATTENTION", "Attention": "ATTENTION"},
    "convolution": {"Conv1D": "CONV1D", "Conv2D": "CONV2D", "Conv3D": "CONV3D"},
    "dense": {"Dense": "DENSE"},
    "depthwise": {
        "DepthwiseConv1D": "DEPTHWISE_CONV1D",
        "DepthwiseConv2D": "DEPTHWISE_CONV2D",
        "SeparableConv1D": "SEPARABLE_CONV1D",
        "SeparableConv2D": "SEPARABLE_CONV2D",
    },
    "embedding": {"Embedding": "EMBEDDING", "Masking": "MASKING"},
    "heads": {"GroupQueryAttention": "GROUP_QUERY_ATTENTION", "MultiHeadAttention": "MULTI_HEAD_ATTENTION"},
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
        "AveragePooling1D": "AVERAGE_POOLING1D",
        "AveragePooling2D": "AVERAGE_POOLING2D",
        "AveragePooling3D": "AVERAGE_POOLING3D",
        "GlobalAveragePooling1D": "GLOBAL_AVERAGE_POOLING1D",
        "GlobalAveragePooling2D": "GLOBAL_AVERAGE_POOLING2D",
        "GlobalAveragePooling3D": "GLOBAL_AVERAGE_POOLING3D",
        "GlobalMaxPooling1D": "GLOBAL_MAX_POOLING1D",
        "GlobalMaxPooling2D": "GLOBAL_MAX_POOLING2D",
        "GlobalMaxPooling3D": "GLOBAL_MAX_POOLING3D",
        "MaxPooling1D": "MAX_POOLING1D",
        "MaxPooling2D": "MAX_POOLING2D",
        "MaxPooling3D": "MAX_POOLING3D",
    },
    "recurrent": {"GRU": "GRU", "LSTM": "LSTM", "SimpleRNN": "SIMPLE_RNN"},
    "regularization": {"Dropout": "DROPOUT", "Identity": "IDENTITY", "Rescaling": "RESCALING"},
    "reshaping": {
        "Cropping2D": "CROPPING2D",
        "Flatten": "FLATTEN",
        "Permute": "PERMUTE",
        "Reshape": "RESHAPE",
        "UpSampling2D": "UP_SAMPLING2D",
        "ZeroPadding2D": "ZERO_PADDING2D",
    },
    "wrapping": {"Bidirectional": "BIDIRECTIONAL", "TimeDistributed": "TIME_DISTRIBUTED"},
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
