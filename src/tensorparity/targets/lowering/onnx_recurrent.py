"""Recurrent layers as ONNX operators: one operator for a whole sequence, also for both ways along it.

ONNX has time first, the kernels of a recurrence transposed, and the gates of an LSTM in another order. What it has
no operator for, the recurrence on images, is written step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.jsontext import Json
from ...operators.arguments import flag, positive
from ...operators.layers.recurrent import GRU_CELL, LSTM_CELL, SIMPLE_CELL
from ...operators.layers.spatial import PADDINGS, Window, read_window
from ...operators.spec import Params
from .onnx_activations import ACTIVATIONS, activate
from .onnx_convolution import filters_first, window_attributes
from .onnx_graph import Lowering, OnnxCall
from .onnx_layout import from_first, to_first
from .refusal import Refusal

#: What every ONNX runtime knows inside of a recurrence; of the others each knows some.
_INSIDE = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"}


@dataclass(frozen=True, slots=True)
class OnnxCellKind:
    """A recurrence: its operator, its cell's name in the layer, its number of states, and its activations in order.

    ``order`` has the blocks of its kernels in ONNX' order, by their place in Keras'.
    """

    op: str
    cell: str
    states: int
    order: tuple[int, ...]
    activations: tuple[str, ...]


_GRU = OnnxCellKind("GRU", "gru_cell", 1, (0, 1, 2), ("recurrent_activation", "activation"))
_LSTM = OnnxCellKind("LSTM", "lstm_cell", 2, (0, 3, 1, 2), ("recurrent_activation", "activation", "activation"))
_SIMPLE = OnnxCellKind("RNN", "simple_rnn_cell", 1, (0,), ("activation",))
KINDS = {"GRU": _GRU, "LSTM": _LSTM, "SimpleRNN": _SIMPLE}
_CELLS = {"GRUCell": (_GRU, GRU_CELL), "LSTMCell": (_LSTM, LSTM_CELL), "SimpleRNNCell": (_SIMPLE, SIMPLE_CELL)}

_GATED: dict[str, tuple[Json, ...]] = {"activation": tuple(_INSIDE), "recurrent_activation": tuple(_INSIDE)}
#: Parameters of these layers that have no counterpart, with the values that have one; the rest is refused.
LOWERED_VALUES: dict[str, dict[str, tuple[Json, ...]]] = {
    "GRU": _GATED,
    "LSTM": _GATED,
    "SimpleRNN": {"activation": tuple(_INSIDE)},
    **{f"ConvLSTM{dims}D": {"recurrent_activation": (None, "linear", *ACTIVATIONS)} for dims in (1, 2, 3)},
}


@dataclass(frozen=True, slots=True)
class Way:
    """A recurrence with its weights, along the sequence or against it."""

    params: Params
    weights: Mapping[str, Array]


def run_sequence(call: OnnxCall, kind: OnnxCellKind, x: str, name: str, ways: Sequence[Way]) -> list[str]:
    """All outputs, (time, way, batch, units), and the last of each state, (way, batch, units).

    The second way is from the end to the start; its outputs are in the order of time.

    Raises:
        Refusal: if ONNX has no such activation.
    """
    params = ways[0].params

    def both(weight: str, turn: partial[Array]) -> str:
        parts = [turn(way.weights[weight]) for way in ways]
        return call.writer.weight(f"{call.layer}/{name}/{weight}", np.concatenate(parts))

    more = [both("bias", partial(_biases, kind.order))] if flag(params, "use_bias") else []
    attributes = {"linear_before_reset": int(flag(params, "reset_after"))} if kind.op == "GRU" else {}
    return call.writer.emit_all(
        kind.op,
        [
            call.transpose(x, (1, 0, 2)),
            both("kernel", partial(_rows, kind.order)),
            both("recurrent_kernel", partial(_rows, kind.order)),
            *more,
        ],
        [f"{call.layer}_all", f"{call.layer}_last", f"{call.layer}_carry"][: 1 + kind.states],
        hidden_size=positive(params, "units"),
        direction="bidirectional" if len(ways) == 2 else "forward",
        activations=tuple(_inside(params[name]) for name in kind.activations) * len(ways),
        **attributes,
    )


def _inside(name: Json) -> str:
    if name not in _INSIDE:
        raise Refusal(f"activation {name!r} has no ONNX counterpart inside of a recurrence here")
    return _INSIDE[name]


def _arranged(order: tuple[int, ...], columns: Array) -> Array:
    """The last axis, gate by gate in ONNX' order."""
    gates = np.split(columns, len(order), axis=-1)
    return np.concatenate([gates[index] for index in order], axis=-1)


def _rows(order: tuple[int, ...], kernel: Array) -> Array:
    return _arranged(order, kernel).T[None]


def _biases(order: tuple[int, ...], bias: Array) -> Array:
    """Of input and state beside each other; where Keras has one, that of the state is zero."""
    both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
    return np.concatenate([_arranged(order, part) for part in both])[None]


def reversed_in_time(call: OnnxCall, x: str, steps: int) -> str:
    last = steps - 1
    return call.emit("Slice", x, call.sizes([last]), call.sizes([-last - 2]), call.sizes([1]), call.sizes([-1]))


def below(weights: Arrays, path: str) -> Arrays:
    """The weights of what is called ``path`` inside of a layer, by its own names for them."""
    prefix = f"{path}/"
    return {key.removeprefix(prefix): array for key, array in weights.items() if key.startswith(prefix)}


