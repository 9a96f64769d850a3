"""The layers of the catalogue that have a counterpart in torch, by family, in one table."""

from __future__ import annotations

from ....operators.catalogue import layer, layer_names
from .activations import ACTIVATION_LAYERS
from .attention import ATTENTION_LAYERS
from .convolution import CONVOLUTION_LAYERS
from .dense import DENSE_LAYERS
from .moving import MOVING_LAYERS
from .normalization import NORMALIZATION_LAYERS
from .pooling import POOLING_LAYERS
from .program import Lowering
from .recurrent import RECURRENT_LAYERS
from .spectrogram import SPECTROGRAM_LAYERS
from .wrapping import wrapping_layers

LAYERS: dict[str, Lowering] = {
    **ACTIVATION_LAYERS,
    **ATTENTION_LAYERS,
    **CONVOLUTION_LAYERS,
    **DENSE_LAYERS,
    **MOVING_LAYERS,
    **NORMALIZATION_LAYERS,
    **POOLING_LAYERS,
    **RECURRENT_LAYERS,
    **SPECTROGRAM_LAYERS,
}
LAYERS.update(wrapping_layers(LAYERS))

#: Layers of the catalogue that are not written in torch's functions, and why.
REFUSED_LAYERS = {
    **{name: "how it computes is nowhere documented" for name in layer_names() if layer(name).voted},
    "HashedCrossing": "torch has no hash",
    "Hashing": "torch has no hash",
    "IntegerLookup": "torch has no tables to look numbers up in",
}
