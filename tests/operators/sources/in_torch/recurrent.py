"""Recurrent layers: torch's own modules where they compute the same, its functions step by step elsewhere."""

from __future__ import annotations

import torch

from .functions import ACTIVATIONS
from .registry import LAYERS, Params, Tensor, Weights, below, layer, over_axes
from .spatial import back, convolved, first, turned

States = tuple[Tensor, ...]

#: What the cells of Keras have if they are given nothing else.
_CELL_DEFAULTS = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "reset_after": True,
}


def _simple(p: Params, x: Tensor, states: States, w: Weights) -> States:
    total = x @ w["kernel"] + states[0] @ w["recurrent_kernel"]
    return (ACTIVATIONS[p["activation"]](total + w["bias"] if "bias" in w else total),)


def _lstm(p: Params, x: Tensor, states: States, w: Weights) -> States:
    gates = x @ w["kernel"] + states[0] @ w["recurrent_kernel"]
    return _carry(p, gates + w["bias"] if "bias" in w else gates, states[1], dim=-1)


def _carry(p: Params, gates: Tensor, carry: Tensor, dim: int) -> States:
    gate, bend = ACTIVATIONS[p["recurrent_activation"]], ACTIVATIONS[p["activation"]]
    let_in, forget, candidate, out = gates.chunk(4, dim=dim)
    carry = gate(forget) * carry + gate(let_in) * bend(candidate)
    return gate(out) * bend(carry), carry


def _gru(p: Params, x: Tensor, states: States, w: Weights) -> States:
    """The reset gate lets through the state before the product, or the product."""
    (h,) = states
    gate, units = ACTIVATIONS[p["recurrent_activation"]], h.shape[-1]
    bias = w.get("bias")
    own = bias[1] if bias is not None and bias.dim() == 2 else None
    fed = x @ w["kernel"]
    if bias is not None:
        fed = fed + (bias[0] if own is not None else bias)
    recurrent = w["recurrent_kernel"]
    gates = h @ recurrent[:, : 2 * units]
    gates = gates if own is None else gates + own[: 2 * units]
    update, reset = gate(fed[:, : 2 * units] + gates).chunk(2, dim=-1)
    if p["reset_after"]:
        product = h @ recurrent[:, 2 * units :]
        recalled = reset * (product if own is None else product + own[2 * units :])
    else:
        recalled = (reset * h) @ recurrent[:, 2 * units :]
    candidate = ACTIVATIONS[p["activation"]](fed[:, 2 * units :] + recalled)
    return (torch.lerp(candidate, h, update),)


_STEPS = {"SimpleRNN": (_simple, 1), "LSTM": (_lstm, 2), "GRU": (_gru, 1)}


def _arranged(p: Params, outputs: Tensor, states: States) -> tuple[Tensor, ...]:
    found = outputs if p["return_sequences"] else outputs[:, -1]
    return (found, *states) if p["return_state"] else (found,)


def _stepped(kind: str, p: Params, x: Tensor, w: Weights) -> tuple[Tensor, ...]:
    step, count = _STEPS[kind]
    states: States = (x.new_zeros(x.shape[0], p["units"]),) * count
    outputs = []
    for one in x.unbind(dim=1):
        states = step(p, one, states, w)
        outputs.append(states[0])
    return _arranged(p, torch.stack(outputs, dim=1), states)


def _blocks(array: Tensor, order: tuple[int, ...]) -> Tensor:
    """Keras' gates side by side become torch's, one below the other in torch's order."""
    parts = array.chunk(len(order), dim=-1)
    return torch.cat([parts[index] for index in order], dim=-1).T


_ORDERS = {"SimpleRNN": (0,), "LSTM": (0, 1, 2, 3), "GRU": (1, 0, 2)}
_KINDS = {"SimpleRNN": "RNN_TANH", "LSTM": "LSTM", "GRU": "GRU"}


def _native(kind: str, p: Params, x: Tensor, w: Weights) -> tuple[Tensor, ...]:
    """Torch's own recurrence, which is what its modules call."""
    order = _ORDERS[kind]
    bias = w["bias"] if "bias" in w else x.new_zeros(w["kernel"].shape[-1])
    rows = list(bias) if bias.dim() == 2 else [bias, torch.zeros_like(bias)]
    flat = [
        _blocks(w["kernel"], order),
        _blocks(w["recurrent_kernel"], order),
        *(_blocks(row[None], order)[:, 0] for row in rows),
    ]
    zeros = x.new_zeros(1, x.shape[0], p["units"])
    common = (flat, True, 1, 0.0, False, False, True)
    if kind == "LSTM":
        outputs, hidden, carry = torch.lstm(x, (zeros, zeros), *common)
        return _arranged(p, outputs, (hidden[0], carry[0]))
    function = torch.gru if kind == "GRU" else torch.rnn_relu if p["activation"] == "relu" else torch.rnn_tanh
    outputs, hidden = function(x, zeros, *common)
    return _arranged(p, outputs, (hidden[0],))