def _in_order(call: OnnxCall) -> str:
    return reversed_in_time(call, call.x, call.shapes[0][1]) if flag(call.params, "go_backwards") else call.x


def _results(call: OnnxCall, sequence: str, states: Sequence[str], last: str) -> list[str]:
    """What the layer is asked for: the sequence or its end, and the states."""
    asked = flag(call.params, "return_state")
    if not asked:
        return [sequence if flag(call.params, "return_sequences") else last]
    # no tensor is two outputs of a graph
    return [sequence if flag(call.params, "return_sequences") else call.emit("Identity", last), *states]


def _stacked(call: OnnxCall, cells: Sequence[tuple[OnnxCellKind, Params, str]]) -> list[str]:
    """One cell behind another; each takes the whole sequence of the one before it."""
    batch, steps, _ = call.shapes[0]
    x, states = _in_order(call), []
    last = ""
    for kind, params, path in cells:
        units = positive(params, "units")
        way = Way(params, below(call.weights, path))
        every, *ends = run_sequence(call, kind, x, path, [way])
        x = call.reshape(call.transpose(every, (2, 0, 1, 3)), (batch, steps, units))
        own = [call.reshape(end, (batch, units)) for end in ends]
        states += own
        last = own[0]
    return _results(call, x, states, last)


def _recurrent(call: OnnxCall, *, kind: OnnxCellKind) -> list[str]:
    return _stacked(call, [(kind, call.params, kind.cell)])


def _rnn(call: OnnxCall) -> list[str]:
    value = call.params["cell"]
    stacked = value["class_name"] == "StackedRNNCells"
    prefix = f"{value['config']['name']}/" if stacked else ""
    cells = []
    for item in value["config"]["cells"] if stacked else [value]:
        kind, declared = _CELLS[item["class_name"]]
        defaults = {parameter.name: parameter.default for parameter in declared.parameters}
        params = {**defaults, **item["config"]}
        check_silent(call, params)
        cells.append((kind, params, f"{prefix}{item['config']['name']}"))
    return _stacked(call, cells)


def check_silent(call: OnnxCall, params: Params) -> None:
    """Of what a layer holds inside.

    Raises:
        Refusal: if it draws random numbers.
    """
    if call.training and (params["dropout"] or params["recurrent_dropout"]):
        raise Refusal(f"{call.op} draws random numbers in training")


# On images


def _conv_lstm(call: OnnxCall, *, dims: int) -> list[str]:
    window = read_window(call.params, "kernel_size", dilated=True, dims=dims, paddings=PADDINGS)
    own = Window(window.size, (1,) * dims, "same")
    first = call.params["data_format"] == "channels_first"
    batch, steps = call.shapes[0][:2]
    sizes, inner = (_images(shape, dims, first) for shape in (call.shapes[0][2:], call.shape[-dims - 1 :]))
    kernel, recurrent = (
        call.weight(f"conv_lstm_cell/{name}", filters_first) for name in ("kernel", "recurrent_kernel")
    )
    bias = [call.weight("conv_lstm_cell/bias")] if flag(call.params, "use_bias") else []
    feeding = {**window_attributes(window, sizes), "dilations": window.dilation}
    recalling = window_attributes(own, inner)
    states = [call.numbers(np.zeros((batch, positive(call.params, "filters"), *inner)))] * 2
    outputs, x = [], _in_order(call)
    for step in range(steps):
        frame = call.emit("Gather", x, call.writer.constant(f"{call.layer}_step", np.asarray(step)), axis=1)
        fed = call.emit("Conv", to_first(call, frame, dims), kernel, *bias, **feeding)
        recalled = call.emit("Conv", states[0], recurrent, **recalling)
        states = _lstm_update(call, call.emit("Add", fed, recalled), states[1])
        outputs.append(from_first(call, states[0], dims))
    last = [from_first(call, state, dims) for state in states]
    if not flag(call.params, "return_sequences"):
        return _results(call, "", last, last[0])
    every = [call.emit("Unsqueeze", output, call.sizes([1])) for output in outputs]
    return _results(call, call.emit("Concat", *every, axis=1), last, last[0])


def _images(shape: tuple[int, ...], dims: int, first: bool) -> tuple[int, ...]:
    """The spatial sizes of one step."""
    return shape[1 : dims + 1] if first else shape[:dims]


def _lstm_update(call: OnnxCall, gates: str, carry: str) -> list[str]:
    """The new output and carry, from the gates along axis 1 in Keras' order."""
    names = [f"{call.layer}_{gate}" for gate in ("in", "keep", "candidate", "out")]
    let_in, keep, candidate, out = call.writer.emit_all("Split", [gates], names, axis=1, num_outputs=4)

    def gate(x: str) -> str:
        return activate(call, call.params["recurrent_activation"], x)

    def bend(x: str) -> str:
        return activate(call, call.params["activation"], x)

    kept = call.emit("Mul", gate(keep), carry)
    new = call.emit("Add", kept, call.emit("Mul", gate(let_in), bend(candidate)))
    return [call.emit("Mul", gate(out), bend(new)), new]


RECURRENT_LAYERS: dict[str, Lowering] = {
    **{f"ConvLSTM{dims}D": partial(_conv_lstm, dims=dims) for dims in (1, 2, 3)},
    **{name: partial(_recurrent, kind=kind) for name, kind in KINDS.items()},
    "RNN": _rnn,
}
