"""Attention with heads: MultiHeadAttention and GroupQueryAttention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import flag, is_integer, known_size, optional_positive, positive, refuse
from ..functions import named_activations
from ..reference import carried
from ..reference.rounding import exact
from ..spec import Conflict, Evaluation, LayerSpec, Mask, Parameter, Params, Shape, ShapeError, WeightSpec
from .attended import AXES, Fold, fold_of
from .attention import CALL_PARAMETERS, DROPOUT, HAZARDS, check_call, keys_of, visible_keys, visible_unmasked, weigh
from .dense import USE_BIAS
from .masks import passed_on, steps_shown

_GATE = Parameter("use_gate", False, (False, True))
_SLIDING = Parameter("sliding_window", None, (None, 2, 4), (0, -1))


@dataclass(frozen=True, slots=True)
class Heads:
    """Sizes: heads of queries, heads of keys and values, and what one head holds of each."""

    queries: int
    keys: int
    key_size: int
    value_size: int
    output: tuple[int, ...] | None


Read = Callable[[Params], Heads]


def _fold_of(params: Params, shapes: Sequence[Shape]) -> tuple[Fold, tuple[Shape, Shape, Shape]]:
    """Query, value and key as sequences of steps, and how they become that."""
    fold = fold_of(params, shapes)
    return fold, keys_of([fold.shape(shape) for shape in shapes])


def _declared_weights(heads: Heads, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    _, (query, value, key) = _fold_of(params, shapes)
    size = known_size(query, 2, "the size of a query")
    parts = {
        "query": ((size,), (heads.queries, heads.key_size)),
        "key": ((known_size(key, 2, "the size of a key"),), (heads.keys, heads.key_size)),
        "value": ((known_size(value, 2, "the size of a value"),), (heads.keys, heads.value_size)),
        "attention_output": ((heads.queries, heads.value_size), heads.output or (size,)),
    }
    found = {}
    for name, (taken, given) in parts.items():
        fan_in = int(np.prod(taken))
        found[f"{name}/kernel"] = WeightSpec((*taken, *given), "kernel", fan_in=fan_in)
        if flag(params, "use_bias"):
            found[f"{name}/bias"] = WeightSpec(given, "bias", fan_in=fan_in)
    return _with_gate(found, heads, params, size)


def _with_gate(found: dict[str, WeightSpec], heads: Heads, params: Params, size: int) -> dict[str, WeightSpec]:
    """The gate is built between key and value."""
    if not flag(params, "use_gate"):
        return found
    ordered: dict[str, WeightSpec] = {}
    for name, weight in found.items():
        if name == "value/kernel":
            shape = (heads.queries, heads.value_size)
            ordered["gate/kernel"] = WeightSpec((size, *shape), "kernel", fan_in=size)
            if flag(params, "use_bias"):
                ordered["gate/bias"] = WeightSpec(shape, "bias", fan_in=size)
        ordered[name] = weight
    return ordered


def _project(x: Evaluation, name: str, weights: Mapping[str, Array], taken: int = 1) -> Evaluation:
    """``x`` contracted over its last ``taken`` axes with the kernel of that name, plus its bias."""
    kernel = weights[f"{name}/kernel"]
    shape = x.value.shape[: x.value.ndim - taken]
    size = int(np.prod(kernel.shape[:taken]))
    flat = Evaluation(x.value.reshape(*shape, size), x.kappa.reshape(*shape, size))
    found = carried.product(flat, kernel.reshape(size, -1))
    target = (*shape, *kernel.shape[taken:])
    result = Evaluation(found.value.reshape(target), found.kappa.reshape(target))
    bias = weights.get(f"{name}/bias")
    return result if bias is None else carried.shifted(result, bias)


def _visible(params: Params, queries: int, keys: int) -> Array:
    window = optional_positive(params, "sliding_window")
    mask = visible_keys(params, queries, keys)
    if window is not None:
        mask = mask & (np.abs(np.arange(queries)[:, None] - np.arange(keys)) < window)
    return mask


def _attend(
    heads: Heads,
    params: Params,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    masks: Sequence[Mask] = (None,),
) -> tuple[Evaluation, ...]:
    fold = fold_of(params, [x.shape for x in inputs])
    if inputs[0].ndim > 3 and any(mask is not None for mask in masks):
        raise ShapeError("Masks are documented for inputs of rank 3 alone")
    query, key = inputs[0].shape, inputs[-1].shape
    result, shares = _attend_to_steps(heads, params, [fold.inputs(x) for x in inputs], weights, masks)
    found = fold.output(result, query)
    if not flag(params, "return_attention_scores"):
        return (found,)
    sizes = fold.scores(query, key, heads.queries)
    return found, Evaluation(shares.value.reshape(sizes), shares.kappa.reshape(sizes))


def _attend_to_steps(
    heads: Heads, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask]
) -> tuple[Evaluation, Evaluation]:
    taken, given = exact(inputs[0]), exact(inputs[1])
    query = _project(taken, "query", weights)
    key = _spread(_project(exact(inputs[2]) if len(inputs) > 2 else given, "key", weights), heads)
    value = _spread(_project(given, "value", weights), heads)
    scores = carried.einsum("bqnd,bknd->bnqk", query, key, heads.key_size)
    scores = carried.scaled(scores, 1.0 / np.sqrt(heads.key_size))
    keys = value.value.shape[1]
    hidden = [steps_shown(x, mask) for x, mask in zip(inputs, masks, strict=False)]
    visible = visible_unmasked(_visible(params, query.value.shape[1], keys), hidden[0], *hidden[1:])
    shares = weigh(scores, visible if visible.ndim == 2 else visible[:, None])
    mixed = carried.einsum("bnqk,bknd->bqnd", shares, value, keys)
    if flag(params, "use_gate"):
        mixed = carried.times(mixed, named_activations.apply("sigmoid", _project(taken, "gate", weights)))
    return _project(mixed, "attention_output", weights, taken=2), shares


def _spread(x: Evaluation, heads: Heads) -> Evaluation:
    """Each head of keys or values serves a run of query heads."""
    times = heads.queries // heads.keys
    return Evaluation(x.value.repeat(times, axis=2), x.kappa.repeat(times, axis=2))


def _shape(heads: Heads, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    check_call(params)
    fold, (query, _, key) = _fold_of(params, shapes)
    flag(params, "use_bias")
    flag(params, "use_gate")
    if heads.queries % heads.keys:
        refuse("num_key_value_heads", f"a divisor of the {heads.queries} query heads", heads.keys)
    _check_visible(params, query[1], key[1])
    result = (*shapes[0][:-1], *(heads.output or shapes[0][-1:]))
    if flag(params, "return_attention_scores"):
        return result, fold.scores(shapes[0], shapes[-1], heads.queries)
    return (result,)


def _check_visible(params: Params, queries: int | None, keys: int | None) -> None:
    """What a query gives that sees no key is nowhere said."""
    window = optional_positive(params, "sliding_window")
    if window is not None and queries is not None and keys is not None and queries - window >= keys:
        refuse("sliding_window", f"a window in which each of {queries} queries sees one of {keys} keys", window)


def _layer(
    name: str,
    parameters: tuple[Parameter, ...],
    read: Read,
    formula: str,
    conflicts: tuple[Conflict, ...] = (),
    ranks: tuple[int, ...] = (3,),
) -> LayerSpec:
    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(2, 3),
        ranks=ranks,
        parameters=(*parameters, DROPOUT, USE_BIAS, _SLIDING, _GATE),
        shape=lambda params, shapes: _shape(read(params), params, shapes),
        weights=lambda params, shapes: _declared_weights(read(params), params, shapes),
        reference=lambda params, inputs, weights: _attend(read(params), params, inputs, weights),
        masked=lambda params, inputs, weights, masks, _: _attend(read(params), params, inputs, weights, masks),
        masks=passed_on,
        formula=formula,
        conflicts=conflicts,
        call_parameters=CALL_PARAMETERS,
        noise=("dropout",),
        hazards=(*HAZARDS, "dropout and return_attention_scores leave the fused kernel, in inference too"),
    )


# MultiHeadAttention


def _output(params: Params) -> tuple[int, ...] | None:
    value: Json = params["output_shape"]
    if value is None:
        return None
    items = (value,) if is_integer(value) else value
    if not isinstance(items, (tuple, list)) or not all(is_integer(item) and item > 0 for item in items) or not items:
        refuse("output_shape", "None, a positive integer or a sequence of them", value)
    return tuple(int(item) for item in items)


def _multi(params: Params) -> Heads:
    count, size = positive(params, "num_heads"), positive(params, "key_dim")
    return Heads(count, count, size, optional_positive(params, "value_dim") or size, _output(params))


MULTI_HEAD_ATTENTION = _layer(
    "MultiHeadAttention",
    (
        Parameter("num_heads", None, (1, 2, 3), (0, -1, 1.5), required=True),
        Parameter("key_dim", None, (1, 2, 4), (0, -1, 1.5), required=True),
        Parameter("value_dim", None, (None, 3, 5), (0, -1)),
        Parameter("output_shape", None, (None, 6), (-1, "6")),
        AXES,
    ),
    _multi,
    (
        "query, key and value are projected once per head; each head weights its values by softmax over keys, those "
        "along attention_axes, of query . key / sqrt(key_dim); output = the projection of all heads together"
    ),
    ranks=(3, 4, 5),
)


# GroupQueryAttention


def _grouped_heads(params: Params) -> Heads:
    queries, keys, size = (positive(params, name) for name in ("num_query_heads", "num_key_value_heads", "head_dim"))
    return Heads(queries, keys, size, size, None)


_SHARED = "num_query_heads is a multiple of num_key_value_heads"

GROUP_QUERY_ATTENTION = _layer(
    "GroupQueryAttention",
    (
        Parameter("head_dim", None, (1, 2, 4), (0, -1), required=True),
        Parameter("num_query_heads", None, (2, 4, 6), (0, -1), required=True),
        Parameter("num_key_value_heads", None, (1, 2), (0, -1), required=True),
    ),
    _grouped_heads,
    (
        "as multi-head attention, but each head of keys and values serves num_query_heads / num_key_value_heads "
        "consecutive heads of queries; output = the projection back to the size of a query"
    ),
    conflicts=(
        Conflict({"num_query_heads": 2, "num_key_value_heads": 4}, _SHARED),
        Conflict({"num_query_heads": 3, "num_key_value_heads": 2}, _SHARED),
    ),
)
