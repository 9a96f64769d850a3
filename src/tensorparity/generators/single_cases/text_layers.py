"""Cases of layers that read strings: arguments that fit each other, and strings in and out of the vocabulary."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, ArrayArg, Case
from ...core.jsontext import Json
from ...core.procedure import Goal, Procedure
from ...operators.functions.draws import draw_params
from ...operators.functions.text_layers import STRING_LOOKUP, TextLayerSpec
from ...operators.spec import Params

#: Not in a vocabulary, or only after they were standardized; longer ones are hashed by another rule.
_OTHERS = ("zz", "A", "É", "Cat", "cat.", "日本", "[UNK]", "don't", "x" * 31)
#: What stands between the words of a text.
_BETWEEN = (" ", "  ", "\t", " \n", ", ", "-", "! ")
_COUNTED = ("multi_hot", "count", "tf_idf")


def draw_arguments(spec: TextLayerSpec, rng: np.random.Generator) -> dict[str, Json]:
    """Arguments as declared, with what they need beside them and without what they exclude."""
    params = draw_params(spec.parameters, rng)
    if params.get("invert"):
        params.pop("output_mode", None)
    mode = params.get("output_mode", "int")
    params.pop("idf_weights", None)
    if mode == "tf_idf":
        weights = next(parameter for parameter in spec.parameters if parameter.name == "idf_weights").valid
        params["idf_weights"] = next(item for item in weights if item and len(item) == len(params["vocabulary"]))
    if mode not in _COUNTED:
        params.pop("pad_to_max_tokens", None)
    if params.get("pad_to_max_tokens"):
        params["max_tokens"] = 9
    if mode != "int":
        params.pop("output_sequence_length", None)
    if params.get("salt") is not None:
        params["num_oov_indices"] = 3
    return params


def text_case(spec: TextLayerSpec, params: Params, rng: np.random.Generator) -> Case:
    """The layer with these arguments on one array of strings, or of places where it is inverted."""
    complete = spec.complete(params)
    draw = _words if spec is STRING_LOOKUP else _texts
    call = ApiCall(spec.api, (ArrayArg("x"),), params)
    return Case(call, Procedure(goal=Goal.CALL), inputs={"x": draw(complete, rng)}, seed=int(rng.integers(2**31)))


def _draw_strings(choices: list[str], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return np.array(choices, dtype=object)[rng.integers(0, len(choices), shape)]


def _words(params: Params, rng: np.random.Generator) -> Array:
    counted = params["output_mode"] != "int"
    shapes = ((5,), (2, 4), (3, 1)) if counted else ((5,), (2, 3), (2, 1, 3), (0,))
    shape = shapes[int(rng.integers(len(shapes)))]
    vocabulary, mask = list(params["vocabulary"]), params["mask_token"]
    if params["invert"]:
        return rng.integers(0, len(vocabulary) + params["num_oov_indices"] + 3, shape)
    known = vocabulary + ([mask] if mask is not None else [])
    others = ["", *_OTHERS] if params["num_oov_indices"] else []
    return _draw_strings([*known, *known, *others], shape, rng)


def _texts(params: Params, rng: np.random.Generator) -> Array:
    words = [word for token in params["vocabulary"] for word in token.split()]
    choices = [*words, *words, *words, *_OTHERS[:-1]]
    if params["split"] is None:
        several = params["output_sequence_length"] is not None or params["ngrams"] is not None
        shapes = ((2, 3), (3, 1)) if several else ((4,), (4,), (2, 3), (3, 1))
        return _draw_strings([*choices, "", *params["vocabulary"]], shapes[int(rng.integers(len(shapes)))], rng)
    texts = np.array([_text(choices, rng) for _ in range(3)], dtype=object)
    return texts if rng.random() < 0.5 else texts[:, None]


def _text(words: list[str], rng: np.random.Generator) -> str:
    """Up to six words; none at all is a text, too."""
    parts = [words[int(rng.integers(len(words)))] for _ in range(int(rng.integers(0, 7)))]
    return "".join(part + _BETWEEN[int(rng.integers(len(_BETWEEN)))] for part in parts)
