"""Real architectures for the rules about models: three of torch's modules, and small models of keras.applications.

Each answers for a thousand distinct instances. Weights are drawn by the case's seed where the model is made: nothing is
downloaded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case
from ...core.procedure import Goal, Procedure

#: How many instances a model is evaluated on.
INSTANCES = 1000
_X = ArrayArg("x")
_NN = "torch.nn."


def architectures(library: str, count: int, seed: int) -> list[Case]:
    """So many of them, in turn."""
    makers = _MAKERS.get(library, ())
    rng = np.random.default_rng([seed, 15])
    return [makers[place % len(makers)](rng) for place in range(count)] if makers else []


def _case(call: ApiCall, x: Array, rng: np.random.Generator) -> Case:
    return Case(call, Procedure(goal=Goal.CALL), {"x": x}, seed=int(rng.integers(2**31)))


def _run(made: ApiCall, given: ApiCall | ArrayArg = _X, **kwargs: object) -> ApiCall:
    return ApiCall("()", (made, given), kwargs)


def _module(name: str, *args: object, **kwargs: object) -> ApiCall:
    return ApiCall(".eval", (ApiCall(_NN + name, args, kwargs),))


def _pictures(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal((INSTANCES, *shape)).astype(np.float32)


def convolutional(rng: np.random.Generator) -> Case:
    """Two blocks of convolution, batch normalization and pooling, and a classifier."""
    first, second = int(rng.integers(4, 9)), int(rng.integers(4, 9))
    parts = [
        ApiCall(f"{_NN}Conv2d", (3, first, 3), {"padding": 1}),
        ApiCall(f"{_NN}BatchNorm2d", (first,)),
        ApiCall(f"{_NN}ReLU"),
        ApiCall(f"{_NN}MaxPool2d", (2,)),
        ApiCall(f"{_NN}Conv2d", (first, second, 3), {"padding": "same", "bias": False}),
        ApiCall(f"{_NN}BatchNorm2d", (second,)),
        ApiCall(f"{_NN}SiLU"),
        ApiCall(f"{_NN}AdaptiveAvgPool2d", (2,)),
        ApiCall(f"{_NN}Flatten"),
        ApiCall(f"{_NN}Linear", (4 * second, 10)),
    ]
    return _case(_run(_module("Sequential", *parts)), _pictures(rng, 3, 9, 8), rng)


def tagger(rng: np.random.Generator) -> Case:
    """Words to tags: an embedding, an LSTM in both directions, and a classifier of every word."""
    words, width, hidden = 31, int(rng.integers(3, 9)), int(rng.integers(3, 9))
    embedded = _run(_module("Embedding", words, width))
    options = {"num_layers": 2, "bidirectional": True, "batch_first": True}
    states = _run(_module("LSTM", width, hidden, **options), embedded)
    tags = _run(_module("Linear", 2 * hidden, 5), ApiCall("[]", (states, 0)))
    return _case(tags, rng.integers(0, words, (INSTANCES, 11)), rng)


def encoder(rng: np.random.Generator) -> Case:
    """A transformer's encoder of two layers."""
    heads = int(rng.integers(1, 4))
    options = {"dropout": 0.0, "batch_first": True, "norm_first": bool(rng.integers(2)), "activation": "gelu"}
    layer = ApiCall(f"{_NN}TransformerEncoderLayer", (4 * heads, heads, 16), options)
    whole = _module("TransformerEncoder", layer, 2, enable_nested_tensor=False)
    return _case(_run(whole), _pictures(rng, 7, 4 * heads), rng)


#: The cheap ones of keras.applications, by how they are made small.
_APPLICATIONS: tuple[tuple[str, dict[str, object]], ...] = (
    ("MobileNet", {"alpha": 0.25}),
    ("MobileNetV2", {"alpha": 0.35}),
    ("EfficientNetB0", {}),
    ("ResNet50V2", {}),
)
_SIDE, _CLASSES = 32, 10


def application(place: int) -> Callable[[np.random.Generator], Case]:
    """A model of keras.applications on small pictures."""
    name, options = _APPLICATIONS[place]

    def make(rng: np.random.Generator) -> Case:
        settings = {"weights": None, "input_shape": [_SIDE, _SIDE, 3], "classes": _CLASSES, **options}
        made = ApiCall(f"keras.applications.{name}", (), settings)
        return _case(_run(made, training=False), _pictures(rng, _SIDE, _SIDE, 3), rng)

    return make


_MAKERS: dict[str, tuple[Callable[[np.random.Generator], Case], ...]] = {
    "torch": (convolutional, tagger, encoder),
    "keras": tuple(application(place) for place in range(len(_APPLICATIONS))),
}
