"""Layers for sequences as ONNX operators: recurrent ones, attention, embeddings, pooling over time.

ONNX has time first, the kernels of a recurrence transposed, and the gates of an LSTM in another order.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ...operators.arguments import flag, positive
from .onnx_graph import Call, Lowering, Refusal

_INT32 = 6  # TensorProto.DataType
#: What every ONNX runtime knows inside of a recurrence; of the others each knows some.
_INSIDE = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"}
#: Blocks of an LSTM's kernel in ONNX' order (input, output, forget, candidate), by their place in Keras'.
_LSTM_ORDER = (0, 3, 1, 2)

#: Parameters of these layers that have no counterpart, with the values that have one; the rest is refused.
LOWERED_VALUES: dict[str, dict[str, tuple[Json, ...]]] = {
    "Embedding": {"mask_zero": (False,)},
    "GRU": {"activation": tuple(_INSIDE), "recurrent_activation": tuple(_INSIDE), "return_state": (False,)},
    "LSTM": {"activation": tuple(_INSIDE), "recurrent_activation": tuple(_INSIDE), "return_state": (False,)},
    "MultiHeadAttention": {"sliding_window": (None,), "use_gate": (False,)},
    "SimpleRNN": {"activation": tuple(_INSIDE), "return_state": (False,)},
}


def _check(op: str, call: Call) -> None:
    for name, values in LOWERED_VALUES[op].items():
        if call.params[name] not in values:
            raise Refusal(f"{name}={call.params[name]!r} of {op} has no ONNX counterpart here")


# Recurrence


def _recurrent(
    call: Call, *, op: str, onnx_op: str, cell: str, order: tuple[int, ...], activations: tuple[str, ...]
) -> str:
    _check(op, call)
    units = positive(call.params, "units")

    def arranged(columns: Array) -> Array:
        """The last axis, gate by gate in ONNX' order."""
        gates = np.split(columns, len(order), axis=-1)
        return np.concatenate([gates[index] for index in order], axis=-1)

    def rows(kernel: Array) -> Array:
        return arranged(kernel).T[None]

    def biases(bias: Array) -> Array:
        """Of input and state beside each other; where Keras has one, that of the state is zero."""
        both = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
        return np.concatenate([arranged(part) for part in both])[None]

    more = [call.weight(f"{cell}/bias", biases)] if flag(call.params, "use_bias") else []
    attributes = {"linear_before_reset": int(flag(call.params, "reset_after"))} if onnx_op == "GRU" else {}
    outputs = call.writer.emit_all(
        onnx_op,
        [
            call.transpose(_in_order(call), (1, 0, 2)),
            call.weight(f"{cell}/kernel", rows),
            call.weight(f"{cell}/recurrent_kernel", rows),
            *more,
        ],
        [f"{call.layer}_all", f"{call.layer}_last"],
        hidden_size=units,
        activations=tuple(_INSIDE[call.params[name]] for name in activations),
        **attributes,
    )
    if flag(call.params, "return_sequences"):  # (time, direction, batch, units)
        return call.reshape(call.transpose(outputs[0], (2, 0, 1, 3)), call.shape)
    return call.reshape(outputs[1], call.shape)


def _in_order(call: Call) -> str:
    (x,) = call.inputs
    if not flag(call.params, "go_backwards"):
        return x
    last = call.shapes[0][1] - 1
    return call.emit("Slice", x, call.sizes([last]), call.sizes([-last - 2]), call.sizes([1]), call.sizes([-1]))


# Attention


def _multi_head_attention(call: Call) -> str:
    _check("MultiHeadAttention", call)
    query, value = call.inputs[:2]
    key = call.inputs[2] if len(call.inputs) > 2 else value
    queries, keys = call.shapes[0][1], call.shapes[1][1]
    size = positive(call.params, "key_dim")
    scores = call.emit(
        "MatMul",
        call.transpose(_heads(call, query, "query", queries), (0, 2, 1, 3)),
        call.transpose(_heads(call, key, "key", keys), (0, 2, 3, 1)),
    )
    scaled = call.emit("Mul", scores, call.numbers(1.0 / np.sqrt(size)))
    shares = call.emit("Softmax", scaled, axis=-1)
    mixed = call.emit("MatMul", shares, call.transpose(_heads(call, value, "value", keys), (0, 2, 1, 3)))
    heads, wide = call.weights["attention_output/kernel"].shape[:2]
    together = call.reshape(call.transpose(mixed, (0, 2, 1, 3)), (call.shape[0], queries, heads * wide))
    return call.reshape(_projected(call, together, "attention_output", taken=2), call.shape)


def _heads(call: Call, x: str, name: str, steps: int) -> str:
    heads, size = call.weights[f"{name}/kernel"].shape[1:]
    return call.reshape(_projected(call, x, name, taken=1), (call.shape[0], steps, heads, size))


def _projected(call: Call, x: str, name: str, *, taken: int) -> str:
    """``x`` times the kernel as a matrix: its first ``taken`` axes against all others."""

    def as_matrix(kernel: Array) -> Array:
        return kernel.reshape(int(np.prod(kernel.shape[:taken])), -1)

    found = call.emit("MatMul", x, call.weight(f"{name}/kernel", as_matrix))
    if not flag(call.params, "use_bias"):
        return found
    return call.emit("Add", found, call.weight(f"{name}/bias", np.ravel))


# The rest


def _embedding(call: Call) -> str:
    """A mask would reach the layers behind it, which ONNX has no way to say."""
    _check("Embedding", call)
    return call.emit("Gather", call.weight("embeddings"), call.emit("Cast", call.inputs[0], to=_INT32), axis=0)


def _over_time(call: Call, *, op: str) -> str:
    axis = 2 if call.params["data_format"] == "channels_first" else 1
    return call.emit(op, call.inputs[0], call.sizes([axis]), keepdims=int(flag(call.params, "keepdims")))


SEQUENCE_LAYERS: dict[str, Lowering] = {
    "Embedding": _embedding,
    "GRU": partial(
        _recurrent,
        op="GRU",
        onnx_op="GRU",
        cell="gru_cell",
        order=(0, 1, 2),
        activations=("recurrent_activation", "activation"),
    ),
    "GlobalAveragePooling1D": partial(_over_time, op="ReduceMean"),
    "GlobalMaxPooling1D": partial(_over_time, op="ReduceMax"),
    "LSTM": partial(
        _recurrent,
        op="LSTM",
        onnx_op="LSTM",
        cell="lstm_cell",
        order=_LSTM_ORDER,
        activations=("recurrent_activation", "activation", "activation"),
    ),
    "MultiHeadAttention": _multi_head_attention,
    "SimpleRNN": partial(
        _recurrent, op="SimpleRNN", onnx_op="RNN", cell="simple_rnn_cell", order=(0,), activations=("activation",)
    ),
}
