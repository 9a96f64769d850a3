"""Layers that read strings, called alone: StringLookup and TextVectorization.

The input of a graph is numbers, so these are calls: constructed with their arguments, and called on one array. Tables,
hashes and encodings are IntegerLookup's.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.channels import is_text
from ...core.jsontext import Json
from ..arguments import choice, flag, is_integer, optional_positive, refuse
from ..layers.encoding import encode
from ..layers.lookups import SALT, bin_of, depth_of, first_oov, first_token, frequencies, oov_count, salt_of, tokens_of
from ..reference.rounding import exact
from ..spec import Conflict, Evaluation, Parameter, Params, ruled_out

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")
#: Of TextVectorization, as documented.
_TEXT_MODES = ("int", "multi_hot", "count", "tf_idf")
_STANDARDS = ("lower_and_strip_punctuation", "lower", "strip_punctuation", None)
#: What TextVectorization is made with inside: padding is the empty string.
_INSIDE: Mapping[str, Json] = {"num_oov_indices": 1, "mask_token": "", "oov_token": "[UNK]", "invert": False}
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class TextLayerSpec:
    """One layer.

    Args:
        reference: from complete parameters and the input.
        conflicts: combinations of values that the layer must refuse.
    """

    name: str
    formula: str
    reference: Callable[[Params, Array], Evaluation]
    parameters: tuple[Parameter, ...]
    conflicts: tuple[Conflict, ...] = ()

    @property
    def api(self) -> str:
        return f"keras.layers.{self.name}"

    def complete(self, params: Params) -> dict[str, Json]:
        return {**{parameter.name: parameter.default for parameter in self.parameters}, **params}

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out, alone or together."""
        return ruled_out(self.parameters, params, self.conflicts)

    def evaluate(self, params: Params, arrays: tuple[Array, ...]) -> Evaluation:
        """The output of the layer: exact, but for weighted counts."""
        return self.reference(self.complete(params), arrays[0])


# StringLookup


def _look_up(params: Params, x: Array) -> Evaluation:
    mode = choice(params, "output_mode", _MODES)
    if is_text(x) == flag(params, "invert"):
        refuse("invert", "True for places and False for strings", params["invert"])
    if flag(params, "invert"):
        if mode != "int":
            refuse("invert", "False, unless output_mode is 'int'", True)
        return _words(_terms(params, x))
    return _encoded(params, _indices(params, x))


def _words(texts: Array) -> Evaluation:
    return Evaluation(texts, np.zeros(texts.shape))


def _encoded(params: Params, indices: Array) -> Evaluation:
    """Indices as they are, as flags, as counts, or as counts times the weights of tokens."""
    mode, factors = params["output_mode"], frequencies(params)
    depth = depth_of(params)
    if mode == "int":
        return exact(indices.astype(np.float64))
    if factors is None:
        return exact(encode(mode, depth, indices))
    value = encode("count", depth, indices) * factors
    return Evaluation(value, 2.0 * np.abs(value))  # the average of the weights is rounded, too


def _index(params: Params) -> Callable[[str], int]:
    """The place of a token; -1 for a mask that is dropped."""
    places = {token: place for place, token in enumerate(tokens_of(params)[0], start=first_token(params))}
    mask, count, salt = params["mask_token"], oov_count(params), salt_of(params)

    def index(token: str) -> int:
        if token == mask:
            return 0 if params["output_mode"] == "int" else -1
        if token in places:
            return places[token]
        if not count:
            refuse("num_oov_indices", f"more than 0, because {token!r} is not in the vocabulary", 0)
        return first_oov(params) + (bin_of(token, count, salt) if count > 1 else 0)

    return index


def _indices(params: Params, x: Array) -> Array:
    index = _index(params)
    return np.array([index(str(token)) for token in x.ravel()], dtype=np.int64).reshape(x.shape)


def _terms(params: Params, x: Array) -> Array:
    """Back from places to tokens."""
    tokens, start = tokens_of(params)[0], first_token(params)
    depth_of(params)

    def term(place: int) -> str:
        if place == 0 and params["mask_token"] is not None:
            return str(params["mask_token"])
        return str(tokens[place - start] if start <= place < start + len(tokens) else params["oov_token"])

    found = np.empty(x.size, dtype=object)
    found[:] = [term(int(place)) for place in x.ravel()]
    return found.reshape(x.shape)


# TextVectorization


def _vectorize(params: Params, x: Array) -> Evaluation:
    """Standardized, split, made n-grams of, looked up."""
    mode, length = choice(params, "output_mode", _TEXT_MODES), optional_positive(params, "output_sequence_length")
    if length is not None and mode != "int":
        refuse("output_sequence_length", "None, unless output_mode is 'int'", length)
    inside = {**params, **_INSIDE, "salt": None}
    index = _index(inside)
    samples = [[index(token) for token in _grams(params, sample)] for sample in _samples(params, x)]
    if params["split"] is None and x.ndim == 1 and mode == "int":
        if length is not None or params["ngrams"] is not None:
            refuse("split", "'whitespace' or 'character', or samples of several tokens", None)
        return _encoded(inside, np.array([place for (place,) in samples], dtype=np.int64))
    padding = 0 if mode == "int" else -1
    longest = max((len(sample) for sample in samples), default=0)
    width = longest if length is None else length
    rows = [[*sample, *[padding] * width][:width] for sample in samples]
    return _encoded(inside, np.array(rows, dtype=np.int64).reshape(len(rows), width))


