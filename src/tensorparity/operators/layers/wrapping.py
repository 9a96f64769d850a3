"""Wrappers: Bidirectional runs a recurrent layer both ways, TimeDistributed a layer on every step.

SpectralNormalization rescales the kernel of its layer in training, and is that layer in inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import choice, flag, positive, refuse
from ..reference import carried
from ..spec import Conflict, Evaluation, LayerSpec, Mask, Parameter, Params, Shape, ShapeError, WeightSpec
from .masks import passed_on
from .nested import Nested, nested_layer, serialized_layer
from .recurrent import by_carrying

_RECURRENT = ("GRU", "LSTM", "SimpleRNN")
_MODES = ("concat", "sum", "ave", "mul")
#: What both ways have alike.
_ALIKE = ("stateful", "return_sequences", "return_state")


# Bidirectional


def ways(params: Params) -> tuple[Nested, Nested]:
    """The forward and the backward layer, under the names Keras gives them."""
    first = nested_layer(params, "layer", _RECURRENT)
    ahead = Nested(first.spec, first.params, f"forward_{first.name.removeprefix('forward_')}")
    if params["backward_layer"] is None:
        back = Nested(
            first.spec, {**first.params, "go_backwards": True}, f"backward_{first.name.removeprefix('backward_')}"
        )
    else:
        back = nested_layer(params, "backward_layer", _RECURRENT)
    _check_ways(params, ahead, back)
    return ahead, back


def _check_ways(params: Params, ahead: Nested, back: Nested) -> None:
    if flag(ahead.params, "go_backwards") == flag(back.params, "go_backwards"):
        refuse("layer", "one layer of the two that goes backwards", params["layer"])
    for name in _ALIKE:
        if flag(ahead.params, name) != flag(back.params, name):
            refuse("backward_layer", f"the same {name} as `layer`", params["backward_layer"])


def _mode(params: Params) -> str | None:
    return None if params["merge_mode"] is None else choice(params, "merge_mode", _MODES)


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    ahead, back = ways(params)
    mode = _mode(params)
    first, *states = ahead.spec.shape(ahead.params, shapes)
    second, *others = back.spec.shape(back.params, shapes)
    if mode is None:
        return (first, second, *states, *others)
    if mode == "concat":
        return ((*first[:-1], _sum(first[-1], second[-1])), *states, *others)
    if first != second:
        raise ShapeError(
            f"Argument `merge_mode`: expected equal sizes both ways. Received: merge_mode={mode!r}, "
            f"shapes={first} and {second}"
        )
    return (first, *states, *others)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    return {
        f"{way.name}/{name}": weight
        for way in ways(params)
        for name, weight in way.spec.weights(way.params, shapes).items()
    }


def _carry(
    params: Params,
    inputs: Sequence[Array],
    weights: Mapping[str, Array],
    masks: Sequence[Mask],
    before: Sequence[Evaluation],
) -> tuple[tuple[Evaluation, ...], tuple[Evaluation, ...]]:
    """Both ways with the same mask; masked steps of a sequence are zeros, whatever the layer was told."""
    ahead, back = ways(params)
    found = []
    for way, own in zip((ahead, back), _halves(ahead, before), strict=True):
        assert way.spec.carried is not None
        given = {**way.params, "zero_output_for_mask": flag(way.params, "return_sequences")}
        found.append(way.spec.carried(given, inputs, _below(weights, way.name), masks, own))
    ((first, *states), left), ((second, *others), right) = found
    if flag(back.params, "return_sequences"):
        second = carried.reverse(second, axis=1)  # back into the order of time
    return (*_merged(_mode(params), first, second), *states, *others), (*left, *right)


def _halves(ahead: Nested, before: Sequence[Evaluation]) -> tuple[Sequence[Evaluation], Sequence[Evaluation]]:
    count = {"LSTM": 2}.get(ahead.spec.name, 1)
    return before[:count], before[count:]


def _mask_both(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    ahead, _ = ways(params)
    if not flag(ahead.params, "return_sequences"):
        return ()
    return (masks[0], masks[0]) if _mode(params) is None else (masks[0],)


def _merged(mode: str | None, first: Evaluation, second: Evaluation) -> tuple[Evaluation, ...]:
    if mode is None:
        return first, second
    if mode == "concat":
        return (carried.concatenate([first, second], axis=-1),)
    if mode == "mul":
        return (carried.times(first, second),)
    both = carried.plus(first, second)
    return (carried.scaled(both, 0.5) if mode == "ave" else both,)


def _below(weights: Mapping[str, Array], name: str) -> dict[str, Array]:
    """The weights of one nested layer, under its own names for them."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): weight for key, weight in weights.items() if key.startswith(prefix)}


