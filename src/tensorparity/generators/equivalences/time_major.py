"""Rule 10, time-major and batch-major: the axes of time and batch exchanged, and the option that says so."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg, TupleArg
from ...core.case import Case, Counterpart
from ...core.jsontext import Json
from .base import Category, Equivalence
from .windows import VALUES, X, case_of, draws

_CELLS = ("torch.nn.RNN", "torch.nn.LSTM", "torch.nn.GRU")
#: Which of its results are outputs by time; the other is the state that is left.
_OUTPUTS = 0
_CTC = "tensorflow.nn.ctc_loss"
_LABELS, _LABEL_LENGTH, _LOGIT_LENGTH = ArrayArg("labels"), ArrayArg("label_length"), ArrayArg("logit_length")


@dataclass(frozen=True)
class TimeMajor(Equivalence):
    def applies(self, api: str) -> bool:
        return api in (*_CELLS, _CTC)

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 10])
        return [_torch(rng) if library == "torch" else _ctc(rng) for _ in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall):
            return None
        if call.api == _CTC and call.kwargs.get("logits_time_major") is True:
            turned = ApiCall("tensorflow.transpose", (X, (1, 0, 2)))
            kwargs: dict[str, object] = {**call.kwargs, "logits": turned, "logits_time_major": False}
            return Counterpart(subject=ApiCall(call.api, call.args, kwargs))
        return _turned_cell(call)


def _turned_cell(call: ApiCall) -> Counterpart | None:
    """The outputs of a recurrent module, with the first two axes exchanged before and after; or its last states.

    States have their layers first whatever the option says, the ones that it begins with as well.
    """
    if call.api != "[]" or not isinstance(call.args[0], ApiCall) or call.args[0].api != "()":
        return None
    made, _, *states = call.args[0].args
    if not isinstance(made, ApiCall) or made.api not in _CELLS or made.kwargs.get("batch_first"):
        return None
    other = replace(made, kwargs={**made.kwargs, "batch_first": True})
    called = ApiCall("[]", (ApiCall("()", (other, ApiCall("torch.transpose", (X, 0, 1)), *states)), call.args[1]))
    return Counterpart(subject=ApiCall("torch.transpose", (called, 0, 1)) if call.args[1] == _OUTPUTS else called)


def _torch(rng: np.random.Generator) -> Case:
    sizes = [int(rng.integers(1, 5)) for _ in range(4)]
    kwargs: dict[str, Json] = {
        "bidirectional": bool(rng.integers(2)),
        "num_layers": int(rng.integers(1, 3)),
        "bias": bool(rng.integers(2)),
    }
    name = _CELLS[int(rng.integers(3))]
    if name.endswith("LSTM") and rng.integers(2) and sizes[3] > 1:
        kwargs["proj_size"] = 1
    if name.endswith("RNN") and rng.integers(2):
        kwargs["nonlinearity"] = "relu"
    made = ApiCall(name, (sizes[2], sizes[3]), kwargs)
    first = _first_states(rng, name, sizes, kwargs) if rng.integers(2) else {}
    states = [ArrayArg(key) for key in first]
    given = (TupleArg(tuple(states)),) if len(states) > 1 else tuple(states)
    call = ApiCall("[]", (ApiCall("()", (made, X, *given)), int(rng.integers(2))))
    return case_of(call, {"x": draws(rng, sizes[:3]), **first})


def _first_states(rng: np.random.Generator, name: str, sizes: list[int], kwargs: dict[str, Json]) -> dict[str, Array]:
    """What a cell begins with: its hidden state, and an LSTM's cell state."""
    layers = kwargs["num_layers"] * (1 + kwargs["bidirectional"])
    hidden = {"h0": draws(rng, [layers, sizes[1], kwargs.get("proj_size", sizes[3])])}
    return {**hidden, "c0": draws(rng, [layers, sizes[1], sizes[3]])} if name.endswith("LSTM") else hidden


def _ctc(rng: np.random.Generator) -> Case:
    frames, batch, classes = int(rng.integers(4, 8)), int(rng.integers(1, 4)), int(rng.integers(3, 6))
    labels = int(rng.integers(1, 3))
    inputs = {
        "x": draws(rng, (frames, batch, classes)),
        "labels": rng.integers(1, classes, (VALUES, batch, labels)).astype(np.int32),
        "label_length": np.full((VALUES, batch), labels, np.int32),
        "logit_length": rng.integers(2 * labels, frames + 1, (VALUES, batch)).astype(np.int32),
    }
    kwargs = {"labels": _LABELS, "logits": X, "label_length": _LABEL_LENGTH, "logit_length": _LOGIT_LENGTH}
    return case_of(ApiCall(_CTC, (), {**kwargs, "logits_time_major": True, "blank_index": 0}), inputs)


TIME_MAJOR = TimeMajor(
    "time-major",
    10,
    Category.FORMAT,
    "F(I^T, batch-major)^T = F(I, time-major)",
    {
        "jax": "it has no recurrent functions with that option",
        "keras": "Keras 3 has no time_major any more; Keras 2 had",
    },
    derivative=2,
)
