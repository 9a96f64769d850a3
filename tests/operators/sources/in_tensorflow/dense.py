"""Dense layers, normalizations, tables and codes."""

from __future__ import annotations

import tensorflow as tf

from .functions import ACTIVATIONS
from .registry import Params, Tensor, Weights, layer


@layer("Dense")
def _dense(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    found = tf.tensordot(inputs[0], weights["kernel"], 1)
    return ACTIVATIONS[p["activation"]](tf.nn.bias_add(found, weights["bias"]) if "bias" in weights else found)


@layer("EinsumDense")
def _einsum(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    found = tf.einsum(p["equation"], inputs[0], weights["kernel"])
    return ACTIVATIONS[p["activation"]](found + weights["bias"] if "bias" in weights else found)


@layer("Dot")
def _dot(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Sample by sample."""
    axes = [p["axes"]] * 2 if isinstance(p["axes"], int) else p["axes"]
    axes = [axis % len(x.shape) for axis, x in zip(axes, inputs, strict=True)]
    a, b = (_unit_length(x, axis, 1e-7) if p["normalize"] else x for x, axis in zip(inputs, axes, strict=True))
    rows = [tf.tensordot(a[i], b[i], [[axes[0] - 1], [axes[1] - 1]]) for i in range(a.shape[0])]
    found = tf.stack(rows)
    return found[:, None] if len(found.shape) == 1 else found


def _unit_length(x: Tensor, axis: int, least: float) -> Tensor:
    return x / tf.maximum(tf.norm(x, axis=axis, keepdims=True), tf.constant(least, tf.float64))


@layer("Embedding")
def _embedding(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return tf.nn.embedding_lookup(weights["embeddings"], inputs[0])


@layer("ReversibleEmbedding")
def _reversible(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    if not p["reverse"]:
        return _embedding(p, inputs, weights)
    table = tf.transpose(weights["embeddings"]) if p["tie_weights"] else weights["reverse_embeddings"]
    logits, cap = tf.tensordot(inputs[0], table, 1), p["logit_soft_cap"]
    return logits if cap is None else cap * tf.tanh(logits / cap)


@layer("Masking")
def _masking(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    return tf.where(tf.reduce_all(x == p["mask_value"], axis=-1, keepdims=True), tf.zeros_like(x), x)


# Normalizations


def _axes(p: Params, x: Tensor) -> list[int]:
    items = [p["axis"]] if isinstance(p["axis"], int) else p["axis"]
    return sorted(axis % len(x.shape) for axis in items)


def _along(x: Tensor, axes: list[int], weight: Tensor | None) -> Tensor | None:
    if weight is None:
        return None
    return tf.reshape(weight, [size if axis in axes else 1 for axis, size in enumerate(x.shape)])


def _standardized(p: Params, x: Tensor, over: list[int], gamma: Tensor | None, beta: Tensor | None) -> Tensor:
    mean, variance = tf.nn.moments(x, over, keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, p["epsilon"])


@layer("BatchNormalization")
def _batch(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    axes = _axes(p, x)
    named = {name: _along(x, axes, weights.get(name)) for name in ("moving_mean", "moving_variance", "gamma", "beta")}
    if p["training"]:
        others = [axis for axis in range(len(x.shape)) if axis not in axes]
        if p["renorm"]:
            return _renormed(p, x, others, {name: _along(x, axes, weight) for name, weight in weights.items()})
        return _standardized(p, x, others, named["gamma"], named["beta"])
    return tf.nn.batch_normalization(
        x, named["moving_mean"], named["moving_variance"], named["beta"], named["gamma"], p["epsilon"]
    )


def _renormed(p: Params, x: Tensor, others: list[int], named: Weights) -> Tensor:
    """The paper's two lines; the correction is a constant to the tape."""
    mean, variance = tf.nn.moments(x, others, keepdims=True)
    deviation, moving = tf.sqrt(variance + p["epsilon"]), tf.maximum(named["renorm_stddev"], p["epsilon"] ** 0.5)
    clipping, inf = p["renorm_clipping"] or {}, float("inf")
    r = tf.clip_by_value(deviation / moving, clipping.get("rmin", 0.0), clipping.get("rmax", inf))
    dmax = clipping.get("dmax", inf)
    d = tf.clip_by_value((mean - named["renorm_mean"]) / moving, -dmax, dmax)
    found = (x - mean) / deviation * tf.stop_gradient(r) + tf.stop_gradient(d)
    found = found * named["gamma"] if "gamma" in named else found
    return found + named["beta"] if "beta" in named else found


@layer("LayerNormalization")
def _layer(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    axes = _axes(p, x)
    return _standardized(p, x, axes, _along(x, axes, weights.get("gamma")), _along(x, axes, weights.get("beta")))


@layer("GroupNormalization")
def _group(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Group by group: its channels cut out, standardized over everything but the batch, put side by side again."""
    x = inputs[0]
    (axis,) = _axes(p, x)
    groups = x.shape[axis] if p["groups"] == -1 else p["groups"]
    over = list(range(1, len(x.shape)))
    parts = [_standardized(p, part, over, None, None) for part in tf.split(x, groups, axis=axis)]
    found = tf.concat(parts, axis=axis)
    found = found * _along(x, [axis], weights["gamma"]) if "gamma" in weights else found
    return found + _along(x, [axis], weights["beta"]) if "beta" in weights else found


@layer("RMSNormalization")
def _rms(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    axes = _axes(p, x)
    square = tf.reduce_mean(tf.square(x), axis=axes, keepdims=True)
    return x * tf.math.rsqrt(square + p["epsilon"]) * _along(x, axes, weights["scale"])


@layer("UnitNormalization")
def _unit(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """``tf.math.l2_normalize`` divides by no root of less than its epsilon."""
    return tf.math.l2_normalize(inputs[0], axis=_axes(p, inputs[0]), epsilon=1e-24)


@layer("Normalization")
def _normalization(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    kept = [] if p["axis"] is None else _axes(p, x)
    mean, variance = (
        _along(x, kept, weights[name]) if name in weights else tf.constant(float(p[name]), tf.float64)
        for name in ("mean", "variance")
    )
    deviation = tf.maximum(tf.sqrt(variance), tf.constant(1e-7, tf.float64))
    return mean + x * deviation if p["invert"] else tf.divide(tf.subtract(x, mean), deviation)


@layer("Rescaling")
def _rescaling(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    scale, offset = (tf.constant(p[name], tf.float64) for name in ("scale", "offset"))
    return tf.multiply(inputs[0], scale) + offset


# Codes


def _encoded(mode: str, depth: int, indices: Tensor) -> Tensor:
    if mode == "one_hot":
        single = len(indices.shape) > 1 and indices.shape[-1] == 1
        return tf.one_hot(tf.squeeze(indices, -1) if single else indices, depth, dtype=tf.float64)
    flat = tf.cast(tf.reshape(indices, [-1, indices.shape[-1]]), tf.int32)
    counted = tf.math.bincount(flat, minlength=depth, maxlength=depth, axis=-1, binary_output=mode == "multi_hot")
    return tf.reshape(tf.cast(counted, tf.float64), [*indices.shape[:-1], depth])


@layer("Discretization")
def _discretization(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    bounds = tf.constant(p["bin_boundaries"], tf.float64)
    flat = tf.searchsorted(bounds, tf.reshape(inputs[0], [-1]), side="right")
    indices = tf.reshape(flat, inputs[0].shape)
    mode = p["output_mode"]
    return tf.cast(indices, tf.float64) if mode == "int" else _encoded(mode, len(p["bin_boundaries"]) + 1, indices)


@layer("CategoryEncoding")
def _categories(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    if len(inputs) > 1:
        return tf.einsum("...i,...it->...t", inputs[1], tf.one_hot(inputs[0], p["num_tokens"], dtype=tf.float64))
    return _encoded(p["output_mode"], p["num_tokens"], inputs[0])


def _bins(values: Tensor, count: int, salt: object) -> Tensor:
    text = tf.strings.as_string(tf.cast(values, tf.int64))
    if salt is None:
        return tf.strings.to_hash_bucket_fast(text, count)
    return tf.strings.to_hash_bucket_strong(text, count, list(salt) if isinstance(salt, list) else [salt, salt])


@layer("Hashing")
def _hashing(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x, count, masked = inputs[0], p["num_bins"], p["mask_value"] is not None and p["num_bins"] > 1
    indices = _bins(x, count - masked, p["salt"]) + int(masked)
    if masked:
        indices = tf.where(tf.equal(x, p["mask_value"]), tf.zeros_like(indices), indices)
    mode = p["output_mode"]
    return tf.cast(indices, tf.float64) if mode == "int" else _encoded(mode, count, indices)


@layer("HashedCrossing")
def _crossing(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    crossed = tf.sparse.cross_hashed([tf.cast(x, tf.int64) for x in inputs], p["num_bins"])
    indices = tf.sparse.to_dense(crossed)
    return tf.cast(indices, tf.float64) if p["output_mode"] == "int" else _encoded("one_hot", p["num_bins"], indices)


@layer("IntegerLookup")
def _integer_lookup(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """With a table of TensorFlow's; those out of vocabulary are hashed or counted off afterwards."""
    x, mask, oov = tf.cast(inputs[0], tf.int64), p["mask_token"], p["num_oov_indices"]
    first = int(mask is not None and p["output_mode"] == "int")
    special = [mask] * first + [p["oov_token"]] * oov
    named = list(p["vocabulary"][: len(special)]) == special
    tokens = tf.constant(p["vocabulary"][len(special) if named else 0 :], tf.int64)
    places = tf.range(first + oov, first + oov + len(tokens), dtype=tf.int64)
    if p["invert"]:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(places, tokens), p["oov_token"])
        found = table.lookup(x)
        return tf.cast(found if mask is None else tf.where(x == 0, tf.cast(mask, tf.int64), found), tf.float64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tokens, places), -1)
    others = _bins(x, oov, p["salt"]) if oov > 1 and p["oov_method"] == "farmhash" else x % max(oov, 1)
    found = table.lookup(x)
    found = tf.where(found < 0, others + first, found)
    depth = p["max_tokens"] if p["pad_to_max_tokens"] else first + oov + len(tokens)
    if p["output_mode"] == "int":
        return tf.cast(found if mask is None else tf.where(x == mask, tf.zeros_like(found), found), tf.float64)
    if mask is not None:
        found = tf.where(x == mask, tf.cast(depth, tf.int64), found)  # a place more, which is cut off
    mode = "count" if p["output_mode"] == "tf_idf" else p["output_mode"]
    encoded = _encoded(mode, depth + 1, found)[..., :depth]
    if p["idf_weights"] is None:
        return encoded
    given = tf.constant(p["idf_weights"], tf.float64)
    front = tf.fill([0 if named else oov], tf.reduce_mean(given))
    known = tf.concat([front, given], 0)
    return encoded * tf.pad(known, [[0, depth - len(known)]])
