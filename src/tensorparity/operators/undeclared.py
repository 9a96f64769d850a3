"""Arguments of Keras' constructors and calls that the catalogue does not declare, and why.

A test compares this, and the declarations, with the signatures of the installed Keras, so that a new one is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping

#: By the end of an argument's name, of whatever class it is.
BY_SUFFIX: dict[str, str] = {
    "_initializer": "weights are part of the case, no library draws one",
    "_regularizer": "declared where ``governed`` is; elsewhere a loss with it is not judged",
    "_constraint": "declared where ``governed`` is; elsewhere weights with it are not judged",
}

#: Of any class.
EVERYWHERE: dict[str, str] = {
    "name": "a name",
    "dtype": "a dtype policy belongs to the procedure",
    "trainable": "which weights are trained is said by the declaration of each",
    "autocast": "a dtype policy belongs to the procedure",
}

_VALUES = "the same as the weights of the case"
_LORA = "a way to train few weights, which are no part of the layer until it is enabled by a call"
_QUANTIZED = "of layers that are quantized by a call, after they were made"
_SPARSE = "sparse tensors, which TensorFlow alone has, and which no other layer takes"
_RANDOM = "of what is drawn at random in training; the layer is declared for inference"
_FLASH = "a choice of kernel for accelerators"
_SEED = "of random initializers and of dropout, neither of which is drawn by a library"
_ADAPT = "of ``adapt``, which finds the boundaries; they are given here"
_BASE = "read by the base class; the layer has channels last, or none"
_UNROLL = "how steps are run, not what they compute; declared for the other recurrent layers"
_STATES = "states are carried from call to call"
_MASK = "masks travel beside the values"
_INPUT = "an input"


def _random(*arguments: str) -> dict[str, str]:
    return dict.fromkeys(arguments, _RANDOM)


#: The constructor's, by layer.
LAYERS: dict[str, dict[str, str]] = {
    "AdditiveAttention": {"seed": _SEED},
    "Attention": {"seed": _SEED},
    "AugMix": _random("all_ops", "alpha", "chain_depth", "interpolation", "num_chains", "value_range"),
    "AutoContrast": {"data_format": _BASE},
    "BatchNormalization": {"synchronized": "of several devices, of which there is one"},
    "Bidirectional": {"weights": _VALUES},
    "CategoryEncoding": {"sparse": _SPARSE},
    **{f"ConvLSTM{dims}D": {"seed": _SEED, "unit_forget_bias": _VALUES, "unroll": _UNROLL} for dims in (1, 2, 3)},
    "Dense": {"lora_alpha": _LORA, "lora_rank": _LORA, "quantization_config": _QUANTIZED},
    "Discretization": {"epsilon": _ADAPT, "num_bins": _ADAPT, "sparse": _SPARSE},
    "EinsumDense": {
        "gptq_unpacked_column_size": _QUANTIZED,
        "lora_alpha": _LORA,
        "lora_rank": _LORA,
        "quantization_config": _QUANTIZED,
    },
    "Embedding": {"lora_alpha": _LORA, "lora_rank": _LORA, "quantization_config": _QUANTIZED, "weights": _VALUES},
    "Equalization": _random("value_range"),
    "GRU": {"seed": _SEED, "use_cudnn": _FLASH},
    "GroupQueryAttention": {"flash_attention": _FLASH, "seed": _SEED},
    "HashedCrossing": {"sparse": _SPARSE},
    "Hashing": {"sparse": _SPARSE},
    "IntegerLookup": {
        "sparse": _SPARSE,
        "vocabulary_dtype": "the width of the integers of a table that fits into the narrower one",
        "vocabulary_size": "written into the configuration, not read from it",
    },
    "LSTM": {"seed": _SEED, "unit_forget_bias": _VALUES, "use_cudnn": _FLASH},
    "LayerNormalization": {"rms_scaling": "no argument any more: RMSNormalization is a layer of its own"},
    "MultiHeadAttention": {"flash_attention": _FLASH, "seed": _SEED},
    "RandAugment": _random("interpolation", "num_ops", "value_range"),
    "RandomBrightness": {"data_format": _BASE, **_random("value_range")},
    "RandomColorDegeneration": _random("value_range"),
    "RandomColorJitter": _random("value_range"),
    "RandomContrast": {"data_format": _BASE, **_random("value_range")},
    "RandomElasticTransform": _random("fill_mode", "fill_value", "interpolation", "scale", "value_range"),
    "RandomErasing": _random("fill_value", "scale", "value_range"),
    "RandomGaussianBlur": _random("kernel_size", "sigma", "value_range"),
    "RandomHue": _random("value_range"),
    "RandomInvert": _random("value_range"),
    "RandomPerspective": _random("fill_value", "interpolation", "scale"),
    "RandomPosterization": _random("value_range"),
    "RandomRotation": _random("fill_mode", "fill_value", "interpolation"),
    "RandomSaturation": _random("value_range"),
    "RandomSharpness": _random("value_range"),
    "RandomShear": _random("fill_mode", "fill_value", "interpolation"),
    "RandomTranslation": _random("fill_mode", "fill_value", "interpolation"),
    "RandomZoom": _random("fill_mode", "fill_value", "interpolation"),
    "ReversibleEmbedding": {
        "quantization_config": _QUANTIZED,
        "reverse_dtype": "a dtype policy belongs to the procedure",
    },
    "STFTSpectrogram": dict.fromkeys(
        ("periodic", "scaling", "window"), "of the kernels, which are weights of the case"
    ),
    "SimpleRNN": {"seed": _SEED},
    "Solarization": {"data_format": _BASE, **_random("value_range")},
}

#: The call's, by name: inputs, and what travels beside them.
CALLS: dict[str, str] = {
    **dict.fromkeys(("count_weights", "data", "inputs", "key", "query", "sequences", "value", "x"), _INPUT),
    **dict.fromkeys(("attention_mask", "key_mask", "mask", "query_mask", "value_mask"), _MASK),
    "initial_state": _STATES,
    "training": "belongs to the procedure",
}

_ENCODING = "of the bytes of strings, which travel as UTF-8"

#: The constructor's, by layer that is called on strings.
TEXT_LAYERS: dict[str, dict[str, str]] = {
    "StringLookup": {"encoding": _ENCODING, "sparse": _SPARSE},
    "TextVectorization": {
        "encoding": _ENCODING,
        "ragged": "ragged tensors, which TensorFlow alone has, and which no other layer takes",
        "sparse": _SPARSE,
    },
}

LOSSES: dict[str, dict[str, str]] = {}
METRICS: dict[str, dict[str, str]] = {}
OPTIMIZERS: dict[str, dict[str, str]] = {}


def reason(table: Mapping[str, Mapping[str, str]], name: str, argument: str) -> str:
    """Why an argument of a class is not declared; empty where nobody has said."""
    own = table.get(name, {})
    by_suffix = (text for suffix, text in BY_SUFFIX.items() if argument.endswith(suffix))
    return own.get(argument) or EVERYWHERE.get(argument) or next(by_suffix, "")
