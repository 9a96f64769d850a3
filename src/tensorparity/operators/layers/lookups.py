"""Integers looked up in a vocabulary, hashed, or crossed and hashed: IntegerLookup, Hashing, HashedCrossing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import choice, flag, is_integer, is_number, need_rank, optional_positive, positive, refuse
from ..reference.rounding import exact
from ..spec import Conflict, Domain, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights
from .encoding import encode, encoded_shape
from .hashes import farm_fingerprint, joint_fingerprint, sip_hash

#: Where fingerprints of a crossing start: TensorFlow's own key, which the layer leaves as it is.
_CROSSING_KEY = 0xDECAFCAFFE
#: What integers of the inputs are drawn from, where nothing else is asked for.
_ANY_INTEGER = Domain("int32", -9, 40)

SALT = Parameter("salt", None, (None, 133, (133, 137)), ("pepper", (1, 2, 3)))


def salt_of(params: Params) -> tuple[int, int] | None:
    value: Json = params["salt"]
    if value is None:
        return None
    pair = (value, value) if is_integer(value) else value
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(is_integer(item) for item in pair):
        refuse("salt", "an integer, two of them, or None", value)
    return int(pair[0]), int(pair[1])


def bin_of(value: int | str, bins: int, salt: tuple[int, int] | None) -> int:
    """The bin of a string, or of an integer, which is hashed as it is written in decimal."""
    text = str(value).encode()
    return (farm_fingerprint(text) if salt is None else sip_hash(text, salt)) % bins


def _hashed(values: Array, bins: int, salt: tuple[int, int] | None) -> Array:
    return _each(lambda value: bin_of(value, bins, salt), values)


def _whole(numbers: Array) -> Evaluation:
    return exact(numbers.astype(np.float64))


def _each(function: Callable[..., int], *arrays: Array) -> Array:
    columns = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    found = [function(*(int(value) for value in column)) for column in columns]
    return np.array(found, dtype=np.int64).reshape(arrays[0].shape)


# Hashing


def _hashing_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    mode = choice(params, "output_mode", ("int", "one_hot", "multi_hot", "count"))
    bins = positive(params, "num_bins")
    if params["mask_value"] is not None and not is_integer(params["mask_value"]):
        refuse("mask_value", "an integer or None", params["mask_value"])
    salt_of(params)
    return (shapes[0] if mode == "int" else encoded_shape(mode, bins, shapes[0]),)


def _hash(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, bins = inputs[0].astype(np.int64), positive(params, "num_bins")
    mask, mode = params["mask_value"], params["output_mode"]
    if mask is None or bins == 1:
        found = _hashed(x, bins, salt_of(params))
    else:
        found = np.where(x == mask, 0, 1 + _hashed(x, bins - 1, salt_of(params)))
    return (_whole(found if mode == "int" else encode(mode, bins, found)),)


HASHING = LayerSpec(
    name="Hashing",
    api="keras.layers.Hashing",
    arity=(1, 1),
    ranks=(2, 3),
    parameters=(
        Parameter("num_bins", None, (1, 3, 10), (0, -1), required=True),
        Parameter("mask_value", None, (None, 0, 7)),
        SALT,
        Parameter("output_mode", "int", ("int", "one_hot", "multi_hot", "count"), ("tf_idf",)),
    ),
    shape=_hashing_shape,
    weights=no_weights,
    reference=_hash,
    formula="output = FarmHash64 of the input in decimal, or SipHash64 with the salt, modulo num_bins; "
    "a mask_value has bin 0 for itself",
    domain=lambda params: _ANY_INTEGER,
    discontinuous=True,
    hazards=("cannot be compiled on any backend but TensorFlow", "strings are not declared, only integers"),
)


# HashedCrossing


def _crossing_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    mode, bins = choice(params, "output_mode", ("int", "one_hot")), positive(params, "num_bins")
    for shape in shapes:
        need_rank(shape, 2)
        if shape[-1] != 1 or shape[0] != shapes[0][0]:
            raise ShapeError(f"Expected inputs of one shape (batch, 1). Received: shapes={list(shapes)}")
    return (shapes[0] if mode == "int" else (*shapes[0][:-1], bins),)


def _cross(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    bins = positive(params, "num_bins")

    def bin_of(*features: int) -> int:
        found = _CROSSING_KEY
        for feature in features:
            found = joint_fingerprint(found, feature % 2**64)
        return found % bins

    found = _each(bin_of, *inputs)
    return (_whole(found if params["output_mode"] == "int" else encode("one_hot", bins, found)),)


HASHED_CROSSING = LayerSpec(
    name="HashedCrossing",
    api="keras.layers.HashedCrossing",
    arity=(2, None),
    ranks=(2,),
    parameters=(
        Parameter("num_bins", None, (1, 3, 10), (-1,), required=True),
        Parameter("output_mode", "int", ("int", "one_hot"), ("multi_hot",)),
    ),
    shape=_crossing_shape,
    weights=no_weights,
    reference=_cross,
    formula="output = TensorFlow's fingerprint of the inputs' numbers one after another, modulo num_bins",
    domain=lambda params: _ANY_INTEGER,
    listed=True,
    discontinuous=True,
    hazards=("crosses single numbers only: the last axis has size 1", "cannot be compiled but on TensorFlow"),
)


# IntegerLookup


def tokens_of(params: Params) -> tuple[list[Any], bool]:
    """The vocabulary without what stands for nothing in it, and whether that stood at its start.

    It is of the kind of ``oov_token``: integers or strings.
    """
    value: Json = params["vocabulary"]
    words = isinstance(params["oov_token"], str)
    if not isinstance(value, (tuple, list)) or not value or not all(_is_token(item, words) for item in value):
        refuse("vocabulary", f"a sequence of {'strings' if words else 'integers'}", value)
    special = [params["mask_token"]] * first_oov(params) + [params["oov_token"]] * oov_count(params)
    named = list(value[: len(special)]) == special
    tokens = list(value[len(special) if named else 0 :])
    reserved = [params["mask_token"], *([params["oov_token"]] if params["invert"] else [])]
    if len(set(tokens)) < len(tokens) or any(token in reserved for token in tokens):
        refuse("vocabulary", "tokens that are all different, none of them reserved", value)
    return tokens, named


def _is_token(item: Json, words: bool) -> bool:
    return isinstance(item, str) if words else is_integer(item)


def oov_count(params: Params) -> int:
    value = params["num_oov_indices"]
    if not is_integer(value) or value < 0:
        refuse("num_oov_indices", "an integer >= 0", value)
    return int(value)


def first_oov(params: Params) -> int:
    """A mask has index 0 for itself where indices are asked for, and none elsewhere."""
    return 1 if params["mask_token"] is not None and params["output_mode"] == "int" else 0


def first_token(params: Params) -> int:
    return first_oov(params) + oov_count(params)


def depth_of(params: Params) -> int:
    size, most = first_token(params) + len(tokens_of(params)[0]), optional_positive(params, "max_tokens")
    if most is not None and (most < 2 or size > most):
        refuse("max_tokens", f"more than 1, and room for {size} tokens", most)
    if not flag(params, "pad_to_max_tokens"):
        return size
    if most is None or params["output_mode"] in ("int", "one_hot"):
        refuse("pad_to_max_tokens", "max_tokens beside it, and counts or flags per sample", True)
    return most


def frequencies(params: Params) -> Array | None:
    """A factor per token; None where nothing is weighted."""
    value: Json = params["idf_weights"]
    weighted = params["output_mode"] == "tf_idf"
    if (value is not None) != weighted:
        refuse("idf_weights", "numbers where output_mode is 'tf_idf', and None elsewhere", value)
    if value is None:
        return None
    if len(value) != len(params["vocabulary"]) or not all(is_number(item) for item in value):
        refuse("idf_weights", "a number per token of the vocabulary", value)
    given = np.asarray(value, dtype=np.float64)
    _, named = tokens_of(params)
    front = np.full(0 if named else first_token(params), given.mean())
    known = np.concatenate([front, given])
    return np.concatenate([known, np.zeros(depth_of(params) - len(known))])


def _lookup_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    mode = choice(params, "output_mode", ("int", "one_hot", "multi_hot", "count", "tf_idf"))
    method = choice(params, "oov_method", ("floormod", "farmhash"))
    if salt_of(params) is not None and method != "farmhash":
        refuse("salt", "None, unless oov_method is 'farmhash'", params["salt"])
    if flag(params, "invert") and mode != "int":
        refuse("invert", "False, unless output_mode is 'int'", True)
    frequencies(params)
    depth = depth_of(params)
    return (shapes[0] if mode == "int" else encoded_shape(mode, depth, shapes[0]),)


def _indices(params: Params, x: Array) -> Array:
    """The index of every token; -1 for a mask that is dropped."""
    tokens, count, mask = tokens_of(params)[0], oov_count(params), params["mask_token"]
    hashed = count > 1 and params["oov_method"] == "farmhash"
    found = first_oov(params) + (_hashed(x, count, salt_of(params)) if hashed else x % max(count, 1))
    for index, token in enumerate(tokens, start=first_token(params)):
        found = np.where(x == token, index, found)
    dropped = 0 if params["output_mode"] == "int" else -1
    return found if mask is None else np.where(x == mask, dropped, found)


def _terms(params: Params, x: Array) -> Array:
    """Back from indices to tokens."""
    found = np.full(x.shape, int(params["oov_token"]), dtype=np.int64)
    for index, token in enumerate(tokens_of(params)[0], start=first_token(params)):
        found = np.where(x == index, token, found)
    return found if params["mask_token"] is None else np.where(x == 0, int(params["mask_token"]), found)


def _look_up(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, mode = inputs[0].astype(np.int64), params["output_mode"]
    if flag(params, "invert"):
        return (_whole(_terms(params, x)),)
    indices = _indices(params, x)
    if mode == "int":
        return (_whole(indices),)
    factors = frequencies(params)
    if factors is None:
        return (_whole(encode(mode, depth_of(params), indices)),)
    value = encode("count", depth_of(params), indices) * factors
    return (Evaluation(value, 2.0 * np.abs(value)),)  # the average of the weights is rounded, too


def _lookup_domain(params: Params) -> Domain:
    """What is in the vocabulary and around it; without indices for the others, in it alone."""
    vocabulary, count = list(params["vocabulary"]), max(0, params["num_oov_indices"])
    if params["invert"]:
        return Domain("int32", 0, len(vocabulary) + count + 3)
    if count:
        return Domain("int32", min(vocabulary) - 3, max(vocabulary) + 5)
    return Domain("int32", min(vocabulary), max(vocabulary) + 1)


_WEIGHTED = "idf_weights go with output_mode='tf_idf'"
_RESERVED = "the vocabulary has no reserved token inside"

INTEGER_LOOKUP = LayerSpec(
    name="IntegerLookup",
    api="keras.layers.IntegerLookup",
    arity=(1, 1),
    ranks=(2, 3),
    parameters=(
        # Without gaps: with num_oov_indices=0 every input has to be one of them.
        Parameter("vocabulary", None, ((5,), (4, 2, 3), (-1, 1, 0, 2)), ((), (3, 3)), required=True),
        Parameter("num_oov_indices", 1, (1, 0, 2, 3), (-1,)),
        Parameter("mask_token", None, (None, 7, -2)),
        Parameter("oov_token", -1, (-1, -5)),
        Parameter("max_tokens", None, (None, 9), (0, 1)),
        Parameter("output_mode", "int", ("int", "one_hot", "multi_hot", "count", "tf_idf"), ("tf",)),
        Parameter("idf_weights", None, (None, (0.75,), (0.5, 0.25, 1.5), (0.1, 0.75, 2.5, 0.3))),
        Parameter("pad_to_max_tokens", False, (False, True)),
        Parameter("invert", False, (False, True)),
        Parameter("oov_method", "floormod", ("floormod", "farmhash"), ("md5",)),
        SALT,
    ),
    shape=_lookup_shape,
    weights=no_weights,
    reference=_look_up,
    formula="output = the input's place in the vocabulary, after those of the mask and of what is not in it; "
    "as a number, as flags, as counts or as counts times idf_weights; or inverted, the token of a place",
    domain=_lookup_domain,
    discontinuous=True,
    conflicts=(
        Conflict({"output_mode": "count", "invert": True}, "what is inverted is a number"),
        Conflict({"output_mode": "count", "pad_to_max_tokens": True, "max_tokens": None}, "there is a size to pad to"),
        Conflict({"oov_method": "floormod", "salt": 133}, "only a hash has a salt"),
        Conflict({"output_mode": "tf_idf", "idf_weights": None}, _WEIGHTED),
        Conflict({"output_mode": "count", "vocabulary": (5,), "idf_weights": (0.75,)}, _WEIGHTED),
        Conflict(
            {"output_mode": "tf_idf", "vocabulary": (4, 2, 3), "idf_weights": (0.75,)}, "each token has one weight"
        ),
        Conflict({"vocabulary": (4, 2, 3), "max_tokens": 2}, "max_tokens has room for the vocabulary"),
        Conflict({"vocabulary": (4, 2, 3), "mask_token": 2}, _RESERVED),
        Conflict({"vocabulary": (4, 2, 3), "oov_token": 2, "invert": True}, _RESERVED),
    ),
    hazards=(
        "a mask is dropped, unless output_mode is int",
        "an input that is not in the vocabulary is an error with num_oov_indices=0",
        "cannot be compiled on any backend but TensorFlow",
    ),
)
