"""The layers of the catalogue that have a counterpart in ONNX, by family, in one table."""

from __future__ import annotations

from ...operators.catalogue import layer, layer_names
from .onnx_activations import ACTIVATION_LAYERS
from .onnx_attention import ATTENTION_LAYERS
from .onnx_convolution import CONVOLUTION_LAYERS
from .onnx_dense import DENSE_LAYERS
from .onnx_graph import Lowering, OnnxCall
from .onnx_moving import MOVING_LAYERS
from .onnx_normalization import NORMALIZATION_LAYERS
from .onnx_pooling import POOLING_LAYERS
from .onnx_recurrent import RECURRENT_LAYERS
from .onnx_wrapping import wrapping_layers
from .refusal import Refusal

LAYERS: dict[str, Lowering] = {
    **ACTIVATION_LAYERS,
    **ATTENTION_LAYERS,
    **CONVOLUTION_LAYERS,
    **DENSE_LAYERS,
    **MOVING_LAYERS,
    **NORMALIZATION_LAYERS,
    **POOLING_LAYERS,
    **RECURRENT_LAYERS,
}
LAYERS.update(wrapping_layers(LAYERS))

#: Layers of the catalogue that are not written in ONNX' operators, and why.
REFUSED_LAYERS = {
    **{name: "how it computes is nowhere documented" for name in layer_names() if layer(name).voted},
    "HashedCrossing": "ONNX has no hash",
    "Hashing": "ONNX has no hash",
    "IntegerLookup": "its tables and what it does with unknown numbers are not written here",
    "MelSpectrogram": "it is not written here",
    "STFTSpectrogram": "it is not written here",
}

#: In training these do what is not written in ONNX.
_OTHERS_IN_TRAINING = {"SpectralNormalization": "changes its kernel"}
#: In training these have another formula, which is written.
_WRITTEN_IN_TRAINING = frozenset(["BatchNormalization"])


def check_training(call: OnnxCall) -> None:
    """Refuse a layer that does something else in training; most do the same.

    Raises:
        Refusal: naming what it does.
    """
    spec = layer(call.op)
    if not call.training or call.op in _WRITTEN_IN_TRAINING:
        return
    does = _OTHERS_IN_TRAINING.get(call.op)
    if spec.draws(call.params):
        does = "draws random numbers"
    elif spec.training is not None:
        does = "has another formula"
    if does:
        raise Refusal(f"{call.layer!r} ({call.op}) {does} in training, which ONNX graphs are not run in")
