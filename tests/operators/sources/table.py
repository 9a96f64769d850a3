"""Which independent sources compute each reference, and how; and the references that have fewer than two.

``torch`` and ``tensorflow`` are what these libraries compute in float64 with their own functions (``in_torch``,
``in_tensorflow``); of several functions, the one that does most of the work is named, and ``composed`` stands for a
formula in sums, products and elementary functions. ``hand`` is a test with numbers worked out by hand, by its name.
"""

from __future__ import annotations

from collections.abc import Iterable

Sources = dict[str, str]

#: Sources that run in a process of their own, and the package that has to be installed for it.
LIBRARIES = ("torch", "tensorflow")

_COMPOSED = "composed"


def _dims(pattern: str, dims: Iterable[int] = (1, 2, 3), **sources: str) -> dict[str, Sources]:
    """One row per number of spatial axes; ``*`` stands for it."""
    return {
        pattern.replace("*", f"{count}D"): {name: how.replace("*", str(count)) for name, how in sources.items()}
        for count in dims
    }


def _passed_on(how: str, test: str = "test_inference_passes_the_input_on") -> Sources:
    return {"torch": how, "hand": f"test_regularization.py::{test}"}


#: Layers that change images in training only, besides those named Random.
_AUGMENTING = ("AugMix", "CutMix", "Equalization", "MixUp", "RandAugment", "Solarization")

