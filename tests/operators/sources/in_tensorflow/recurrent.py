"""Recurrent layers step by step, in the documentation's names for gates and states."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .functions import ACTIVATIONS
from .registry import LAYERS, Params, Tensor, Weights, below, layer, over_axes
from .spatial import back, convolved, last

_CELL_DEFAULTS = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "reset_after": True,
}
_SEQUENCE_DEFAULTS = {"return_sequences": False, "return_state": False, "go_backwards": False}


def _affine(x: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
    found = tf.linalg.matmul(x, kernel)
    return found if bias is None else tf.nn.bias_add(found, bias)


def _simple(p: Params, x: Tensor, h: list[Tensor], w: Weights) -> list[Tensor]:
    """Inputs and state side by side, kernels one above the other: one product."""
    both, kernel = tf.concat([x, h[0]], axis=-1), tf.concat([w["kernel"], w["recurrent_kernel"]], axis=0)
    return [ACTIVATIONS[p["activation"]](_affine(both, kernel, w.get("bias")))]


def _lstm(p: Params, x: Tensor, states: list[Tensor], w: Weights) -> list[Tensor]:
    both = tf.concat([x, states[0]], axis=-1)
    kernel = tf.concat([w["kernel"], w["recurrent_kernel"]], axis=0)
    return _carried(p, _affine(both, kernel, w.get("bias")), states[1])


def _carried(p: Params, gates: Tensor, c: Tensor) -> list[Tensor]:
    i, f, g, o = tf.split(gates, 4, axis=-1)
    gate, bend = ACTIVATIONS[p["recurrent_activation"]], ACTIVATIONS[p["activation"]]
    c = gate(f) * c + gate(i) * bend(g)
    return [gate(o) * bend(c), c]


def _gru(p: Params, x: Tensor, states: list[Tensor], w: Weights) -> list[Tensor]:
    """Gate by gate: z, r, then the candidate."""
    h = states[0]
    kernels, own_kernels = tf.split(w["kernel"], 3, axis=-1), tf.split(w["recurrent_kernel"], 3, axis=-1)
    biases, own_biases = _gru_biases(w.get("bias"))
    gate = ACTIVATIONS[p["recurrent_activation"]]
    z, r = (gate(_affine(x, kernels[k], biases[k]) + _affine(h, own_kernels[k], own_biases[k])) for k in range(2))
    fed = _affine(x, kernels[2], biases[2])
    if p["reset_after"]:
        candidate = ACTIVATIONS[p["activation"]](fed + r * _affine(h, own_kernels[2], own_biases[2]))
    else:
        candidate = ACTIVATIONS[p["activation"]](fed + _affine(r * h, own_kernels[2], None))
    return [z * h + (1.0 - z) * candidate]


def _gru_biases(bias: Tensor | None) -> tuple[list[Any], list[Any]]:
    nothing: list[Any] = [None] * 3
    if bias is None:
        return nothing, nothing
    if len(bias.shape) == 1:
        return tf.split(bias, 3), nothing
    return tf.split(bias[0], 3), tf.split(bias[1], 3)


_STEPS = {"SimpleRNN": (_simple, 1), "LSTM": (_lstm, 2), "GRU": (_gru, 1)}
_LABELS = {"SimpleRNN": "simple_rnn_cell", "LSTM": "lstm_cell", "GRU": "gru_cell"}


def _arranged(p: Params, outputs: list[Tensor], states: list[Tensor]) -> list[Tensor]:
    found = tf.stack(outputs, axis=1) if p["return_sequences"] else outputs[-1]
    return [found, *states] if p["return_state"] else [found]


def _inputs(p: Params, x: Tensor) -> list[Tensor]:
    steps = tf.unstack(x, axis=1)
    return steps[::-1] if p["go_backwards"] else steps


def _zeros(x: Tensor, kind: str, units: int) -> list[Tensor]:
    return [tf.zeros([x.shape[0], units], tf.float64)] * _STEPS[kind][1]


def _run(kind: str, p: Params, x: Tensor, w: Weights) -> list[Tensor]:
    p = {**_CELL_DEFAULTS, **_SEQUENCE_DEFAULTS, **p}
    states, outputs = _zeros(x, kind, p["units"]), []
    for one in _inputs(p, x):
        states = _STEPS[kind][0](p, one, states, w)
        outputs.append(states[0])
    return _arranged(p, outputs, states)


def _recurrent(kind: str) -> Any:
    return lambda p, inputs, weights: _run(kind, p, inputs[0], below(weights, _LABELS[kind]))


for _kind in _STEPS:
    layer(_kind)(_recurrent(_kind))


@layer("RNN")
def _rnn(p: Params, inputs: list[Tensor], weights: Weights) -> list[Tensor]:
    """Each step goes through all cells before the next one begins."""
    cell = p["cell"]
    stacked = cell["class_name"] == "StackedRNNCells"
    cells = cell["config"]["cells"] if stacked else [cell]
    prefix = f"{cell['config']['name']}/" if stacked else ""
    kinds = [one["class_name"].removesuffix("Cell") for one in cells]
    states = [_zeros(inputs[0], kind, one["config"]["units"]) for kind, one in zip(kinds, cells, strict=True)]
    outputs = []
    for x in _inputs(p, inputs[0]):
        for index, (kind, one) in enumerate(zip(kinds, cells, strict=True)):
            own = below(weights, prefix + one["config"]["name"])
            states[index] = _STEPS[kind][0]({**_CELL_DEFAULTS, **one["config"]}, x, states[index], own)
            x = states[index][0]
        outputs.append(x)
    return _arranged(p, outputs, [state for group in states for state in group])


@layer(*over_axes("ConvLSTM*"))
def _conv_lstm(p: Params, inputs: list[Tensor], weights: Weights) -> list[Tensor]:
    w = below(weights, "conv_lstm_cell")
    states: list[Tensor] = []
    outputs = []
    for one in _inputs(p, inputs[0]):
        fed = convolved(p, last(p, one), w["kernel"])
        fed = tf.nn.bias_add(fed, w["bias"]) if "bias" in w else fed
        states = states or [tf.zeros([*fed.shape[:-1], p["filters"]], tf.float64)] * 2
        own = convolved(p, states[0], w["recurrent_kernel"], strides=1, dilation_rate=1, padding="same")
        states = _carried(p, fed + own, states[1])
        outputs.append(back(p, states[0]))
    return _arranged(p, outputs, [back(p, state) for state in states])


@layer("Bidirectional")
def _bidirectional(p: Params, inputs: list[Tensor], weights: Weights) -> list[Tensor]:
    """The twin sees the sequence reversed; its outputs are reversed again."""
    config, kind = p["layer"]["config"], p["layer"]["class_name"]
    ahead, back_again = (below(weights, f"{way}_{config['name']}/{_LABELS[kind]}") for way in ("forward", "backward"))
    there, *states = _run(kind, config, inputs[0], ahead)
    again, *others = _run(kind, config, tf.reverse(inputs[0], [1]), back_again)
    again = tf.reverse(again, [1]) if config.get("return_sequences") else again
    if p["merge_mode"] is None:
        return [there, again, *states, *others]
    merge = {
        "concat": lambda: tf.concat([there, again], -1),
        "sum": lambda: tf.add_n([there, again]),
        "ave": lambda: tf.add_n([there, again]) * 0.5,
        "mul": lambda: tf.multiply(there, again),
    }
    return [merge[p["merge_mode"]](), *states, *others]


def _inner(p: Params) -> tuple[str, Params, str]:
    kind, config = p["layer"]["class_name"], p["layer"]["config"]
    return kind, {**p["defaults"][kind], **config, "training": False}, config["name"]


@layer("TimeDistributed")
def _time_distributed(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    kind, params, name = _inner(p)
    steps = [LAYERS[kind](params, [step], below(weights, name)) for step in tf.unstack(inputs[0], axis=1)]
    return tf.stack(steps, axis=1)


@layer("SpectralNormalization")
def _spectral(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    kind, params, name = _inner(p)
    return LAYERS[kind](params, inputs, below(weights, name))
