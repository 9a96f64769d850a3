"""Recurrent layers: torch's own where it has the same formula, else step by step from its functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ....core.jsontext import Json
from ....operators.arguments import flag, positive
from ....operators.layers.recurrent import GRU_CELL, LSTM_CELL, SIMPLE_CELL
from ....operators.layers.spatial import PADDINGS, Window, read_window
from ....operators.spec import Params
from ..refusal import Refusal
from .activations import activate
from .convolution import convolve, filters_first
from .layout import from_first, to_first
from .program import Dtype, Lowering, TorchCall, TorchTensor

States = list[TorchTensor]
Step = Callable[["Recurrence", TorchTensor, States], States]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A cell within a layer: its parameters, and its weights by where they are (``lstm_cell/``)."""

    call: TorchCall
    params: Params
    path: str

    @property
    def units(self) -> int:
        return positive(self.params, "units")

    def weight(self, name: str) -> TorchTensor:
        return self.call.weight(self.path + name)

    def has(self, name: str) -> bool:
        return self.call.has(self.path + name)

    def bend(self, x: TorchTensor) -> TorchTensor:
        return activate(self.call, self.params["activation"], x)

    def gate(self, x: TorchTensor) -> TorchTensor:
        return activate(self.call, self.params["recurrent_activation"], x)

    def rows(self, name: str, order: Sequence[int] = ()) -> TorchTensor:
        """A kernel in torch's layout: transposed, its blocks in the order given."""
        turned = self.call.permute(self.weight(name), (1, 0))
        return _blocks(self.call, turned, order, 0)


def _blocks(call: TorchCall, x: TorchTensor, order: Sequence[int], axis: int) -> TorchTensor:
    if not order or list(order) == list(range(len(order))):
        return x
    parts = call.writer.emit_all(len(order), "chunk", x, len(order), dim=axis)
    return call.emit("cat", [parts[index] for index in order], dim=axis)


def check_silent(call: TorchCall, params: Params) -> None:
    if call.training and (params["dropout"] or params["recurrent_dropout"]):
        raise Refusal(f"{call.op} draws random numbers in training, and torch draws others")


# One step


def _simple_step(cell: Recurrence, x: TorchTensor, states: States) -> States:
    call = cell.call
    bias = cell.weight("bias") if cell.has("bias") else None
    fed = call.emit("nn.functional.linear", x, cell.rows("kernel"), bias)
    recalled = call.emit("nn.functional.linear", states[0], cell.rows("recurrent_kernel"))
    return [cell.bend(call.add(fed, recalled))]


def _lstm_step(cell: Recurrence, x: TorchTensor, states: States) -> States:
    call = cell.call
    bias = cell.weight("bias") if cell.has("bias") else None
    fed = call.emit("nn.functional.linear", x, cell.rows("kernel"), bias)
    recalled = call.emit("nn.functional.linear", states[0], cell.rows("recurrent_kernel"))
    return _lstm_update(cell, call.add(fed, recalled), states[1], axis=-1)


def _lstm_update(cell: Recurrence, gates: TorchTensor, carry: TorchTensor, axis: int) -> States:
    call = cell.call
    let_in, keep, candidate, out = call.writer.emit_all(4, "chunk", gates, 4, dim=axis)
    kept = call.emit("mul", cell.gate(keep), carry)
    new = call.add(kept, call.emit("mul", cell.gate(let_in), cell.bend(candidate)))
    return [call.emit("mul", cell.gate(out), cell.bend(new)), new]