LAYERS: dict[str, Sources] = {
    # activation
    "Activation": {"torch": "nn.functional, by name", "tensorflow": "nn and math, by name"},
    "ELU": {"torch": "nn.functional.elu", "tensorflow": "nn.elu"},
    "LeakyReLU": {"torch": "nn.functional.leaky_relu", "tensorflow": "nn.relu"},
    "PReLU": {"torch": "nn.functional.prelu", "tensorflow": "nn.relu"},
    "ReLU": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "Softmax": {"torch": "nn.functional.softmax, logsumexp", "tensorflow": "nn.softmax"},
    # attention
    "AdditiveAttention": {"torch": "nn.functional.softmax", "tensorflow": "nn.softmax"},
    "Attention": {"torch": "nn.functional.scaled_dot_product_attention", "tensorflow": "nn.softmax"},
    "GroupQueryAttention": {"torch": "nn.functional.scaled_dot_product_attention", "tensorflow": "nn.softmax"},
    "MultiHeadAttention": {"torch": "nn.functional.scaled_dot_product_attention", "tensorflow": "nn.softmax"},
    # convolution
    **_dims("Conv*", torch="nn.functional.conv*d", tensorflow="nn.convolution"),
    **_dims("Conv*Transpose", torch="nn.functional.conv_transpose*d", tensorflow="gradient of nn.convolution"),
    **_dims("ConvLSTM*", torch="nn.functional.conv*d", tensorflow="nn.convolution"),
    **_dims("DepthwiseConv*", (1, 2), torch="nn.functional.conv*d, groups", tensorflow="nn.depthwise_conv2d"),
    **_dims("SeparableConv*", (1, 2), torch="nn.functional.conv*d, groups", tensorflow="nn.depthwise_conv2d"),
    "MelSpectrogram": {"torch": "stft", "tensorflow": "signal.rfft, signal.linear_to_mel_weight_matrix"},
    "STFTSpectrogram": {"torch": "nn.functional.conv1d", "tensorflow": "signal.frame"},
    # dense
    "Dense": {"torch": "nn.functional.linear", "tensorflow": "tensordot"},
    "Dot": {"torch": "bmm", "tensorflow": "tensordot"},
    "EinsumDense": {"torch": "einsum", "tensorflow": "einsum"},
    "Embedding": {"torch": "nn.functional.embedding", "tensorflow": "nn.embedding_lookup"},
    "Masking": {"torch": "masked_fill", "tensorflow": "where"},
    "ReversibleEmbedding": {"torch": "nn.functional.embedding, linear", "tensorflow": "nn.embedding_lookup, tensordot"},
    # encoding
    "CategoryEncoding": {"torch": "nn.functional.one_hot", "tensorflow": "math.bincount, one_hot"},
    "Discretization": {"torch": "bucketize", "tensorflow": "searchsorted"},
    "HashedCrossing": {"tensorflow": "sparse.cross_hashed"},
    "Hashing": {
        "tensorflow": "strings.to_hash_bucket_fast, to_hash_bucket_strong",
        "hand": "test_lookups.py::test_hashes_are_those_of_keras_documentation",
    },
    "IntegerLookup": {
        "tensorflow": "lookup.StaticHashTable",
        "hand": "test_lookups.py::test_the_examples_of_the_documentation",
    },
    "Normalization": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "Rescaling": {"torch": "add", "tensorflow": "multiply"},
    # images
    "AutoContrast": {"torch": "amin, amax", "tensorflow": "reduce_min, reduce_max"},
    "CenterCrop": {"torch": "narrow", "tensorflow": "image.crop_to_bounding_box"},
    "Resizing": {"torch": "nn.functional.interpolate", "tensorflow": "einsum with hat functions"},
    **_dims("UpSampling*", torch="nn.functional.interpolate", tensorflow="repeat, einsum with hat functions"),
    **_dims("ZeroPadding*", torch="nn.functional.pad", tensorflow="pad"),
    **_dims("Cropping*", torch="nn.functional.pad", tensorflow="slice"),
    # merging and moving
    "Add": {"torch": "add", "tensorflow": "add"},
    "Average": {"torch": "mean", "tensorflow": "add"},
    "Concatenate": {"torch": "cat", "tensorflow": "concat"},
    "Maximum": {"torch": "maximum", "tensorflow": "maximum"},
    "Minimum": {"torch": "minimum", "tensorflow": "minimum"},
    "Multiply": {"torch": "mul", "tensorflow": "multiply"},
    "Subtract": {"torch": "sub", "tensorflow": "subtract"},
    "Flatten": {"torch": "flatten", "tensorflow": "reshape"},
    "Permute": {"torch": "permute", "tensorflow": "transpose"},
    "RepeatVector": {"torch": "expand", "tensorflow": "stack"},
    "Reshape": {"torch": "reshape", "tensorflow": "reshape"},
    # normalization
    "BatchNormalization": {"torch": "nn.functional.batch_norm", "tensorflow": "nn.batch_normalization"},
    "GroupNormalization": {"torch": "nn.functional.group_norm", "tensorflow": "nn.moments"},
    "LayerNormalization": {"torch": "nn.functional.layer_norm", "tensorflow": "nn.moments"},
    "RMSNormalization": {"torch": "nn.functional.rms_norm", "tensorflow": "math.rsqrt"},
    "UnitNormalization": {"torch": "nn.functional.normalize", "tensorflow": "math.l2_normalize"},
    # pooling
    **_dims("AdaptiveAveragePooling*", torch="nn.functional.adaptive_avg_pool*d", tensorflow=_COMPOSED),
    **_dims("AdaptiveMaxPooling*", torch="nn.functional.adaptive_max_pool*d", tensorflow=_COMPOSED),
    **_dims("AveragePooling*", torch="nn.functional.avg_pool*d", tensorflow="nn.avg_pool"),
    **_dims("GlobalAveragePooling*", torch="mean", tensorflow="reduce_mean"),
    **_dims("GlobalMaxPooling*", torch="amax", tensorflow="reduce_max"),
    **_dims("MaxPooling*", torch="nn.functional.max_pool*d", tensorflow="nn.max_pool"),
    # recurrent and wrapping
    "Bidirectional": {"torch": "lstm, gru, rnn_tanh", "tensorflow": _COMPOSED},
    "GRU": {"torch": "gru", "tensorflow": _COMPOSED},
    "LSTM": {"torch": "lstm", "tensorflow": _COMPOSED},
    "RNN": {"torch": "lstm, gru, rnn_tanh", "tensorflow": _COMPOSED},
    "SimpleRNN": {"torch": "rnn_tanh, rnn_relu", "tensorflow": _COMPOSED},
    "SpectralNormalization": {"torch": "the layer inside", "tensorflow": "the layer inside"},
    "TimeDistributed": {"torch": "the layer inside", "tensorflow": "the layer inside"},
    # what passes its input on in inference
    "ActivityRegularization": _passed_on("nn.Identity"),
    "AlphaDropout": _passed_on("nn.functional.alpha_dropout"),
    "Dropout": _passed_on("nn.functional.dropout"),
    "GaussianDropout": _passed_on("nn.functional.dropout"),
    "GaussianNoise": _passed_on("nn.Identity"),
    "Identity": _passed_on("nn.Identity"),
    **_dims("SpatialDropout*", torch="nn.functional.dropout*d", hand="sources/test_by_hand.py::test_spatial_dropout"),
    # what is documented by its name alone
    "ContrastLimitedAdaptiveHistogramEqualization": {"hand": "test_equalizing.py::test_one_tile_by_hand"},
    "RandomCrop": {"hand": "test_equalizing.py::test_the_largest_window_by_hand"},
    **{
        name: {"hand": "test_images.py::test_random_layers_pass_images_on_in_inference"}
        for name in (
            *_AUGMENTING,
            *("RandomBrightness", "RandomColorDegeneration", "RandomColorJitter", "RandomContrast"),
            *("RandomElasticTransform", "RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale"),
            *("RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomRotation"),
            *("RandomSaturation", "RandomSharpness", "RandomShear", "RandomTranslation", "RandomZoom"),
        )
    },
}

