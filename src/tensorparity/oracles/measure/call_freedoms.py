"""What libraries leave open of single calls, as data: two sides of one library may differ there and both be right."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from .index_ranges import is_out_of_range


@dataclass(frozen=True)
class CallFreedom:
    """A freedom: of which functions, under which condition on the inputs, in whose words."""

    names: re.Pattern[str]
    applies: Callable[[ApiCall, dict[str, Array]], bool]
    words: str


def _integer_zero(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return any(array.dtype.kind in "iub" and bool((array == 0).any()) for array in inputs.values())


def _negative_integers(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return any(array.dtype.kind == "i" and bool((array < 0).any()) for array in inputs.values())


def _no_shift(call: ApiCall, inputs: dict[str, Array]) -> bool:
    """A shift by a negative number of bits, or by all that there are."""
    whole = [array for array in inputs.values() if array.dtype.kind in "iu"]
    bits = min((8 * array.dtype.itemsize for array in whole), default=0)
    return _negative_integers(call, inputs) or any(bool((array >= bits).any()) for array in whole[1:])


def _nan(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return any(array.dtype.kind in "fc" and bool(np.isnan(array).any()) for array in inputs.values())


def _unsorted(call: ApiCall, inputs: dict[str, Array]) -> bool:
    """Whether the numbers that are searched do not ascend: they stand first, or behind what is looked for."""
    arrays = [inputs[name] for name in call.arrays() if name in inputs]
    place = 0 if "search" in call.api.rpartition(".")[2].lower() else 1
    searched = arrays[place] if len(arrays) > place else None
    if searched is None or searched.dtype.kind not in "fiu" or not searched.ndim:
        return False
    return not bool((np.diff(searched.astype(np.float64), axis=-1) >= 0).all())


def _asymmetric(call: ApiCall, inputs: dict[str, Array]) -> bool:
    matrices = [array for array in inputs.values() if array.ndim > 1 and array.shape[-1] == array.shape[-2]]
    return any(not np.array_equal(array, np.conj(np.swapaxes(array, -1, -2))) for array in matrices)


def _always(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return True


def _words(*words: str) -> re.Pattern[str]:
    """Names of which one word is one of these; a trailing digit or the d of ``1d`` belongs to a word."""
    return re.compile(rf"(^|_)({'|'.join(words)})\d?d?(_|$)")


_FREEDOMS = (
    CallFreedom(
        _words("div", "divide", "floordiv", "mod", "fmod", "remainder", "rem", "gcd", "lcm", "reciprocal"),
        _integer_zero,
        "integer division by zero is undefined",
    ),
    CallFreedom(_words("pow", "power"), _negative_integers, "negative powers of integers are undefined"),
    CallFreedom(_words("shift"), _no_shift, "shifts by negative numbers, and by all bits, are undefined"),
    CallFreedom(
        _words("gather", "take", "index", "scatter", "embedding", "segment", "hot", "bincount", "slice", "put"),
        is_out_of_range,
        "what an index out of range does is up to the library",
    ),
    CallFreedom(
        _words("sign", "heaviside", "threshold", "sgn", "shrink", "softshrink", "hardshrink"),
        _nan,
        "of NaN nothing is documented",
    ),
    CallFreedom(
        _words("searchsorted", "search_sorted", "digitize", "bucketize", "interp"),
        _unsorted,
        "what is searched has to be sorted",
    ),
    CallFreedom(
        _words("eigh", "eigvalsh", "cholesky", "self_adjoint_eig", "ldl", "inv_ex", "cholesky_inverse"),
        _asymmetric,
        "which triangle of a matrix that is not symmetric is read is up to the library",
    ),
    CallFreedom(_words("empty", "new_empty", "uninitialized"), _always, "the memory is not initialised"),
    CallFreedom(
        _words(
            "sort", "argsort", "msort", "argmax", "argmin", "topk", "top_k", "unique", "mode", "median", "nanmedian"
        ),
        lambda call, inputs: _nan(call, inputs) or _ties(inputs),
        "which of equal elements is named is up to the library",
    ),
    CallFreedom(
        _words("eig", "eigh", "eigvals", "svd", "svdvals", "qr", "schur", "lu", "ldl", "pca", "lobpcg", "lowrank"),
        _always,
        "factors are determined up to sign, phase and order",
    ),
)


#: The results that are determined all the same: eigenvalues in order, singular values, what is sorted.
_DETERMINED = {
    **dict.fromkeys(["torch.linalg.eigh", "tensorflow.linalg.eigh", "jax.numpy.linalg.eigh", "keras.ops.eigh"], "0"),
    **dict.fromkeys(["torch.linalg.eigvalsh", "tensorflow.linalg.eigvalsh", "jax.numpy.linalg.eigvalsh"], "0"),
    **dict.fromkeys(["torch.linalg.svdvals", "jax.numpy.linalg.svdvals", "tensorflow.linalg.svd"], "0"),
    **dict.fromkeys(["torch.linalg.svd", "torch.svd", "jax.numpy.linalg.svd", "keras.ops.svd"], "1"),
}
#: Functions, by the last part of their names, whose first result is: of equal elements it does not tell which is which.
_SORTED = frozenset(["sort", "msort", "topk", "top_k", "median", "nanmedian", "unique", "unique_consecutive"])
#: Libraries in which NaN has its place among numbers.
_PLACING_NAN = frozenset(["torch", "jax"])


def determined_output(case: Case) -> str | None:
    """The one result of a call that has but one right value, where the others are free; None where that is not so."""
    call = case.subject
    if not isinstance(call, ApiCall):
        return None
    if not (_names(call) & _SORTED) or call.kwargs.get("sorted") is False:
        symmetric = "svd" in call.api or not _asymmetric(call, dict(case.inputs))
        return _DETERMINED.get(call.api) if symmetric else None
    placed = call.api.partition(".")[0] in _PLACING_NAN or not _nan(call, dict(case.inputs))
    return "0" if placed else None


def _names(call: ApiCall) -> set[str]:
    """The last part of its name, with words apart and in one, and without a version."""
    name = re.sub(r"V\d+$", "", call.api.rpartition(".")[2])
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return {apart.lower(), name.lower()}


#: Linear algebra, and from which size of its numbers on its steps leave the range or lose all digits.
_ELIMINATING = _words(
    *["det", "slogdet", "inv", "pinv", "solve", "lstsq", "cond", "matrix_rank", "matrix_power", "matrix_exp", "expm"],
    *["logdet", "triangular_solve", "tensorinv", "tensorsolve", "cholesky_solve", "lu_solve", "norm", "multi_dot"],
)
_LARGE = 1e6


def is_ill_conditioned(case: Case) -> bool:
    """Whether a call eliminates, with numbers far apart."""
    if not isinstance(case.subject, ApiCall) or not any(map(_ELIMINATING.search, _names(case.subject))):
        return False
    floats = [np.abs(array) for array in case.inputs.values() if array.dtype.kind in "fc"]
    return any(bool((array > _LARGE).any()) or not bool(np.isfinite(array).all()) for array in floats)


def _ties(inputs: dict[str, Array]) -> bool:
    return any(array.size > np.unique(array).size for array in inputs.values() if array.dtype.kind in "fiub")


def freedom_of_call(case: Case) -> str:
    """The freedom that a case's call is free in, in words; empty for none."""
    if not isinstance(case.subject, ApiCall):
        return ""
    inputs = dict(case.inputs)
    for call in case.subject.calls():
        for freedom in _FREEDOMS:
            if any(map(freedom.names.search, _names(call))) and freedom.applies(call, inputs):
                return freedom.words
    return ""