def _gru_step(cell: Recurrence, x: TorchTensor, states: States) -> States:
    call, hidden, after = cell.call, states[0], flag(cell.params, "reset_after")
    biases: list[TorchTensor | None] = [None, None]
    if cell.has("bias"):
        bias = cell.weight("bias")
        biases = list(call.writer.emit_all(2, "unbind", bias)) if after else [bias, None]
    fed = call.writer.emit_all(
        3, "chunk", call.emit("nn.functional.linear", x, cell.rows("kernel"), biases[0]), 3, dim=-1
    )
    kernel, units = cell.rows("recurrent_kernel"), cell.units
    if after:
        own = call.emit("nn.functional.linear", hidden, kernel, biases[1])
        recalled = call.writer.emit_all(3, "chunk", own, 3, dim=-1)
    else:
        gates = call.emit("nn.functional.linear", hidden, call.emit("narrow", kernel, 0, 0, 2 * units))
        recalled = call.writer.emit_all(2, "chunk", gates, 2, dim=-1)
    update, reset = (cell.gate(call.add(fed[index], recalled[index])) for index in (0, 1))
    if after:
        last = call.emit("mul", reset, recalled[2])
    else:
        part = call.emit("narrow", kernel, 0, 2 * units, units)
        last = call.emit("nn.functional.linear", call.emit("mul", reset, hidden), part)
    candidate = cell.bend(call.add(fed[2], last))
    return [call.emit("lerp", candidate, hidden, update)]


@dataclass(frozen=True, slots=True)
class TorchCellKind:
    """A cell's name inside of its layer, its number of states, its step, and what torch has of its own for it."""

    label: str
    states: int
    step: Step
    native: str
    order: tuple[int, ...]
    inside: dict[str, tuple[Json, ...]]


_PLAIN_GATES: dict[str, tuple[Json, ...]] = {"activation": ("tanh",), "recurrent_activation": ("sigmoid",)}
SIMPLE = TorchCellKind("simple_rnn_cell", 1, _simple_step, "rnn", (0,), {"activation": ("tanh", "relu")})
LSTM = TorchCellKind("lstm_cell", 2, _lstm_step, "lstm", (0, 1, 2, 3), _PLAIN_GATES)
#: torch has the reset gate before the update gate.
GRU = TorchCellKind("gru_cell", 1, _gru_step, "gru", (1, 0, 2), {**_PLAIN_GATES, "reset_after": (True,)})
CELLS = {"GRUCell": GRU, "LSTMCell": LSTM, "SimpleRNNCell": SIMPLE}
_DECLARED = {"GRUCell": GRU_CELL, "LSTMCell": LSTM_CELL, "SimpleRNNCell": SIMPLE_CELL}


# A whole sequence


def _zeros(call: TorchCall, units: int) -> TorchTensor:
    return call.emit("zeros", [call.shapes[0][0], units], dtype=Dtype())


def _in_order(call: TorchCall) -> TorchTensor:
    return call.emit("flip", call.x, [1]) if flag(call.params, "go_backwards") else call.x


def _arranged(call: TorchCall, sequence: TorchTensor | None, last: TorchTensor, states: States) -> list[TorchTensor]:
    first = sequence if flag(call.params, "return_sequences") and sequence is not None else last
    return [first, *states] if flag(call.params, "return_state") else [first]


def _native(cell: Recurrence, kind: TorchCellKind) -> list[TorchTensor]:
    """Torch's whole sequence at once; it has a bias of its own for the state, which Keras may not have."""
    call = cell.call
    parameters = [cell.rows("kernel", kind.order), cell.rows("recurrent_kernel", kind.order)]
    if cell.has("bias"):
        bias = cell.weight("bias")
        twice = len(call.declared[cell.path + "bias"].shape) == 2
        both = call.writer.emit_all(2, "unbind", bias) if twice else [bias, call.emit("zeros_like", bias)]
        parameters += [_blocks(call, part, kind.order, 0) for part in both]
    name = f"{kind.native}_{cell.params['activation']}" if kind.native == "rnn" else kind.native
    start = call.emit("unsqueeze", _zeros(call, cell.units), 0)
    hidden: TorchTensor | list[TorchTensor] = [start, start] if kind.states == 2 else start
    options = [call.has(cell.path + "bias"), 1, 0.0, False, False, True]
    found = call.writer.emit_all(1 + kind.states, name, _in_order(call), hidden, parameters, *options)
    states = [call.emit("select", state, 0, 0) for state in found[1:]]
    return _arranged(call, found[0], states[0], states)