LOSSES: dict[str, Sources] = {
    "BinaryCrossentropy": {
        "torch": "nn.functional.binary_cross_entropy, with_logits",
        "tensorflow": "nn.sigmoid_cross_entropy_with_logits",
    },
    "BinaryFocalCrossentropy": {"torch": "nn.functional.binary_cross_entropy", "tensorflow": "math.xlogy"},
    "CategoricalCrossentropy": {
        "torch": "nn.functional.cross_entropy",
        "tensorflow": "nn.softmax_cross_entropy_with_logits",
    },
    "CategoricalFocalCrossentropy": {"torch": _COMPOSED, "tensorflow": "math.xlogy"},
    "CategoricalGeneralizedCrossEntropy": {"torch": "gather", "tensorflow": "gather"},
    "CategoricalHinge": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "Circle": {"torch": "logsumexp, logaddexp", "tensorflow": "math.log1p"},
    "CosineSimilarity": {"torch": "nn.functional.cosine_similarity", "tensorflow": "math.l2_normalize"},
    "CTC": {
        "torch": "nn.functional.ctc_loss",
        "hand": "test_structured.py::test_ctc_is_the_sum_over_all_paths",
    },
    "Dice": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "Hinge": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "Huber": {"torch": "nn.functional.huber_loss", "tensorflow": _COMPOSED},
    "KLDivergence": {"torch": "nn.functional.kl_div", "tensorflow": _COMPOSED},
    "LogCosh": {"torch": "log of cosh", "tensorflow": "reduce_logsumexp"},
    "MeanAbsoluteError": {"torch": "nn.functional.l1_loss", "tensorflow": _COMPOSED},
    "MeanAbsolutePercentageError": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "MeanSquaredError": {"torch": "nn.functional.mse_loss", "tensorflow": "math.squared_difference"},
    "MeanSquaredLogarithmicError": {"torch": "nn.functional.mse_loss", "tensorflow": "math.squared_difference"},
    "Poisson": {"torch": "nn.functional.poisson_nll_loss", "tensorflow": _COMPOSED},
    "SparseCategoricalCrossentropy": {
        "torch": "nn.functional.cross_entropy, nll_loss",
        "tensorflow": "nn.sparse_softmax_cross_entropy_with_logits",
    },
    "SquaredHinge": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
    "Tversky": {"torch": _COMPOSED, "tensorflow": _COMPOSED},
}

_TWO_STEPS = "test_optimizers_by_hand.py::test_two_steps"
_MORE = "test_more_optimizers_by_hand.py"

OPTIMIZERS: dict[str, Sources] = {
    "Adadelta": {"torch": "optim.Adadelta", "tensorflow": "raw_ops.ResourceApplyAdadelta", "hand": _TWO_STEPS},
    "Adafactor": {
        "torch": "optim.Adafactor",
        "hand": f"{_MORE}::test_adafactor_of_a_matrix_takes_rows_and_columns_apart",
    },
    "Adagrad": {"torch": "optim.Adagrad", "tensorflow": "raw_ops.ResourceApplyAdagrad", "hand": _TWO_STEPS},
    "Adam": {"torch": "optim.Adam", "tensorflow": "raw_ops.ResourceApplyAdam"},
    "AdamW": {"torch": "optim.AdamW", "tensorflow": "raw_ops.ResourceApplyAdam"},
    "Adamax": {"tensorflow": "raw_ops.ResourceApplyAdaMax", "hand": _TWO_STEPS},
    "Ftrl": {"tensorflow": "raw_ops.ResourceApplyFtrlV2", "hand": _TWO_STEPS},
    "Lamb": {"hand": _TWO_STEPS},
    "Lion": {"hand": _TWO_STEPS},
    "LossScaleOptimizer": {
        "torch": "amp.GradScaler around optim.SGD, optim.Adam",
        "hand": f"{_MORE}::test_loss_scale_divides_doubles_and_skips",
    },
    "MultiOptimizer": {"hand": f"{_MORE}::test_each_weight_has_the_optimizer_of_its_name"},
    "Muon": {"torch": "linalg.svd", "hand": f"{_MORE}::test_muon_of_a_multiple_of_a_rotation_stays_one"},
    "Nadam": {"torch": "optim.NAdam", "hand": _TWO_STEPS},
    "RMSprop": {"tensorflow": "raw_ops.ResourceApplyRMSProp", "hand": _TWO_STEPS},
    "ScheduleFreeAdamW": {"torch": "optim.Adam without momentum", "hand": f"{_MORE}::test_schedule_free"},
    "SGD": {"torch": "optim.SGD", "tensorflow": "raw_ops.ResourceApplyKerasMomentum"},
}

_NOTHING = "in inference the output is the input: there is nothing to compute, and no library has such a function"
_NOBODY = "neither torch.optim nor TensorFlow's kernels have it; two steps are worked out by hand"

#: References with fewer than two sources, and why.
EXCEPTIONS: dict[str, str] = {
    **{name: _NOTHING for name in LAYERS if name.startswith("Random") or name in _AUGMENTING},
    **dict.fromkeys(
        ("ContrastLimitedAdaptiveHistogramEqualization", "RandomCrop"),
        "how it computes is nowhere documented, so the reference convicts nobody",
    ),
    "HashedCrossing": "a fingerprint of fingerprints, which only TensorFlow computes",
    "Lamb": _NOBODY,
    "Lion": _NOBODY,
    "MultiOptimizer": "it only chooses among optimizers that have sources of their own; the choice is followed by hand",
}


def sources_of(kind: str, name: str) -> Sources:
    return {"layer": LAYERS, "loss": LOSSES, "optimizer": OPTIMIZERS}[kind][name]
