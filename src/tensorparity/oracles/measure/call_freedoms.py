"""What libraries leave open of single calls, as data: two sides of one library may differ there and both be right."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from ...core.messages import says_no_kernel, says_unsupported
from ...core.outcome import Failure

#: How libraries say that a way of running a call has no such thing: not that something is wrong.
_LACKS = re.compile(
    r"could not run '?aten|no kernel|not compilable|must be (?:a )?(?:compile-time|concrete|static)|data.dependent"
    r"|non-?concrete|unbacked|symbolic|tracer|abstract tracer value|expected to be scalar|vmap: |batching rule"
    r"|inplace arithmetic|in-place|sparse|out=\.\.\.|unexpected keyword argument 'out'|does not have a deriv"
    r"|is not differentiable|derivative for .* is not|only tensors, lists, tuples|cannot be traced|graph break"
    r"|no conversion|has no gradient|getitem|boolean indices|dynamic shape|strided layout|KerasTensor"
    r"|autograd\.Function|not currently support|double backward|requires_grad|do not require grad|not registered|meta",
    re.IGNORECASE,
)
_LACKING_TYPES = frozenset(
    ["Unsupported", "ConcretizationTypeError", "TracerArrayConversionError", "TracerBoolConversionError"]
    + ["TracerIntegerConversionError", "NonConcreteBooleanIndexError", "UserError", "UnexpectedTracerError"]
    + ["DynamicOutputShapeException", "DataDependentOutputException", "OperatorNotAllowedInGraphError"]
    + ["TorchRuntimeError", "InaccessibleTensorError", "TypeError"]
)


def lacks(failure: Failure) -> bool:
    """A failure that says that this way of running a call has no such thing."""
    if failure.type in _LACKING_TYPES or says_unsupported(failure.type, failure.message):
        return True
    return says_no_kernel(failure.message) or bool(_LACKS.search(failure.message[:4000]))


@dataclass(frozen=True)
class CallFreedom:
    """A freedom: of which functions, under which condition on the inputs, in whose words."""

    names: re.Pattern[str]
    applies: Callable[[ApiCall, dict[str, Array]], bool]
    words: str


def _integer_zero(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return any(array.dtype.kind in "iub" and bool((array == 0).any()) for array in inputs.values())


def _out_of_range(call: ApiCall, inputs: dict[str, Array]) -> bool:
    """An integer that is no index of the shortest axis there is."""
    least = min((size for array in inputs.values() for size in array.shape), default=0)
    return any(a.dtype.kind in "iu" and a.size and (a.min() < 0 or a.max() >= least) for a in inputs.values())


def _negative_integers(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return any(array.dtype.kind == "i" and bool((array < 0).any()) for array in inputs.values())


def _nan(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return any(array.dtype.kind in "fc" and bool(np.isnan(array).any()) for array in inputs.values())


def _always(call: ApiCall, inputs: dict[str, Array]) -> bool:
    return True


def _words(*words: str) -> re.Pattern[str]:
    """Names of which one word is one of these; a trailing digit or the d of ``1d`` belongs to a word."""
    return re.compile(rf"(^|_)({'|'.join(words)})\d?d?(_|$)")


_FREEDOMS = (
    CallFreedom(
        _words("div", "divide", "floordiv", "mod", "fmod", "remainder", "rem", "gcd", "lcm", "reciprocal", "floor"),
        _integer_zero,
        "integer division by zero is undefined",
    ),
    CallFreedom(
        _words("pow", "power", "shift", "ldexp"), _negative_integers, "negative shifts and powers of integers are"
    ),
    CallFreedom(
        _words(
            "gather", "take", "index", "scatter", "embedding", "segment", "hot", "bincount", "slice", "select", "put"
        ),
        _out_of_range,
        "what an index out of range does is up to the library",
    ),
    CallFreedom(_words("sign", "heaviside", "threshold", "sgn"), _nan, "of NaN nothing is documented"),
    CallFreedom(_words("empty", "new_empty", "uninitialized"), _always, "the memory is not initialised"),
    CallFreedom(
        _words("sort", "argsort", "msort", "argmax", "argmin", "topk", "unique", "mode", "median", "nanmedian"),
        lambda call, inputs: _nan(call, inputs) or _ties(inputs),
        "which of equal elements is named is up to the library",
    ),
    CallFreedom(
        _words("eig", "eigh", "eigvals", "svd", "svdvals", "qr", "schur", "lu", "ldl", "pca", "lobpcg", "lowrank"),
        _always,
        "factors are determined up to sign, phase and order",
    ),
)


#: Of factorizations, the results that are determined all the same: eigenvalues in order, singular values.
_DETERMINED = {
    **dict.fromkeys(["torch.linalg.eigh", "tensorflow.linalg.eigh", "jax.numpy.linalg.eigh", "keras.ops.eigh"], "0"),
    **dict.fromkeys(["torch.linalg.eigvalsh", "tensorflow.linalg.eigvalsh", "jax.numpy.linalg.eigvalsh"], "0"),
    **dict.fromkeys(["torch.linalg.svdvals", "jax.numpy.linalg.svdvals", "tensorflow.linalg.svd"], "0"),
    **dict.fromkeys(["torch.linalg.svd", "torch.svd", "jax.numpy.linalg.svd", "keras.ops.svd"], "1"),
}


def determined_output(case: Case) -> str | None:
    """The one result of a call that has but one right value, where the others are free; None where that is not so."""
    return _DETERMINED.get(case.subject.api) if isinstance(case.subject, ApiCall) else None


def _ties(inputs: dict[str, Array]) -> bool:
    return any(array.size > np.unique(array).size for array in inputs.values() if array.dtype.kind in "fiub")


def freedom_of_call(case: Case) -> str:
    """The freedom that a case's call is free in, in words; empty for none."""
    if not isinstance(case.subject, ApiCall):
        return ""
    inputs = dict(case.inputs)
    for call in case.subject.calls():
        for freedom in _FREEDOMS:
            if freedom.names.search(call.api.rpartition(".")[2].lower()) and freedom.applies(call, inputs):
                return freedom.words
    return ""
