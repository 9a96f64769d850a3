"""Recurrent layers: SimpleRNN, LSTM and GRU, each a cell that is stepped along the time axis.

Rounding is carried from step to step in the state, so a long sequence may deviate by more than a short
one, as much as the recurrent kernel lets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from ...core.arrays import Array
from ..arguments import flag, is_number, known_size, need_rank, positive, refuse
from ..functions import named_activations
from ..reference import carried
from ..reference.rounding import exact
from ..shared_code import RECURRENT
from ..spec import Carried, Evaluation, LayerSpec, Mask, Masked, Parameter, Params, Shape, ShapeError, WeightSpec
from .dense import USE_BIAS
from .governed import governed
from .masks import passed_on_with_steps, steps_shown

States = tuple[Evaluation, ...]
#: One step of a whole layer: its output and the states after it.
Advance = Callable[[Evaluation, States], tuple[Evaluation, States]]
Step = Callable[[Params, Evaluation, States, Mapping[str, Array]], States]

UNITS = Parameter("units", None, (1, 3, 4), (0, -1), required=True)
_ACTIVATION = Parameter(
    "activation", "tanh", ("tanh", None, "relu", "sigmoid", "softsign"), named_activations.INVALID_NAMES
)
_GATES = Parameter("recurrent_activation", "sigmoid", ("sigmoid", "hard_sigmoid"), named_activations.INVALID_NAMES)
_RESET_AFTER = Parameter("reset_after", True, (True, False))
_DROPOUT = Parameter("dropout", 0.0, (0.0, 0.25), ("much",))
_RECURRENT_DROPOUT = Parameter("recurrent_dropout", 0.0, (0.0, 0.25), ("much",))
SEQUENCE = (
    Parameter("return_sequences", False, (False, True)),
    Parameter("return_state", False, (False, True)),
    Parameter("go_backwards", False, (False, True)),
    Parameter("unroll", False, (False, True)),
    Parameter("stateful", False, (False, True)),
    Parameter("zero_output_for_mask", False, (False, True)),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one step does.

    Args:
        label: the name Keras gives the cell inside of its layer.
        gates: how many blocks of ``units`` columns the kernels have.
        states: how many tensors of ``units`` are carried along; the first is the output.
        step: the states after a step, from the input of the step and the states before.
        parameters: those of the cell's own constructor.
    """

    label: str
    gates: int
    states: int
    step: Step
    parameters: tuple[Parameter, ...]

    def weights(self, params: Params, depth: int) -> dict[str, WeightSpec]:
        units, columns = positive(params, "units"), self.gates * positive(params, "units")
        found = {
            "kernel": WeightSpec((depth, columns), "kernel", fan_in=depth),
            "recurrent_kernel": WeightSpec((units, columns), "kernel", fan_in=units),
        }
        if flag(params, "use_bias"):
            twice = "reset_after" in params and flag(params, "reset_after")
            found["bias"] = WeightSpec((2, columns) if twice else (columns,), "bias", fan_in=depth)
        return found

    def check(self, params: Params) -> None:
        positive(params, "units")
        for parameter in self.parameters:
            value = params[parameter.name]
            if parameter.name in ("use_bias", "reset_after"):
                flag(params, parameter.name)
            elif parameter.name.endswith("activation"):
                named_activations.check_name(value, parameter.name)
            elif parameter.name.endswith("dropout") and not is_number(value):
                refuse(parameter.name, "a number", value)


# Steps


def _projected(x: Evaluation, kernel: Array, bias: Array | None) -> Evaluation:
    found = carried.product(x, kernel)
    return found if bias is None else carried.shifted(found, bias)


def _simple_step(params: Params, x: Evaluation, states: States, weights: Mapping[str, Array]) -> States:
    fed = _projected(x, weights["kernel"], weights.get("bias"))
    return (
        named_activations.apply(
            params["activation"], carried.plus(fed, carried.product(states[0], weights["recurrent_kernel"]))
        ),
    )