def _recurrent_layers() -> tuple[Json, ...]:
    return (
        serialized_layer("LSTM", "lstm", units=3, return_sequences=True),
        serialized_layer("LSTM", "lstm", units=2),
        serialized_layer("GRU", "gru", units=3, return_sequences=True, return_state=True),
        serialized_layer("GRU", "gru", units=2, reset_after=False),
        serialized_layer("SimpleRNN", "simple_rnn", units=3, return_sequences=True, activation="relu"),
        serialized_layer("SimpleRNN", "simple_rnn", units=4, use_bias=False),
        serialized_layer("SimpleRNN", "simple_rnn", units=2, stateful=True),
    )


def _both_ways(ahead: dict[str, Json], back: dict[str, Json]) -> dict[str, Json]:
    return {
        "layer": serialized_layer("LSTM", "lstm", units=2, **ahead),
        "backward_layer": serialized_layer("LSTM", "back", units=2, **back),
    }


BIDIRECTIONAL = LayerSpec(
    name="Bidirectional",
    api="keras.layers.Bidirectional",
    arity=(1, 1),
    ranks=(3,),
    parameters=(
        Parameter(
            "layer",
            None,
            _recurrent_layers(),
            (
                serialized_layer("LSTM", "lstm", units=3, go_backwards=True),
                serialized_layer("Dense", "dense", units=3),
                None,
            ),
            required=True,
        ),
        Parameter("merge_mode", "concat", (*_MODES, None), ("max", 1)),
        Parameter("backward_layer", None, (None,), (serialized_layer("Dense", "dense", units=3), 1)),
    ),
    shape=_shape,
    weights=_weights,
    **by_carrying(_carry),
    masks=_mask_both,
    formula=(
        "output = the layer's output and that of a twin that takes the steps in reverse, turned back into the order of "
        "time, joined by merge_mode"
    ),
    conflicts=(
        Conflict(_both_ways({}, {}), "one of the two layers goes backwards"),
        *(
            Conflict(_both_ways({}, {"go_backwards": True, name: True}), f"both layers have the same {name}")
            for name in _ALIKE
        ),
    ),
    hazards=("the states of both ways follow the output if the layer returns them",),
)


# TimeDistributed

_STEPWISE = ("Activation", "Conv1D", "Conv2D", "Dense", "Flatten", "LayerNormalization", "MaxPooling1D", "Reshape")


def _step_shape(shape: Shape) -> Shape:
    if len(shape) < 3:
        raise ShapeError(f"Expected an input of rank 3 or more, batch axis included. Received: shape={shape}")
    return (shape[0], *shape[2:])


def stepwise(params: Params, shape: Shape) -> Nested:
    inner = nested_layer(params, "layer", _STEPWISE)
    if len(shape) - 1 not in inner.spec.ranks:
        raise ShapeError(
            f"Argument `layer`: expected one that takes steps of rank {len(shape) - 1}. "
            f"Received: layer={params['layer']!r}"
        )
    return inner


def _distributed_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    step = _step_shape(shapes[0])
    inner = stepwise(params, shapes[0])
    (found,) = inner.spec.shape(inner.params, [step])
    return ((shapes[0][0], shapes[0][1], *found[1:]),)


