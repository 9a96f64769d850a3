"""How libraries say that a way of running a call has no such thing, not that something is wrong with the call."""

from __future__ import annotations

import re

from ...core.messages import says_no_kernel, says_not_installed, says_unsupported
from ...core.outcome import Failure


def _pattern(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


#: Whatever the way: there is no kernel, or nothing to pull back.
_ANYWHERE = _pattern(
    r"could not run '?aten|no kernel|not registered|not currently support",
    r"does not have a deriv|is not differentiable|derivative for .* is not|has no gradient|double backward",
    r"gradient registry has no entry",
    r"requires_grad|do not require grad|autograd\.Function|leaf variable that requires grad",
    r"(?:when using|with|on|in|for) the \w+ backend",
)
#: Whoever traces a call knows no numbers, and says that it would need them.
_TRACED = _pattern(
    r"data.dependent|non-?concrete|concrete value|must be (?:a )?(?:compile-time|concrete|static)|not compilable",
    r"unbacked|boolean indices|dynamic(?:ally sized)? shape|cannot be traced|graph break|only tensors, lists, tuples",
    r"traced array with shape (?:u?int|bool)|cannot be interpreted as an integer|no fake impl|meta kernel",
    r"symbolic (?:tf\.)?tensor|python bool(?:ean)? (?:is|conversion)|local_scalar_dense|\.item\(\)|\.tolist\(\)",
)
_TRACED_TYPES = frozenset(
    ["Unsupported", "ConcretizationTypeError", "TracerBoolConversionError", "TracerIntegerConversionError"]
    + ["NonConcreteBooleanIndexError", "UserError", "DynamicOutputShapeException", "DataDependentOutputException"]
    + ["OperatorNotAllowedInGraphError", "UnsupportedOperatorException", "UnsupportedFakeTensorException"]
    + ["GuardOnDataDependentSymNode"]
)
#: Tensors without numbers have none to give.
_WITHOUT_NUMBERS = _pattern(r"\bmeta tensors?\b", r"'meta' (?:backend|device)", r"data.dependent", r"\.item\(\)")
_MAPPED = _pattern(r"vmap: ", r"batching rule", r"inplace arithmetic", r"in-place")
_SPARSE = _pattern(r"\bsparse\b", r"\bsparse(?:csr|csc|bsr|coo)\b", r"strided layout", r"\blayout\b")
_WRITTEN = _pattern(r"in-place", r"out=", r"unexpected keyword argument 'out'", r"can't be cast", r"no conversion")

#: By the names of rules: the words, and the types of exceptions, in which they lack something.
_BY_RULE: tuple[tuple[re.Pattern[str], re.Pattern[str], frozenset[str]], ...] = (
    (
        re.compile(r"tf\.function|xla|jit|inductor|aot|traced|export|saved-function|any-size|lax-map|dataset|vmap"),
        _TRACED,
        _TRACED_TYPES,
    ),
    (re.compile(r"checkpoint|forward-mode|fake|symbolic|functional"), _TRACED, _TRACED_TYPES),
    (re.compile(r"meta|fake"), _WITHOUT_NUMBERS, frozenset()),
    (re.compile(r"vmap|lax-map"), _MAPPED, frozenset()),
    (re.compile(r"sparse"), _SPARSE, frozenset()),
    (re.compile(r"^(?:out|in-place|method)$"), _WRITTEN, frozenset(["TypeError"])),
)


def lacks(failure: Failure, rule: str = "") -> bool:
    """A failure that says that this way of running a call has no such thing.

    Args:
        rule: the rule whose other side failed; without one, the call was run plainly.
    """
    if says_unsupported(failure.type, failure.message) or says_no_kernel(failure.message):
        return True
    if says_not_installed(failure.type, failure.message):
        return True
    message = failure.message[:4000]
    if _ANYWHERE.search(message):
        return True
    ways = [(words, types) for names, words, types in _BY_RULE if names.search(rule)]
    return any(failure.type in types or words.search(message) for words, types in ways)