def _lstm_step(params: Params, x: Evaluation, states: States, weights: Mapping[str, Array]) -> States:
    hidden, carry = states
    fed = _projected(x, weights["kernel"], weights.get("bias"))
    gates = carried.plus(fed, carried.product(hidden, weights["recurrent_kernel"]))
    return lstm_update(params, carried.split(gates, 4), carry)


def lstm_update(params: Params, gates: Sequence[Evaluation], carry: Evaluation) -> States:
    """New hidden and carry from the sums of the input, forget, candidate and output gates, in this order."""
    gate, bend = params["recurrent_activation"], params["activation"]
    let_in, keep, out = (named_activations.apply(gate, gates[index]) for index in (0, 1, 3))
    candidate = named_activations.apply(bend, gates[2])
    new = carried.plus(carried.times(keep, carry), carried.times(let_in, candidate))
    return carried.times(out, named_activations.apply(bend, new)), new


def _gru_step(params: Params, x: Evaluation, states: States, weights: Mapping[str, Array]) -> States:
    (hidden,) = states
    units, kernel, bias = hidden.value.shape[-1], weights["recurrent_kernel"], weights.get("bias")
    twice = bias is not None and bias.ndim == 2
    fed = carried.split(_projected(x, weights["kernel"], bias[0] if bias is not None and twice else bias), 3)
    own = bias[1] if bias is not None and twice else None
    gates = _projected(hidden, kernel[:, : 2 * units], None if own is None else own[: 2 * units])
    from_update, from_reset = carried.split(gates, 2)
    update = named_activations.apply(params["recurrent_activation"], carried.plus(fed[0], from_update))
    reset = named_activations.apply(params["recurrent_activation"], carried.plus(fed[1], from_reset))
    last = kernel[:, 2 * units :]
    if flag(params, "reset_after"):
        recalled = carried.times(reset, _projected(hidden, last, None if own is None else own[2 * units :]))
    else:
        recalled = carried.product(carried.times(reset, hidden), last)
    candidate = named_activations.apply(params["activation"], carried.plus(fed[2], recalled))
    kept = carried.times(update, hidden)
    return (carried.plus(kept, carried.times(carried.complement(update), candidate)),)


_COMMON = (UNITS, _ACTIVATION)
NOISE = (_DROPOUT, _RECURRENT_DROPOUT)
SIMPLE_CELL = Cell("simple_rnn_cell", 1, 1, _simple_step, (*_COMMON, USE_BIAS, *NOISE))
LSTM_CELL = Cell("lstm_cell", 4, 2, _lstm_step, (*_COMMON, _GATES, USE_BIAS, *NOISE))
GRU_CELL = Cell("gru_cell", 3, 1, _gru_step, (*_COMMON, _GATES, USE_BIAS, *NOISE, _RESET_AFTER))


# Layers

_HOLDS = "a masked step leaves the states as they are and repeats the output before it"


class _References(TypedDict):
    reference: Callable[[Params, Sequence[Array], Mapping[str, Array]], tuple[Evaluation, ...]]
    masked: Masked
    carried: Carried


def by_carrying(carry: Carried) -> _References:
    """The references of a layer with states, all from the one that carries them."""

    def reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
        return carry(params, inputs, weights, (None,), ())[0]

    def masked(
        params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask], training: bool
    ) -> tuple[Evaluation, ...]:
        return carry(params, inputs, weights, masks, ())[0]

    return {"reference": reference, "masked": masked, "carried": carry}


def check_sequence(params: Params) -> None:
    for parameter in SEQUENCE:
        flag(params, parameter.name)


def arrange(params: Params, outputs: Sequence[Evaluation], states: States) -> tuple[Evaluation, ...]:
    """What a recurrent layer returns: the last output or all of them, and the states if asked."""
    first = carried.stack(outputs, axis=1) if flag(params, "return_sequences") else outputs[-1]
    return (first, *states) if flag(params, "return_state") else (first,)