def _distributed_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    inner = stepwise(params, shapes[0])
    declared = inner.spec.weights(inner.params, [_step_shape(shapes[0])])
    return {f"{inner.name}/{name}": weight for name, weight in declared.items()}


def _distribute(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    inner = stepwise(params, x.shape)
    flat = x.reshape(int(np.prod(x.shape[:2])), *x.shape[2:])
    (found,) = inner.spec.reference(inner.params, [flat], _below(weights, inner.name))
    shape = (*x.shape[:2], *found.value.shape[1:])
    return (Evaluation(found.value.reshape(shape), np.broadcast_to(found.kappa, found.value.shape).reshape(shape)),)


TIME_DISTRIBUTED = LayerSpec(
    name="TimeDistributed",
    api="keras.layers.TimeDistributed",
    arity=(1, 1),
    ranks=(3, 4),
    parameters=(
        Parameter(
            "layer",
            None,
            (
                serialized_layer("Dense", "dense", units=3),
                serialized_layer("Dense", "dense", units=2, activation="relu", use_bias=False),
                serialized_layer("LayerNormalization", "layer_normalization"),
                serialized_layer("Conv1D", "conv1d", filters=2, kernel_size=2, padding="same"),
                serialized_layer("Reshape", "reshape", target_shape=[-1, 1]),
            ),
            (serialized_layer("LSTM", "lstm", units=0), None, "Dense"),
            required=True,
        ),
    ),
    shape=_distributed_shape,
    weights=_distributed_weights,
    reference=_distribute,
    formula="output = the layer applied to every step of axis 1 alone, with the same weights",
    masks=passed_on,
)


# SpectralNormalization

WITH_KERNEL = ("Conv1D", "Conv2D", "Dense", "EinsumDense", "Embedding")
_KERNELS = ("kernel", "embeddings")


def _spectral_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    positive(params, "power_iterations")
    inner = nested_layer(params, "layer", WITH_KERNEL)
    if len(shapes[0]) not in inner.spec.ranks:
        raise ShapeError(
            f"Argument `layer`: expected one that takes inputs of rank {len(shapes[0])}. "
            f"Received: layer={params['layer']!r}"
        )
    return inner.spec.shape(inner.params, shapes)


def _spectral_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    """Keras lists the kernel, which the wrapper holds too, before its own vector and that before the rest."""
    inner, found = nested_layer(params, "layer", WITH_KERNEL), {}
    for name, weight in inner.spec.weights(inner.params, shapes).items():
        found[f"{inner.name}/{name}"] = weight
        if name in _KERNELS:
            found["vector_u"] = WeightSpec((1, weight.shape[-1]), "offset", trainable=False)
    return found


def _spectral(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    inner = nested_layer(params, "layer", WITH_KERNEL)
    return inner.spec.reference(inner.params, inputs, _below(weights, inner.name))


SPECTRAL_NORMALIZATION = LayerSpec(
    name="SpectralNormalization",
    api="keras.layers.SpectralNormalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(
        Parameter(
            "layer",
            None,
            (
                serialized_layer("Dense", "dense", units=3),
                serialized_layer("Dense", "dense", units=2, use_bias=False),
                serialized_layer("Conv2D", "conv2d", filters=2, kernel_size=3),
                serialized_layer("Conv1D", "conv1d", filters=2, kernel_size=2, padding="same"),
            ),
            (serialized_layer("Flatten", "flatten"), None),
            required=True,
        ),
        Parameter("power_iterations", 1, (1, 2), (0, -1)),
    ),
    shape=_spectral_shape,
    weights=_spectral_weights,
    reference=_spectral,
    formula="in inference, output = the layer's own; in training its kernel is divided by its largest singular value",
    stages=("inference", "backward", "update"),  # training changes the weights before they are used
    hazards=("training moves vector_u and the kernel itself before the layer is applied",),
)