def _stepped(call: TorchCall, cells: Sequence[tuple[Recurrence, TorchCellKind]]) -> list[TorchTensor]:
    """Each step through all cells, one after another."""
    states = [[_zeros(call, cell.units)] * kind.states for cell, kind in cells]
    outputs = []
    for x in call.writer.emit_all(call.shapes[0][1], "unbind", _in_order(call), 1):
        for index, (cell, kind) in enumerate(cells):
            states[index] = kind.step(cell, x, states[index])
            x = states[index][0]
        outputs.append(x)
    sequence = call.emit("stack", outputs, 1) if flag(call.params, "return_sequences") else None
    return _arranged(call, sequence, outputs[-1], [state for group in states for state in group])


def _layer(call: TorchCall, *, kind: TorchCellKind) -> list[TorchTensor]:
    check_silent(call, call.params)
    cell = Recurrence(call, call.params, f"{kind.label}/")
    if all(call.params[name] in values for name, values in kind.inside.items()):
        return _native(cell, kind)
    return _stepped(call, [(cell, kind)])


def _rnn(call: TorchCall) -> list[TorchTensor]:
    value = call.params["cell"]
    stacked = value["class_name"] == "StackedRNNCells"
    items = value["config"]["cells"] if stacked else [value]
    prefix = f"{value['config']['name']}/" if stacked else ""
    cells = []
    for item in items:
        kind = CELLS[item["class_name"]]
        params = {**_cell_defaults(item["class_name"]), **item["config"]}
        check_silent(call, params)
        cells.append((Recurrence(call, params, f"{prefix}{item['config']['name']}/"), kind))
    return _stepped(call, cells)


def _cell_defaults(name: str) -> dict[str, Json]:
    return {parameter.name: parameter.default for parameter in _DECLARED[name].parameters}


# On images


def _conv_lstm(call: TorchCall, *, dims: int) -> list[TorchTensor]:
    check_silent(call, call.params)
    cell = Recurrence(call, call.params, "conv_lstm_cell/")
    window = read_window(call.params, "kernel_size", dilated=True, dims=dims, paddings=PADDINGS)
    own = Window(window.size, (1,) * dims, "same")
    kernel, recurrent = (filters_first(call, cell.weight(name), dims) for name in ("kernel", "recurrent_kernel"))
    bias = cell.weight("bias") if cell.has("bias") else None
    first = call.params["data_format"] == "channels_first"
    sizes, inner = (_images(shape, dims, first) for shape in (call.shapes[0][2:], call.shape[-dims - 1 :]))
    filters = positive(call.params, "filters")
    states = [call.emit("zeros", [call.shapes[0][0], filters, *inner], dtype=Dtype())] * 2
    outputs = []
    for step in call.writer.emit_all(call.shapes[0][1], "unbind", _in_order(call), 1):
        fed = convolve(call, to_first(call, step, dims), sizes, kernel, bias, window)
        recalled = convolve(call, states[0], inner, recurrent, None, own)
        states = _lstm_update(cell, call.add(fed, recalled), states[1], axis=1)
        outputs.append(from_first(call, states[0], dims))
    sequence = call.emit("stack", outputs, 1) if flag(call.params, "return_sequences") else None
    return _arranged(call, sequence, outputs[-1], [from_first(call, state, dims) for state in states])


def _images(shape: tuple[int, ...], dims: int, first: bool) -> tuple[int, ...]:
    """The spatial sizes of one step."""
    return shape[1 : dims + 1] if first else shape[:dims]


RECURRENT_LAYERS: dict[str, Lowering] = {
    **{f"ConvLSTM{dims}D": partial(_conv_lstm, dims=dims) for dims in (1, 2, 3)},
    "GRU": partial(_layer, kind=GRU),
    "LSTM": partial(_layer, kind=LSTM),
    "RNN": _rnn,
    "SimpleRNN": partial(_layer, kind=SIMPLE),
}
