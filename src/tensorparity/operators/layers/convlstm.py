"""ConvLSTM over one, two and three spatial axes: an LSTM whose products are convolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ...core.arrays import Array
from ..arguments import flag, known_size, need_rank, number, positive
from ..functions import named_activations
from ..reference import carried
from ..shared_code import CONVOLUTION, RECURRENT
from ..spec import Evaluation, LayerSpec, Mask, Parameter, Params, Shape, WeightSpec
from .convolution import (
    DATA_FORMAT,
    FILTERS,
    STRIDED_OR_DILATED,
    contract,
    dilation_rate,
    kernel_size,
    padding_parameter,
    strides,
    window_of,
)
from .dense import USE_BIAS
from .masks import passed_on_with_steps
from .recurrent import NOISE, SEQUENCE, States, arrange, by_carrying, lstm_update, roll
from .spatial import Window, channel_axis, from_last, to_last, windowed_shape

_CELL = "conv_lstm_cell"
_ACTIVATION = Parameter("activation", "tanh", ("tanh", None, "relu", "sigmoid"), named_activations.INVALID_NAMES)
_GATES = Parameter("recurrent_activation", "sigmoid", ("sigmoid", "hard_sigmoid"), named_activations.INVALID_NAMES)
#: Of a recurrent layer's arguments, those that these layers have.
_SEQUENCE = tuple(parameter for parameter in SEQUENCE if parameter.name != "unroll")


def _step_shape(dims: int, shape: Shape) -> Shape:
    need_rank(shape, dims + 3)
    return (shape[0], *shape[2:])


def _shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    step = _step_shape(dims, shapes[0])
    for axis in range(1, len(step)):
        known_size(step, axis, "of a step")
    for name in ("activation", "recurrent_activation"):
        named_activations.check_name(params[name], name)
    for parameter in (USE_BIAS, *_SEQUENCE):
        flag(params, parameter.name)
    for parameter in NOISE:
        number(params, parameter.name)
    state = windowed_shape(params, window_of(params, dims), step, positive(params, "filters"))
    first = (state[0], shapes[0][1], *state[1:]) if flag(params, "return_sequences") else state
    return (first, state, state) if flag(params, "return_state") else (first,)


def _weights(dims: int, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    depth = known_size(_step_shape(dims, shapes[0]), channel_axis(params, dims), "the channels")
    window, filters = window_of(params, dims), positive(params, "filters")
    fan_in = depth * window.places
    found = {
        f"{_CELL}/kernel": WeightSpec((*window.size, depth, 4 * filters), "kernel", fan_in=fan_in),
        f"{_CELL}/recurrent_kernel": WeightSpec(
            (*window.size, filters, 4 * filters), "kernel", fan_in=filters * window.places
        ),
    }
    if flag(params, "use_bias"):
        found[f"{_CELL}/bias"] = WeightSpec((4 * filters,), "bias", fan_in=fan_in)
    return found


def _convolved(x: Evaluation, kernel: Array, window: Window) -> Evaluation:
    found = contract(x.value, kernel, window)
    if not np.any(x.kappa):
        return found
    return Evaluation(found.value, found.kappa + contract(x.kappa, np.abs(kernel), window).value)


def _carry(
    dims: int,
    params: Params,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    masks: Sequence[Mask],
    before: Sequence[Evaluation],
) -> tuple[tuple[Evaluation, ...], States]:
    window = window_of(params, dims)
    recurrent = Window(window.size, (1,) * dims, "same")
    kernel, own = weights[f"{_CELL}/kernel"], weights[f"{_CELL}/recurrent_kernel"]
    bias = weights.get(f"{_CELL}/bias")

    def advance(x: Evaluation, states: States) -> tuple[Evaluation, States]:
        fed = _convolved(Evaluation(to_last(params, x.value), to_last(params, x.kappa)), kernel, window)
        fed = fed if bias is None else carried.shifted(fed, bias)
        gates = carried.plus(fed, _convolved(states[0], own, recurrent))
        after = lstm_update(params, carried.split(gates, 4), states[1])
        return _channels_last(params, after[0]), after

    step = windowed_shape(params, window, _step_shape(dims, inputs[0].shape), own.shape[-2])
    zeros = to_last(params, np.zeros([size or 0 for size in step]))
    start = tuple(before) or (Evaluation(zeros, zeros),) * 2
    outputs, states = roll(params, inputs[0], start, advance, masks[0], first=not before)
    return arrange(params, outputs, tuple(_channels_last(params, state) for state in states)), states


def _channels_last(params: Params, x: Evaluation) -> Evaluation:
    return Evaluation(from_last(params, x.value), from_last(params, x.kappa))


def _conv_lstm(dims: int) -> LayerSpec:
    return LayerSpec(
        name=f"ConvLSTM{dims}D",
        api=f"keras.layers.ConvLSTM{dims}D",
        arity=(1, 1),
        ranks=(dims + 3,),
        shared=(RECURRENT, CONVOLUTION),
        parameters=(
            FILTERS,
            kernel_size(dims),
            strides(dims),
            padding_parameter(),
            DATA_FORMAT,
            dilation_rate(dims),
            _ACTIVATION,
            _GATES,
            USE_BIAS,
            *NOISE,
            *_SEQUENCE,
        ),
        shape=partial(_shape, dims),
        weights=partial(_weights, dims),
        **by_carrying(partial(_carry, dims)),
        masks=passed_on_with_steps,
        formula=(
            "an LSTM on images: x is convolved with the kernel at the given strides, padding and dilation, h with the "
            "recurrent kernel at stride 1 and padding 'same'; gates and states are as in LSTM"
        ),
        noise=("dropout", "recurrent_dropout"),
        conflicts=(STRIDED_OR_DILATED,),
        hazards=("all sizes of a step must be known",),
    )


CONV_LSTM1D, CONV_LSTM2D, CONV_LSTM3D = _conv_lstm(1), _conv_lstm(2), _conv_lstm(3)
