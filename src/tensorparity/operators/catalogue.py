"""The catalogue by name. Third parties add layers through the entry point group ``tensorparity.layer``."""

from __future__ import annotations

from ..core.registry import Registry
from .spec import LayerSpec

_FAMILIES: dict[str, dict[str, str]] = {
    "activation": {
        "Activation": "ACTIVATION",
        "ELU": "ELU",
        "LeakyReLU": "LEAKY_RELU",
        "PReLU": "PRELU",
        "ReLU": "RELU",
        "Softmax": "SOFTMAX",
    },
    "adaptive": {
        "AdaptiveAveragePooling1D": "ADAPTIVE_AVERAGE_POOLING1D",
        "AdaptiveAveragePooling2D": "ADAPTIVE_AVERAGE_POOLING2D",
        "AdaptiveAveragePooling3D": "ADAPTIVE_AVERAGE_POOLING3D",
        "AdaptiveMaxPooling1D": "ADAPTIVE_MAX_POOLING1D",
        "AdaptiveMaxPooling2D": "ADAPTIVE_MAX_POOLING2D",
        "AdaptiveMaxPooling3D": "ADAPTIVE_MAX_POOLING3D",
    },
    "attention": {"AdditiveAttention": "ADDITIVE_ATTENTION", "Attention": "ATTENTION"},
    "cells": {
        "RNN": "RNN",
    },
    "convlstm": {
        "ConvLSTM1D": "CONV_LSTM1D",
        "ConvLSTM2D": "CONV_LSTM2D",
        "ConvLSTM3D": "CONV_LSTM3D",
    },
    "convolution": {"Conv1D": "CONV1D", "Conv2D": "CONV2D", "Conv3D": "CONV3D"},
    "dense": {"Dense": "DENSE"},
    "depthwise": {
        "DepthwiseConv1D": "DEPTHWISE_CONV1D",
        "DepthwiseConv2D": "DEPTHWISE_CONV2D",
        "SeparableConv1D": "SEPARABLE_CONV1D",
        "SeparableConv2D": "SEPARABLE_CONV2D",
    },
    "dot": {
        "Dot": "DOT",
    },
    "einsum": {
        "EinsumDense": "EINSUM_DENSE",
    },
    "embedding": {"Embedding": "EMBEDDING", "Masking": "MASKING"},
    "encoding": {
        "CategoryEncoding": "CATEGORY_ENCODING",
        "Discretization": "DISCRETIZATION",
        "Normalization": "NORMALIZATION",
    },
    "heads": {"GroupQueryAttention": "GROUP_QUERY_ATTENTION", "MultiHeadAttention": "MULTI_HEAD_ATTENTION"},
    "images": {
        "RandomBrightness": "RANDOM_BRIGHTNESS",
        "RandomColorDegeneration": "RANDOM_COLOR_DEGENERATION",
        "RandomContrast": "RANDOM_CONTRAST",
        "RandomFlip": "RANDOM_FLIP",
        "RandomHue": "RANDOM_HUE",
        "RandomRotation": "RANDOM_ROTATION",
        "RandomSaturation": "RANDOM_SATURATION",
        "RandomSharpness": "RANDOM_SHARPNESS",
        "RandomShear": "RANDOM_SHEAR",
        "RandomTranslation": "RANDOM_TRANSLATION",
        "RandomZoom": "RANDOM_ZOOM",
    },
    "lookups": {
        "HashedCrossing": "HASHED_CROSSING",
        "Hashing": "HASHING",
        "IntegerLookup": "INTEGER_LOOKUP",
    },
    "margins": {
        "Cropping1D": "CROPPING1D",
        "Cropping2D": "CROPPING2D",
        "Cropping3D": "CROPPING3D",
        "ZeroPadding1D": "ZERO_PADDING1D",
        "ZeroPadding2D": "ZERO_PADDING2D",
        "ZeroPadding3D": "ZERO_PADDING3D",
    },
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
    "norms": {
        "GroupNormalization": "GROUP_NORMALIZATION",
        "RMSNormalization": "RMS_NORMALIZATION",
        "UnitNormalization": "UNIT_NORMALIZATION",
    },
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
    "regularization": {
        "ActivityRegularization": "ACTIVITY_REGULARIZATION",
        "AlphaDropout": "ALPHA_DROPOUT",
        "Dropout": "DROPOUT",
        "GaussianDropout": "GAUSSIAN_DROPOUT",
        "GaussianNoise": "GAUSSIAN_NOISE",
        "Identity": "IDENTITY",
        "Rescaling": "RESCALING",
        "SpatialDropout1D": "SPATIAL_DROPOUT1D",
        "SpatialDropout2D": "SPATIAL_DROPOUT2D",
        "SpatialDropout3D": "SPATIAL_DROPOUT3D",
    },
    "reshaping": {
        "Flatten": "FLATTEN",
        "Permute": "PERMUTE",
        "RepeatVector": "REPEAT_VECTOR",
        "Reshape": "RESHAPE",
    },
    "equalizing": {"ContrastLimitedAdaptiveHistogramEqualization": "CLAHE"},
    "resizing": {"CenterCrop": "CENTER_CROP", "RandomCrop": "RANDOM_CROP", "Resizing": "RESIZING"},
    "augmentation": {
        "AugMix": "AUG_MIX",
        "AutoContrast": "AUTO_CONTRAST",
        "CutMix": "CUT_MIX",
        "Equalization": "EQUALIZATION",
        "MixUp": "MIX_UP",
        "RandAugment": "RAND_AUGMENT",
        "RandomColorJitter": "RANDOM_COLOR_JITTER",
        "RandomElasticTransform": "RANDOM_ELASTIC_TRANSFORM",
        "RandomErasing": "RANDOM_ERASING",
        "RandomGaussianBlur": "RANDOM_GAUSSIAN_BLUR",
        "RandomGrayscale": "RANDOM_GRAYSCALE",
        "RandomInvert": "RANDOM_INVERT",
        "RandomPerspective": "RANDOM_PERSPECTIVE",
        "RandomPosterization": "RANDOM_POSTERIZATION",
        "Solarization": "SOLARIZATION",
    },
    "mel": {"MelSpectrogram": "MEL_SPECTROGRAM"},
    "reversible": {"ReversibleEmbedding": "REVERSIBLE_EMBEDDING"},
    "spectrogram": {"STFTSpectrogram": "STFT_SPECTROGRAM"},
    "transposed": {
        "Conv1DTranspose": "CONV1D_TRANSPOSE",
        "Conv2DTranspose": "CONV2D_TRANSPOSE",
        "Conv3DTranspose": "CONV3D_TRANSPOSE",
    },
    "upsampling": {
        "UpSampling1D": "UP_SAMPLING1D",
        "UpSampling2D": "UP_SAMPLING2D",
        "UpSampling3D": "UP_SAMPLING3D",
    },
    "wrapping": {
        "Bidirectional": "BIDIRECTIONAL",
        "SpectralNormalization": "SPECTRAL_NORMALIZATION",
        "TimeDistributed": "TIME_DISTRIBUTED",
    },
}

_LAYERS: Registry[LayerSpec] = Registry(
    "layer",
    {
        name: f"{__package__}.layers.{family}:{attribute}"
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


def has_reference(name: str) -> bool:
    """Whether the catalogue says what a layer computes, and not only that there is one."""
    return has_layer(name) and not layer(name).voted


def layer_names() -> list[str]:
    return _LAYERS.names()
