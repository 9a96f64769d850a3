"""The enumerated API: public functions an ApiCall may name, with what each of them means.

A case file can name nothing else. A handful so far; the engine that fuzzes operators brings the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, ArrayArg
from ...core.errors import UsageError
from ..reference.rounding import growth
from ..spec import Evaluation
from . import composed_calls, single_calls
from .catalogue import operator_of
from .declared_calls import DECLARED, evaluate_declared
from .public_names import is_public_function
from .spec import Call

Reference = Callable[..., Evaluation]
#: From the arguments and a library's outputs: what must hold of those after the first, and what it is.
Rest = Callable[[Sequence[Any], Sequence[Array]], list[tuple[Array, Evaluation]]]


@dataclass(frozen=True, slots=True)
class ApiSpec:
    """One public function: its name, the formula it documents, and the float64 reference of its first output.

    Args:
        rest: where the function returns more than one tensor, how those after the first are judged.
        composed: the call in the library's own words, where its arguments are no arrays but made of arrays.
        refused: kinds of dtypes, as NumPy's letters, that the library documents or declares to refuse.
    """

    name: str
    formula: str
    reference: Reference
    rest: Rest | None = None
    composed: Callable[[ApiCall, Mapping[str, Array]], Call] | None = None
    refused: str = ""


def _softmax(x: Array, axis: int = -1) -> Evaluation:
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = np.exp(shifted)
    value = powers / powers.sum(axis=axis, keepdims=True)
    return Evaluation(value, value * (np.abs(shifted) + np.abs(x).max() + growth(x.shape[axis])))


def _logsumexp(x: Array, axis: int | None = None, keepdims: bool = False) -> Evaluation:
    top = x.max(axis=axis, keepdims=True)
    value = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    if not keepdims:
        value = np.squeeze(value, axis=axis)
    return Evaluation(value, np.full(value.shape, np.abs(x).max() + growth(x.size)))


def _matmul(a: Array, b: Array) -> Evaluation:
    return Evaluation(a @ b, growth(a.shape[-1]) * (np.abs(a) @ np.abs(b)))


def _fmod(a: Array, b: Array) -> Evaluation:
    value = np.fmod(a, b)
    return Evaluation(value, np.zeros(np.shape(value)))  # the remainder of floats is exact


def _remainder(a: Array, b: Array) -> Evaluation:
    value = np.remainder(a, b)
    return Evaluation(value, np.abs(np.broadcast_to(b, value.shape)))


def _sum(x: Array, axis: int | None = None) -> Evaluation:
    terms = x.size if axis is None else x.shape[axis]
    return Evaluation(np.asarray(x.sum(axis=axis)), np.asarray(growth(terms) * np.abs(x).sum(axis=axis)))


def _tanh(x: Array) -> Evaluation:
    value = np.tanh(x)
    return Evaluation(value, np.abs(x * (1 - value**2)))


def _rnn_states(args: Sequence[Any], outputs: Sequence[Array]) -> list[tuple[Array, Evaluation]]:
    truth = single_calls.rnn_tanh(*args)
    states = single_calls.rnn_tanh_states(truth.value, bidirectional=args[7], batch_first=args[8])
    return [(outputs[1], Evaluation(states, np.full(states.shape, truth.kappa.max(initial=0.0))))]


_API = {
    spec.name: spec
    for spec in (
        ApiSpec("keras.ops.softmax", "exp(x) over its sum along axis", _softmax),
        ApiSpec("keras.ops.logsumexp", "log of the sum of exp(x) along axis", _logsumexp),
        ApiSpec("keras.ops.matmul", "matrix product", _matmul),
        ApiSpec("keras.ops.sum", "sum along axis", _sum),
        ApiSpec("keras.ops.tanh", "hyperbolic tangent", _tanh),
        ApiSpec("torch.softmax", "exp(x) over its sum along dim", lambda x, dim: _softmax(x, dim)),
        ApiSpec("torch.logsumexp", "log of the sum of exp(x) along dim", lambda x, dim: _logsumexp(x, dim)),
        ApiSpec("torch.matmul", "matrix product", _matmul),
        ApiSpec("torch.fmod", "remainder with the sign of the dividend", _fmod),
        ApiSpec("torch.remainder", "remainder with the sign of the divisor", _remainder),
        ApiSpec("keras.ops.divide", "the quotient", single_calls.divide),
        ApiSpec("keras.ops.floor_divide", "the floor of the quotient", single_calls.floor_divide),
        ApiSpec(
            "keras.ops.eigh",
            "eigenvalues, ascending, and eigenvectors of a Hermitian matrix",
            single_calls.eigenvalues,
            rest=lambda args, outputs: single_calls.eigenpairs(args[0], _promoted(outputs[0]), _promoted(outputs[1])),
        ),
        ApiSpec(
            "torch.nn.functional.avg_pool2d",
            "the mean of each window; in ceil_mode, windows that would start beyond the image are ignored",
            single_calls.avg_pool2d,
        ),
        ApiSpec(
            "torch.rnn_tanh",
            "h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), the second half of the features backward in time",
            single_calls.rnn_tanh,
            rest=_rnn_states,
        ),
        ApiSpec(
            "torch.sspaddmm",
            "the sparse mat1 times the dense mat2, added to the sparse input",
            composed_calls.sspaddmm,
            composed=composed_calls.sspaddmm_call,
        ),
        ApiSpec(
            "tensorflow.io.decode_gif",
            "the frames of a GIF, which is lossless: of one picture, that picture",
            composed_calls.decode_gif,
            composed=composed_calls.decode_gif_call,
        ),
        ApiSpec(
            "torch.nn.functional.cosine_similarity",
            "x1 . x2 / max(|x1| |x2|, eps), of floating point numbers",
            composed_calls.cosine_similarity,
            refused="iub",
        ),
    )
}


def api_known(name: str) -> bool:
    """Whether a case file may call it: a declared function, or one that only computes."""
    return name in _API or operator_of(name) is not None or name in DECLARED or is_public_function(name)


def api_names() -> list[str]:
    return sorted(_API)


def returns_several(name: str) -> bool:
    """Whether the function gives a tuple of tensors."""
    return name in _API and _API[name].rest is not None


def composed_call(call: ApiCall, inputs: Mapping[str, Array]) -> Call | None:
    """The call in its library's own words, where the case gives arguments by their parts; None for all others.

    Raises:
        UsageError: if a part is missing.
    """
    composed = _API[call.api].composed if call.api in _API else None
    if composed is None:
        return None
    try:
        return composed(call, inputs)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise UsageError(f"{call.api}: these are not its arguments: {error}") from error


def refused_dtypes(call: ApiCall, inputs: Mapping[str, Array]) -> list[str]:
    """The dtypes among the arrays that the function must refuse."""
    kinds = _API[call.api].refused if call.api in _API else ""
    return sorted({array.dtype.name for array in inputs.values() if array.dtype.kind in kinds})


def formula_of(name: str) -> str:
    """What the function documents; empty for one that is not of the enumerated API."""
    if name in DECLARED:
        return DECLARED[name].formula
    return _API[name].formula if name in _API else ""


def evaluate_call(call: ApiCall, inputs: dict[str, Array], *, promoted: bool = True) -> Evaluation:
    """The true value of a call, in float64.

    Args:
        promoted: False evaluates the formula in the inputs' own dtype instead, as a plain implementation would.

    Raises:
        UsageError: if the function is not of the enumerated API.
    """
    operator = operator_of(call.api)
    if operator is not None:
        arrays = operator.operand_arrays(inputs)
        inner = np.float64 if promoted or any(x.dtype == np.float64 for x in inputs.values()) else np.float32
        return operator.evaluate(dict(call.kwargs), [x.astype(inner) for x in arrays])
    if call.api in DECLARED:
        return evaluate_declared(call, inputs, promoted=promoted)
    if call.api not in _API:
        raise UsageError(f"unknown API {call.api!r}; known are {', '.join(api_names())}")
    args, kwargs = _arguments(call, inputs, promoted)
    try:
        with np.errstate(all="ignore"):  # overflow and NaN are answers here, not accidents
            return _API[call.api].reference(*args, **kwargs)
    except (TypeError, ValueError, IndexError) as error:
        raise UsageError(f"{call.api}: the reference does not cover these arguments: {error}") from error


def evaluate_rest(call: ApiCall, inputs: dict[str, Array], outputs: Sequence[Array]) -> list[tuple[Array, Evaluation]]:
    """What must hold of the outputs after the first, given a library's: pairs of what is and what should be."""
    rest = _API[call.api].rest if call.api in _API else None
    if rest is None or len(outputs) < 2:
        return []
    found = rest(_arguments(call, inputs)[0], outputs)
    return [(actual.astype(outputs[1].dtype), truth) for actual, truth in found]


def _arguments(call: ApiCall, inputs: dict[str, Array], promoted: bool = True) -> tuple[list[Any], dict[str, Any]]:
    def value(argument: object) -> object:
        if isinstance(argument, ArrayArg):
            return _promoted(inputs[argument.name]) if promoted else _plain(inputs[argument.name])
        if isinstance(argument, (list, tuple)):
            return [value(item) for item in argument]
        return argument

    return [value(argument) for argument in call.args], {key: value(item) for key, item in call.kwargs.items()}


def _promoted(array: Array) -> Array:
    if array.dtype.kind in "iub":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _plain(array: Array) -> Array:
    """The narrow types are computed in float32 and rounded once, as kernels do."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind not in "iub" else array