def _has(kind: str, p: Params) -> bool:
    """Whether torch has the layer with these parameters."""
    if kind == "SimpleRNN":
        return p["activation"] in ("tanh", "relu")
    usual = p["activation"] == "tanh" and p["recurrent_activation"] == "sigmoid"
    return usual and (kind == "LSTM" or p["reset_after"])


def _run(kind: str, p: Params, x: Tensor, w: Weights) -> tuple[Tensor, ...]:
    p = {**_CELL_DEFAULTS, "return_sequences": False, "return_state": False, "go_backwards": False, **p}
    x = x.flip(1) if p["go_backwards"] else x
    return (_native if _has(kind, p) else _stepped)(kind, p, x, w)


@layer("SimpleRNN")
def _simple_rnn(p: Params, inputs: list[Tensor], weights: Weights) -> tuple[Tensor, ...]:
    return _run("SimpleRNN", p, inputs[0], below(weights, "simple_rnn_cell"))


@layer("LSTM")
def _lstm_layer(p: Params, inputs: list[Tensor], weights: Weights) -> tuple[Tensor, ...]:
    return _run("LSTM", p, inputs[0], below(weights, "lstm_cell"))


@layer("GRU")
def _gru_layer(p: Params, inputs: list[Tensor], weights: Weights) -> tuple[Tensor, ...]:
    return _run("GRU", p, inputs[0], below(weights, "gru_cell"))


@layer("RNN")
def _rnn(p: Params, inputs: list[Tensor], weights: Weights) -> tuple[Tensor, ...]:
    """A stack of cells is a stack of layers: each runs over the whole sequence of the one below."""
    cell = p["cell"]
    stacked = cell["class_name"] == "StackedRNNCells"
    cells = cell["config"]["cells"] if stacked else [cell]
    prefix = f"{cell['config']['name']}/" if stacked else ""
    x = inputs[0].flip(1) if p["go_backwards"] else inputs[0]
    states: list[Tensor] = []
    for one in cells:
        config = {**one["config"], "return_sequences": True, "return_state": True}
        kind = one["class_name"].removesuffix("Cell")
        x, *own = _run(kind, config, x, below(weights, prefix + one["config"]["name"]))
        states += own
    return _arranged(p, x, tuple(states))


@layer(*over_axes("ConvLSTM*"))
def _conv_lstm(p: Params, inputs: list[Tensor], weights: Weights) -> tuple[Tensor, ...]:
    w = below(weights, "conv_lstm_cell")
    kernel, recurrent = turned(w["kernel"]), turned(w["recurrent_kernel"])
    x = inputs[0].flip(1) if p["go_backwards"] else inputs[0]
    states: States = ()
    outputs = []
    for one in x.unbind(dim=1):
        fed = convolved(p, first(p, one), kernel)
        if "bias" in w:
            fed = fed + w["bias"].reshape(-1, *[1] * (fed.dim() - 2))
        states = states or (fed.new_zeros(fed.shape[0], p["filters"], *fed.shape[2:]),) * 2
        gates = fed + convolved(p, states[0], recurrent, strides=1, dilation_rate=1, padding="same")
        states = _carry(p, gates, states[1], dim=1)
        outputs.append(back(p, states[0]))
    return _arranged(p, torch.stack(outputs, dim=1), tuple(back(p, state) for state in states))


@layer("Bidirectional")
def _bidirectional(p: Params, inputs: list[Tensor], weights: Weights) -> tuple[Tensor, ...]:
    config, kind = p["layer"]["config"], p["layer"]["class_name"]
    label = {"LSTM": "lstm_cell", "GRU": "gru_cell", "SimpleRNN": "simple_rnn_cell"}[kind]
    there, *states = _run(kind, config, inputs[0], below(weights, f"forward_{config['name']}/{label}"))
    backwards = {**config, "go_backwards": True}
    again, *others = _run(kind, backwards, inputs[0], below(weights, f"backward_{config['name']}/{label}"))
    again = again.flip(1) if config.get("return_sequences") else again
    merged = {
        "concat": lambda: torch.cat([there, again], dim=-1),
        "sum": lambda: there + again,
        "ave": lambda: (there + again) / 2,
        "mul": lambda: there * again,
    }
    outputs = (there, again) if p["merge_mode"] is None else (merged[p["merge_mode"]](),)
    return (*outputs, *states, *others)


def inner(serialized: Params, defaults: dict[str, Params]) -> tuple[str, Params, str]:
    """Kind, complete parameters and name of a layer inside of a layer."""
    kind, config = serialized["class_name"], serialized["config"]
    return kind, {**defaults[kind], **config, "training": False}, config["name"]


@layer("TimeDistributed")
def _time_distributed(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    kind, params, name = inner(p["layer"], p["defaults"])
    own = below(weights, name)
    return torch.stack([LAYERS[kind](params, [step], own) for step in inputs[0].unbind(dim=1)], dim=1)


@layer("SpectralNormalization")
def _spectral(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    kind, params, name = inner(p["layer"], p["defaults"])
    return LAYERS[kind](params, inputs, below(weights, name))