def roll(
    params: Params, x: Array, states: States, advance: Advance, mask: Mask = None, *, first: bool = True
) -> tuple[list[Evaluation], States]:
    """All steps in the order in which the layer takes them: the outputs, and the states after the last.

    At a masked step the states stay, and the output is the one before it, or zeros with ``zero_output_for_mask``, which
    concerns sequences only.

    Args:
        first: the layer starts from zeros; otherwise from the states of the call before.
    """
    shown = steps_shown(x, mask)
    zeroed = flag(params, "zero_output_for_mask") and flag(params, "return_sequences")
    order = range(x.shape[1] - 1, -1, -1) if flag(params, "go_backwards") else range(x.shape[1])
    outputs: list[Evaluation] = []
    for index in order:
        output, after = advance(exact(x[:, index]), states)
        if shown is not None:
            keep = shown[:, index]
            if not (outputs or first or zeroed or keep.all()):
                raise ShapeError("What a stateful layer gives at a masked first step of a later call is nowhere said")
            idle = carried.zeros(output.value.shape) if zeroed or not outputs else outputs[-1]
            output = carried.where(keep, output, idle)
            after = tuple(carried.where(keep, new, old) for new, old in zip(after, states, strict=True))
        states = after
        outputs.append(output)
    return outputs, states


def _shape(cell: Cell, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 3)
    known_size(shapes[0], 2, "the features")
    cell.check(params)
    check_sequence(params)
    batch, steps, _ = shapes[0]
    state = (batch, positive(params, "units"))
    first = (batch, steps, state[1]) if flag(params, "return_sequences") else state
    return (first, *(state,) * cell.states) if flag(params, "return_state") else (first,)


def _weights(cell: Cell, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    found = cell.weights(params, known_size(shapes[0], 2, "the features"))
    return {f"{cell.label}/{name}": weight for name, weight in found.items()}


def _carry(
    cell: Cell,
    params: Params,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    masks: Sequence[Mask],
    before: Sequence[Evaluation],
) -> tuple[tuple[Evaluation, ...], States]:
    own = {name.rpartition("/")[2]: weight for name, weight in weights.items()}
    zeros: States = (carried.zeros((inputs[0].shape[0], positive(params, "units"))),) * cell.states

    def advance(x: Evaluation, states: States) -> tuple[Evaluation, States]:
        after = cell.step(params, x, states, own)
        return after[0], after

    outputs, states = roll(params, inputs[0], tuple(before) or zeros, advance, masks[0], first=not before)
    return arrange(params, outputs, states), states


def _layer(name: str, cell: Cell, formula: str, *hazards: str) -> LayerSpec:
    spec = LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(1, 1),
        ranks=(3,),
        parameters=(*cell.parameters, *SEQUENCE),
        shape=partial(_shape, cell),
        weights=partial(_weights, cell),
        formula=formula,
        noise=("dropout", "recurrent_dropout"),
        hazards=(_HOLDS, *hazards),
        masks=passed_on_with_steps,
        shared=(RECURRENT,),
        **by_carrying(partial(_carry, cell)),
    )
    weights = {"kernel": "kernel", "recurrent": "recurrent_kernel", "bias": "bias"}
    return governed(spec, activity=True, **{name: f"{cell.label}/{weight}" for name, weight in weights.items()})


SIMPLE_RNN = _layer(
    "SimpleRNN",
    SIMPLE_CELL,
    "h = activation(x . kernel + bias + h . recurrent_kernel) at each step, from zeros; output = the last h, or all",
)
LSTM = _layer(
    "LSTM",
    LSTM_CELL,
    (
        "at each step (i, f, g, o) = x . kernel + h . recurrent_kernel + bias; c = gate(f) * c + gate(i) * "
        "activation(g) and h = gate(o) * activation(c), from zeros; output = the last h, or all"
    ),
    "recurrent_dropout chooses another implementation, in inference too",
)
GRU = _layer(
    "GRU",
    GRU_CELL,
    (
        "at each step z and r are gates of x and h, the candidate is activation(x part + r * (h . kernel + bias)), or "
        "activation(x part + (r * h) . kernel) without reset_after; h = z * h + (1 - z) * candidate"
    ),
    "reset_after gives the recurrent part a bias of its own: the bias then has two rows",
    "recurrent_dropout chooses another implementation, in inference too",
)
