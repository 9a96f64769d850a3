"""Products, recurrence, norms and encodings, written out once more number by number, on parameters drawn at random."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.functions import named_activations
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import exact

Params = Mapping[str, Any]
Weights = Mapping[str, Array]
Naive = Callable[[Params, Sequence[Array], Weights], list[Array]]


def bent(name: object, x: Array) -> Array:
    """An activation by name; ``test_functions.py`` has them by hand."""
    return named_activations.apply(name, exact(np.asarray(x))).value


def cells(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def axes_of(value: Any, rank: int) -> list[int]:
    return sorted(axis % rank for axis in (value if isinstance(value, (tuple, list)) else [value]))


def shares(scores: Sequence[float], visible: Sequence[bool]) -> list[float]:
    top = max(score for score, seen in zip(scores, visible, strict=True) if seen)
    powers = [math.exp(score - top) if seen else 0.0 for score, seen in zip(scores, visible, strict=True)]
    return [power / math.fsum(powers) for power in powers]


# Products


def dense(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, kernel = inputs[0], weights["kernel"]
    found = np.empty((*x.shape[:-1], params["units"]))
    for *row, unit in cells(found.shape):
        found[(*row, unit)] = math.fsum(x[(*row, i)] * kernel[i, unit] for i in range(x.shape[-1]))
        found[(*row, unit)] += weights["bias"][unit] if params["use_bias"] else 0.0
    return [bent(params["activation"], found)]


def einsum_dense(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, kernel = inputs[0], weights["kernel"]
    taken, rest = params["equation"].split(",")
    own, given = rest.split("->")
    hidden = "0123456789"[: x.ndim - len(taken.replace("...", ""))]
    taken, given = taken.replace("...", hidden), given.replace("...", hidden)
    sizes = {**dict(zip(taken, x.shape, strict=True)), **dict(zip(own, kernel.shape, strict=True))}
    letters = sorted(set(taken + own))
    found = np.zeros([sizes[letter] for letter in given])
    for where in cells([sizes[letter] for letter in letters]):
        at = dict(zip(letters, where, strict=True))
        found[tuple(at[c] for c in given)] += x[tuple(at[c] for c in taken)] * kernel[tuple(at[c] for c in own)]
    if params["bias_axes"]:
        for where in cells(found.shape):
            at = dict(zip(given, where, strict=True))
            bias = weights["bias"].reshape([sizes[c] for c in given if c in params["bias_axes"]])
            found[where] += bias[tuple(at[c] for c in given if c in params["bias_axes"])]
    return [bent(params["activation"], found)]


def dot(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    axes = params["axes"] if isinstance(params["axes"], (tuple, list)) else (params["axes"],) * 2
    a, b = (np.moveaxis(x, axis, -1) for x, axis in zip(inputs, axes, strict=True))
    found = np.empty((len(a), *a.shape[1:-1], *b.shape[1:-1]))
    for n, *where in cells(found.shape):
        left, right = a[(n, *where[: a.ndim - 2])], b[(n, *where[a.ndim - 2 :])]
        total = math.fsum(float(p) * float(q) for p, q in zip(left, right, strict=True))
        lengths = max(math.hypot(*left), 1e-7) * max(math.hypot(*right), 1e-7) if params["normalize"] else 1.0
        found[(n, *where)] = total / lengths
    return [found if found.ndim > 1 else found[:, None]]


# Attention


def _score(params: Params, query: Array, key: Array, weights: Weights) -> float:
    if params.get("score_mode", "additive") == "dot":
        return float(query @ key) * float(weights.get("scale", 1.0))
    if "score_mode" in params:
        curves = [math.tanh(float(weights.get("scale", 1.0)) * (q + k)) for q, k in zip(query, key, strict=True)]
        return math.fsum(curves) * float(weights["concat_score_weight"])
    scale = weights.get("scale", np.ones(len(query)))
    return math.fsum(s * math.tanh(q + k) for s, q, k in zip(scale, query, key, strict=True))


def attention(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value
    parts = np.empty((*query.shape[:2], key.shape[1]))
    for n, q in cells(query.shape[:2]):
        visible = [k <= q or not params["use_causal_mask"] for k in range(key.shape[1])]
        parts[n, q] = shares([_score(params, query[n, q], row, weights) for row in key[n]], visible)
    found = np.array([[[math.fsum(p * v) for v in value[n].T] for p in parts[n]] for n in range(len(query))])
    return [found, parts] if params["return_attention_scores"] else [found]


def heads(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value

    def projected(x: Array, name: str) -> Array:
        """Batch, step, head, size."""
        kernel = weights[f"{name}/kernel"]
        return np.array([[[[row @ kernel[:, h, d] for d in range(kernel.shape[2])] for h in range(kernel.shape[1])]
                          for row in sample] for sample in x]) + weights.get(f"{name}/bias", 0.0)  # fmt: skip

    q, k, v = projected(query, "query"), projected(key, "key"), projected(value, "value")
    group = q.shape[2] // k.shape[2]
    parts = np.empty((len(q), q.shape[2], q.shape[1], k.shape[1]))
    mixed = np.empty((*q.shape[:3], v.shape[3]))
    window = params["sliding_window"] or math.inf
    for n, h, t in cells(parts.shape[:3]):
        visible = [(s <= t or not params["use_causal_mask"]) and abs(s - t) < window for s in range(k.shape[1])]
        scores = [float(q[n, t, h] @ k[n, s, h // group]) / math.sqrt(q.shape[3]) for s in range(k.shape[1])]
        parts[n, h, t] = shares(scores, visible)
        mixed[n, t, h] = sum(p * v[n, s, h // group] for s, p in enumerate(parts[n, h, t]))
    if params["use_gate"]:
        mixed = mixed * bent("sigmoid", projected(query, "gate"))
    kernel = weights["attention_output/kernel"]
    found = sum(
        mixed[..., h, d].reshape(*mixed.shape[:2], *(1,) * (kernel.ndim - 2)) * kernel[h, d]
        for h, d in cells(kernel.shape[:2])
    )
    found = found + weights.get("attention_output/bias", 0.0)
    return [found, parts] if params["return_attention_scores"] else [found]


def heads_over_axes(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    """One place after another of the axes that are not attended over."""
    query, rank, axes = inputs[0], inputs[0].ndim, params["attention_axes"]
    attended = range(1, rank - 1) if axes is None else sorted(axes_of(axes, rank))
    others = [axis for axis in range(1, rank - 1) if axis not in attended]
    found: list[Array] = []
    for place in cells([query.shape[axis] for axis in others]):
        fixed = dict(zip(others, place, strict=True))
        at = tuple(fixed.get(axis, slice(None)) for axis in range(rank - 1))
        rows = [x[at].reshape(len(x), -1, x.shape[-1]) for x in inputs]
        result, parts = heads({**params, "return_attention_scores": True}, rows, weights)
        over = [tuple(x.shape[axis] for axis in attended) for x in (query, inputs[-1])]
        if not found:
            across = [query.shape[axis] for axis in others]
            found.append(np.empty((*query.shape[:-1], *result.shape[2:])))
            found.append(np.empty((len(query), *across, parts.shape[1], *over[0], *over[1])))
        found[0][at] = result.reshape(found[0][at].shape)
        found[1][(slice(None), *place)] = parts.reshape(len(query), parts.shape[1], *over[0], *over[1])
    return found if params["return_attention_scores"] else found[:1]


# Recurrence


def _step(kind: str, params: Params, x: Array, states: list[Array], weights: Weights) -> list[Array]:
    """One sample, one step."""
    kernel, own, bias = weights["kernel"], weights["recurrent_kernel"], weights.get("bias")
    units, hidden = own.shape[0], states[0]

    def block(part: int, source: Array, matrix: Array, offset: Array | None) -> Array:
        columns = range(part * units, (part + 1) * units)
        return np.array([source @ matrix[:, c] + (0.0 if offset is None else offset[c]) for c in columns])

    fed_bias, own_bias = (bias[0], bias[1]) if bias is not None and bias.ndim == 2 else (bias, None)

    def whole(part: int) -> Array:
        return block(part, x, kernel, fed_bias) + block(part, hidden, own, own_bias)

    curve, gate = params["activation"], params.get("recurrent_activation")
    if kind == "SimpleRNN":
        return [bent(curve, whole(0))]
    if kind == "LSTM":
        carry = bent(gate, whole(1)) * states[1] + bent(gate, whole(0)) * bent(curve, whole(2))
        return [bent(gate, whole(3)) * bent(curve, carry), carry]
    update, reset = bent(gate, whole(0)), bent(gate, whole(1))
    after = params["reset_after"]
    recalled = reset * block(2, hidden, own, own_bias) if after else block(2, reset * hidden, own, None)
    candidate = bent(curve, block(2, x, kernel, fed_bias) + recalled)
    return [update * hidden + (1 - update) * candidate]


Placed = tuple[str, Params, Weights]


def _run(cells_: Sequence[Placed], params: Params, x: Array) -> list[Array]:
    """Each sample alone, from zeros; the states of all cells follow the output."""
    samples = []
    for sample in x:
        states = [[np.zeros(p["units"])] * (2 if kind == "LSTM" else 1) for kind, p, _ in cells_]
        outputs = []
        for fed in sample[:: -1 if params["go_backwards"] else 1]:
            for index, (kind, own, weights) in enumerate(cells_):
                states[index] = _step(kind, own, fed, states[index], weights)
                fed = states[index][0]
            outputs.append(fed)
        first = np.stack(outputs) if params["return_sequences"] else outputs[-1]
        samples.append([first, *(state for group in states for state in group)])
    found = [np.stack(parts) for parts in zip(*samples, strict=True)]
    return found if params["return_state"] else found[:1]


def _below(weights: Weights, path: str) -> dict[str, Array]:
    return {key.removeprefix(f"{path}/"): weight for key, weight in weights.items() if key.startswith(f"{path}/")}


def recurrent(kind: str) -> Naive:
    cell = {"SimpleRNN": "simple_rnn_cell", "LSTM": "lstm_cell", "GRU": "gru_cell"}[kind]
    return lambda params, inputs, weights: _run([(kind, params, _below(weights, cell))], params, inputs[0])


def rnn(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    value = params["cell"]
    stacked = value["class_name"] == "StackedRNNCells"
    prefix = f"{value['config']['name']}/" if stacked else ""
    placed = []
    for item in value["config"]["cells"] if stacked else [value]:
        kind = item["class_name"].removesuffix("Cell")
        own = layer(kind).complete(item["config"])
        placed.append((kind, own, _below(weights, prefix + item["config"]["name"])))
    return _run(placed, params, inputs[0])


def bidirectional(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    kind, config = params["layer"]["class_name"], params["layer"]["config"]
    own = layer(kind).complete(config)
    (first, *states), (second, *others) = (
        recurrent(kind)({**own, "go_backwards": way == "backward"}, inputs, _below(weights, f"{way}_{config['name']}"))
        for way in ("forward", "backward")
    )
    second = second[:, ::-1] if own["return_sequences"] else second
    merged = {
        None: lambda: [first, second],
        "concat": lambda: [np.concatenate([first, second], -1)],
        "sum": lambda: [first + second],
        "ave": lambda: [(first + second) / 2],
        "mul": lambda: [first * second],
    }[params["merge_mode"]]()
    return [*merged, *states, *others]


def _inner(params: Params, x: Array, weights: Weights) -> Array:
    value = params["layer"]
    config = {key: item for key, item in value["config"].items() if key != "name"}
    own = {f"n/{key}": weight for key, weight in _below(weights, value["config"]["name"]).items()}
    return evaluate_node(Node("n", value["class_name"], (Ref("x"),), config), [x], own)[0].value


def time_distributed(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = inputs[0]
    return [np.stack([_inner(params, x[:, index], weights) for index in range(x.shape[1])], axis=1)]


# Norms


def _standard(x: Array, together: Callable[[tuple[int, ...]], tuple[int, ...]], epsilon: float) -> Array:
    sets: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for where in cells(x.shape):
        sets.setdefault(together(where), []).append(where)
    found = np.empty_like(x)
    for members in sets.values():
        mean = math.fsum(float(x[where]) for where in members) / len(members)
        variance = math.fsum((float(x[where]) - mean) ** 2 for where in members) / len(members)
        for where in members:
            found[where] = (x[where] - mean) / math.sqrt(variance + epsilon)
    return found


def _affine(x: Array, axes: Sequence[int], weights: Weights) -> Array:
    found = np.empty_like(x)
    for where in cells(x.shape):
        at = tuple(where[axis] for axis in axes)
        found[where] = x[where] * (weights["gamma"][at] if "gamma" in weights else 1.0)
        found[where] += weights["beta"][at] if "beta" in weights else 0.0
    return found


def batch_normalization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, found = inputs[0], np.empty_like(inputs[0])
    (axis,) = axes_of(params["axis"], x.ndim)
    for where in cells(x.shape):
        c = where[axis]
        root = math.sqrt(weights["moving_variance"][c] + params["epsilon"])
        found[where] = (x[where] - weights["moving_mean"][c]) / root
    return [_affine(found, [axis], weights)]


def batch_training(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = inputs[0]
    (axis,) = axes_of(params["axis"], x.ndim)
    found = _standard(x, lambda at: (at[axis],), params["epsilon"])
    for where in cells(x.shape) if params["renorm"] else ():
        c, limits = where[axis], params["renorm_clipping"] or {}
        batch = [x[at] for at in cells(x.shape) if at[axis] == c]
        mean = math.fsum(batch) / len(batch)
        deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in batch) / len(batch) + params["epsilon"])
        moving = max(weights["renorm_stddev"][c], math.sqrt(params["epsilon"]))
        r = min(max(deviation / moving, limits.get("rmin", 0.0)), limits.get("rmax", math.inf))
        dmax = limits.get("dmax", math.inf)
        d = min(max((mean - weights["renorm_mean"][c]) / moving, -dmax), dmax)
        found[where] = found[where] * r + d
    return [_affine(found, [axis], weights)]


def layer_normalization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    axes = axes_of(params["axis"], inputs[0].ndim)

    def together(at: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index for axis, index in enumerate(at) if axis not in axes)

    return [_affine(_standard(inputs[0], together, params["epsilon"]), axes, weights)]


def group_normalization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = inputs[0]
    (axis,) = axes_of(params["axis"], x.ndim)
    size = 1 if params["groups"] == -1 else x.shape[axis] // params["groups"]
    found = _standard(x, lambda at: (at[0], at[axis] // size), params["epsilon"])
    return [_affine(found, [axis], weights)]


def _lengths(params: Params, x: Array) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float, int]]:
    """Every place, its indices along the axes, the sum of squares around it, and of how many."""
    axes = axes_of(params["axis"], x.ndim)
    for where in cells(x.shape):
        around = tuple(slice(None) if axis in axes else index for axis, index in enumerate(where))
        squares = [float(number) ** 2 for number in x[around].ravel()]
        yield where, tuple(where[axis] for axis in axes), math.fsum(squares), len(squares)


def rms_normalization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, found = inputs[0], np.empty_like(inputs[0])
    for where, at, total, count in _lengths(params, x):
        found[where] = x[where] / math.sqrt(total / count + params["epsilon"]) * weights["scale"][at]
    return [found]


def unit_normalization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, found = inputs[0], np.empty_like(inputs[0])
    for where, _, total, _ in _lengths(params, x):
        found[where] = x[where] / max(math.sqrt(total), 1e-12)
    return [found]


# Encodings


def normalization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, found = inputs[0], np.empty_like(inputs[0])
    axes = [] if params["axis"] is None else axes_of(params["axis"], x.ndim)
    for where in cells(x.shape):
        at = tuple(where[axis] for axis in axes)
        mean = weights["mean"][at] if params["mean"] is None else params["mean"]
        spread = max(math.sqrt(weights["variance"][at] if params["variance"] is None else params["variance"]), 1e-7)
        found[where] = mean + x[where] * spread if params["invert"] else (x[where] - mean) / spread
    return [found]


def _encoded(mode: str, depth: int, indices: Array) -> Array:
    single = indices.ndim > 1 and indices.shape[-1] == 1
    if mode == "one_hot" and not single:
        return np.array([[float(index == token) for token in range(depth)] for index in indices.ravel()]).reshape(
            *indices.shape, depth
        )
    counts = np.zeros((*indices.shape[:-1], depth))
    for *row, place in cells(indices.shape):
        counts[(*row, int(indices[(*row, place)]))] += 1
    return counts if mode == "count" else (counts > 0).astype(float)


def discretization(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    indices = np.array([sum(b <= x for b in params["bin_boundaries"]) for x in inputs[0].ravel()], dtype=float)
    indices, mode = indices.reshape(inputs[0].shape), params["output_mode"]
    return [indices if mode == "int" else _encoded(mode, len(params["bin_boundaries"]) + 1, indices)]


def category_encoding(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    if len(inputs) == 1:
        return [_encoded(params["output_mode"], params["num_tokens"], inputs[0])]
    found = np.zeros((*inputs[0].shape[:-1], params["num_tokens"]))
    for *row, place in cells(inputs[0].shape):
        found[(*row, int(inputs[0][(*row, place)]))] += inputs[1][(*row, place)]
    return [found]


def prelu(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x, found = inputs[0], np.empty_like(inputs[0])
    for where in cells(x.shape):
        at = tuple(0 if size == 1 else index for index, size in zip(where[1:], weights["alpha"].shape, strict=True))
        found[where] = x[where] if x[where] >= 0 else weights["alpha"][at] * x[where]
    return [found]


NAIVE: dict[str, Naive] = {
    "Dense": dense,
    "EinsumDense": einsum_dense,
    "Dot": dot,
    "Attention": attention,
    "AdditiveAttention": attention,
    "MultiHeadAttention": heads_over_axes,
    "GroupQueryAttention": heads,
    "SimpleRNN": recurrent("SimpleRNN"),
    "LSTM": recurrent("LSTM"),
    "GRU": recurrent("GRU"),
    "RNN": rnn,
    "Bidirectional": bidirectional,
    "TimeDistributed": time_distributed,
    "SpectralNormalization": lambda params, inputs, weights: [_inner(params, inputs[0], weights)],
    "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization,
    "GroupNormalization": group_normalization,
    "RMSNormalization": rms_normalization,
    "UnitNormalization": unit_normalization,
    "Normalization": normalization,
    "Discretization": discretization,
    "CategoryEncoding": category_encoding,
    "PReLU": prelu,
}


@pytest.mark.parametrize(
    ("name", "training"), [*((name, False) for name in sorted(NAIVE)), ("BatchNormalization", True)]
)
def test_the_reference_against_loops(name, training, draw_example):
    for seed in range(16):
        example = draw_example(name, np.random.default_rng([seed, zlib.crc32(name.encode())]))
        found = evaluate_node(example.node, example.inputs, example.weights, training=training)
        weights = {key.removeprefix("layer/"): weight.astype(float) for key, weight in example.weights.items()}
        naive = batch_training if training else NAIVE[name]
        expected = naive(example.params, [x.astype(float) for x in example.inputs], weights)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                one.value, other, rtol=1e-9, atol=1e-11, err_msg=str(example.params), strict=True
            )