def _samples(params: Params, x: Array) -> list[list[str]]:
    """The tokens of every sample: a string that is split, or a row of strings that are not."""
    split: Json = params["split"]
    if split is None:
        rows = x.reshape(len(x), -1)
        return [[_standardized(params, str(text)) for text in row] for row in rows]
    choice(params, "split", ("whitespace", "character"))
    if x.ndim > 2 or (x.ndim == 2 and x.shape[1] != 1):
        refuse("split", "None, or one string per sample", split)
    texts = [_standardized(params, str(text)) for text in x.ravel()]
    return [text.split() if split == "whitespace" else list(text) for text in texts]


def _standardized(params: Params, text: str) -> str:
    how: Json = params["standardize"]
    if how not in _STANDARDS:
        refuse("standardize", f"one of {', '.join(map(repr, _STANDARDS))}", how)
    if how in ("lower", "lower_and_strip_punctuation"):
        text = text.lower()
    return text if how in ("lower", None) else text.translate(_NO_PUNCTUATION)


def _grams(params: Params, tokens: Sequence[str]) -> list[str]:
    """Tokens side by side, the shorter runs first; an integer stands for all lengths up to it."""
    value: Json = params["ngrams"]
    if value is None:
        return list(tokens)
    if not is_integer(value) and not (isinstance(value, (tuple, list)) and all(is_integer(item) for item in value)):
        refuse("ngrams", "None, an integer or a tuple of integers", value)
    widths = range(1, value + 1) if is_integer(value) else value
    return [" ".join(tokens[at : at + width]) for width in widths for at in range(len(tokens) - width + 1)]


_PADDED = "there is a size to pad to"
_WEIGHTED = "idf_weights go with output_mode='tf_idf'"
_TABLE = Conflict({"output_mode": "count", "pad_to_max_tokens": True, "max_tokens": None}, _PADDED)

STRING_LOOKUP = TextLayerSpec(
    "StringLookup",
    "output = the string's place in the vocabulary, after those of the mask and of what is not in it (by its hash, if "
    "there are several); as a number, as flags, as counts or as counts times idf_weights; or inverted, the string of a "
    "place",
    _look_up,
    (
        Parameter("vocabulary", None, (("a",), ("b", "a", "é"), ("the", "cat", "sat", "a")), (("a", "a"),),
                  required=True, data=True),
        Parameter("num_oov_indices", 1, (1, 0, 2, 3), (-1,)),
        Parameter("mask_token", None, (None, "", "[MASK]")),
        Parameter("oov_token", "[UNK]", ("[UNK]", "?")),
        Parameter("max_tokens", None, (None, 9), (0, 1)),
        Parameter("output_mode", "int", _MODES, ("tf",)),
        Parameter("idf_weights", None, (None, (0.75,), (0.5, 0.25, 1.5), (0.1, 0.75, 2.5, 0.3)), data=True),
        Parameter("pad_to_max_tokens", False, (False, True)),
        Parameter("invert", False, (False, True)),
        SALT,
    ),
    (
        _TABLE,
        Conflict({"output_mode": "count", "invert": True}, "what is inverted is a number"),
        Conflict({"output_mode": "tf_idf", "idf_weights": None}, _WEIGHTED),
        Conflict({"output_mode": "count", "vocabulary": ("a",), "idf_weights": (0.75,)}, _WEIGHTED),
        Conflict({"output_mode": "tf_idf", "vocabulary": ("b", "a", "é"), "idf_weights": (0.75,)}, "one each"),
        Conflict({"vocabulary": ("b", "a", "é"), "max_tokens": 2}, "max_tokens has room for the vocabulary"),
        Conflict({"vocabulary": ("b", "a", "é"), "mask_token": "a"}, "the vocabulary has no reserved token inside"),
    ),
)  # fmt: skip

TEXT_VECTORIZATION = TextLayerSpec(
    "TextVectorization",
    "output = the places of a text's tokens, or their flags, counts or weighted counts, as StringLookup has them with "
    "'' for the mask; tokens are words, characters or the strings themselves, without punctuation and in lower case "
    "where that is asked for, alone and in runs of ngrams",
    _vectorize,
    (
        Parameter("vocabulary", None, (("a", "b"), ("the", "cat", "sat", "the cat"), ("A", "é", "c", "a b", "b")),
                  (("a", "a"),), required=True, data=True),
        Parameter("max_tokens", None, (None, 9), (0, 1)),
        Parameter("standardize", "lower_and_strip_punctuation", _STANDARDS, ("upper",)),
        Parameter("split", "whitespace", ("whitespace", "character", None), ("sentence",)),
        Parameter("ngrams", None, (None, 1, 2, 3, (2,), (1, 3)), ("two",)),
        Parameter("output_mode", "int", _TEXT_MODES, ("tf",)),
        Parameter("output_sequence_length", None, (None, 1, 4, 7), ("long",)),
        Parameter("pad_to_max_tokens", False, (False, True)),
        Parameter("idf_weights", None, (None, (0.5, 0.25), (0.1, 0.75, 2.5, 0.3), (0.1, 0.75, 2.5, 0.3, 1.0)),
                  data=True),
    ),
    (
        _TABLE,
        Conflict({"output_mode": "count", "output_sequence_length": 4}, "what is counted has no length"),
        Conflict({"output_mode": "tf_idf", "idf_weights": None}, _WEIGHTED),
        Conflict({"output_mode": "count", "vocabulary": ("a", "b"), "idf_weights": (0.5, 0.25)}, _WEIGHTED),
    ),
)  # fmt: skip

TEXT_LAYERS: dict[str, TextLayerSpec] = {spec.name: spec for spec in (STRING_LOOKUP, TEXT_VECTORIZATION)}
