"""Attention without heads: Attention (dot product or concat) and AdditiveAttention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import choice, flag, known_size, need_rank, number
from ..functions import named_activations
from ..reference import carried
from ..reference.rounding import exact
from ..spec import Evaluation, LayerSpec, Mask, Parameter, Params, Shape, ShapeError, WeightSpec
from .masks import passed_on, steps_shown

DROPOUT = Parameter("dropout", 0.0, (0.0, 0.3), ("much",))
CALL_PARAMETERS = (
    Parameter("return_attention_scores", False, (False, True)),
    Parameter("use_causal_mask", False, (False, True)),
)
HAZARDS = (
    "masks hide values and, with heads, keys and queries too; what a query gives that sees none is nowhere said",
)

Scores = Callable[[Params, Evaluation, Evaluation, Mapping[str, Array]], Evaluation]


def check_call(params: Params) -> None:
    number(params, "dropout")
    for parameter in CALL_PARAMETERS:
        flag(params, parameter.name)


def keys_of(items: Sequence[Shape]) -> tuple[Shape, Shape, Shape]:
    """Query, value and key; without a key the value is it."""
    query, value = items[0], items[1]
    key = items[2] if len(items) > 2 else value
    for shape in (query, value, key):
        need_rank(shape, 3)
    known = {shape[0] for shape in (query, value, key)} - {None}
    if len(known) > 1:
        raise ShapeError(f"Expected inputs of one batch size. Received: shapes={list(items)}")
    if value[1] != key[1]:
        raise ShapeError(f"Expected as many keys as values. Received: shapes={list(items)}")
    return query, value, key


def visible_keys(params: Params, queries: int, keys: int) -> Array:
    """Which key each query may look at: all of them, or with a causal mask those not behind it."""
    if not flag(params, "use_causal_mask"):
        return np.ones((queries, keys), dtype=bool)
    return np.tri(queries, keys, dtype=bool)


def visible_unmasked(visible: Array, queries: Mask, *keys: Mask) -> Array:
    """What is visible, (queries, keys), without what masks hide; with a batch axis in front if any does.

    Raises:
        ShapeError: if a query sees no key: what it gives is nowhere said.
    """
    if queries is not None:
        visible = visible & queries[:, :, None]
    for mask in keys:
        if mask is not None:
            visible = visible & mask[:, None, :]
    if not visible.any(axis=-1).all():
        raise ShapeError("Expected masks under which every query sees a key")
    return visible


def weigh(scores: Evaluation, visible: Array) -> Evaluation:
    """Softmax over the visible keys; the others get exactly nothing."""
    hidden = Evaluation(np.where(visible, scores.value, -np.inf), np.where(visible, scores.kappa, 0.0))
    found = named_activations.softmax(_finite(hidden))
    return Evaluation(np.where(visible, found.value, 0.0), np.where(visible, found.kappa, 0.0))


def _finite(x: Evaluation) -> Evaluation:
    """Minus infinity as a number far below the others: its exponential is 0, and 0 times it stays 0."""
    top = np.max(x.value, axis=-1, keepdims=True)
    return Evaluation(np.where(np.isneginf(x.value), top - 2000.0, x.value), x.kappa)


def _layer(
    name: str,
    parameters: tuple[Parameter, ...],
    weights: Callable[[Params, int], dict[str, WeightSpec]],
    scores: Scores,
    formula: str,
) -> LayerSpec:
    def shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        query, value, key = keys_of(shapes)
        check_call(params)
        weights(params, 1)
        if query[2] != key[2]:
            raise ShapeError(f"Expected queries and keys of one size. Received: shapes={list(shapes)}")
        result = (query[0], query[1], value[2])
        return (result, (query[0], query[1], key[1])) if flag(params, "return_attention_scores") else (result,)

    def declared(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
        return weights(params, known_size(shapes[0], 2, "the size of a query"))

    def reference(params: Params, inputs: Sequence[Array], given: Mapping[str, Array]) -> tuple[Evaluation, ...]:
        return masked(params, inputs, given, (None, None), False)

    def masked(
        params: Params, inputs: Sequence[Array], given: Mapping[str, Array], masks: Sequence[Mask], training: bool
    ) -> tuple[Evaluation, ...]:
        query, value = exact(inputs[0]), exact(inputs[1])
        key = exact(inputs[2]) if len(inputs) > 2 else value
        found = scores(params, query, key, given)
        causal = visible_keys(params, query.value.shape[1], key.value.shape[1])
        shares = weigh(found, visible_unmasked(causal, None, steps_shown(inputs[1], masks[1])))
        result = carried.einsum("bqk,bkd->bqd", shares, value, key.value.shape[1])
        asked = steps_shown(inputs[0], masks[0])
        if asked is not None:
            result = carried.where(asked, result, carried.zeros(result.value.shape))
        return (result, shares) if flag(params, "return_attention_scores") else (result,)

    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(2, 3),
        ranks=(3,),
        parameters=parameters,
        shape=shape,
        weights=declared,
        reference=reference,
        masked=masked,
        masks=passed_on,
        formula=formula,
        call_parameters=CALL_PARAMETERS,
        listed=True,
        noise=("dropout",),
        hazards=HAZARDS,
    )


# Attention


def _weights(params: Params, size: int) -> dict[str, WeightSpec]:
    found = {"scale": WeightSpec((), "scale")} if flag(params, "use_scale") else {}
    if choice(params, "score_mode", ("dot", "concat")) == "concat":
        found["concat_score_weight"] = WeightSpec((), "scale")
    return found


def _scores(params: Params, query: Evaluation, key: Evaluation, weights: Mapping[str, Array]) -> Evaluation:
    scale = weights.get("scale")
    if params["score_mode"] == "dot":
        found = carried.einsum("bqd,bkd->bqk", query, key, query.value.shape[2])
        return found if scale is None else carried.scaled(found, scale)
    both = _pairs(query, key)
    bent = named_activations.apply("tanh", both if scale is None else carried.scaled(both, scale))
    return carried.scaled(carried.total(bent, axis=-1), weights["concat_score_weight"])


def _pairs(query: Evaluation, key: Evaluation) -> Evaluation:
    """Every query plus every key."""
    left = Evaluation(query.value[:, :, None], query.kappa[:, :, None])
    return carried.plus(left, Evaluation(key.value[:, None], key.kappa[:, None]))


ATTENTION = _layer(
    "Attention",
    (
        Parameter("use_scale", False, (False, True)),
        Parameter("score_mode", "dot", ("dot", "concat"), ("cosine", None)),
        DROPOUT,
    ),
    _weights,
    _scores,
    (
        "output = the values weighted by softmax over the keys of scores: query . key, or with 'concat' a weight times "
        "the sum of tanh(query + key); scale multiplies the product, or the argument of tanh"
    ),
)


# AdditiveAttention


def _additive_weights(params: Params, size: int) -> dict[str, WeightSpec]:
    return {"scale": WeightSpec((size,), "kernel", fan_in=1)} if flag(params, "use_scale") else {}


def _additive(params: Params, query: Evaluation, key: Evaluation, weights: Mapping[str, Array]) -> Evaluation:
    bent = named_activations.apply("tanh", _pairs(query, key))
    return carried.total(carried.scaled(bent, weights["scale"]) if "scale" in weights else bent, axis=-1)


ADDITIVE_ATTENTION = _layer(
    "AdditiveAttention",
    (Parameter("use_scale", True, (True, False)), DROPOUT),
    _additive_weights,
    _additive,
    (
        "output = the values weighted by softmax over the keys of scores: the sum of scale * tanh(query + key), with "
        "one scale per feature"
    ),
)
