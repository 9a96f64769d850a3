"""A call that another library defines, or whose documentation names how exact it is: then a third proves nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.evidence import Evidence, observed
from ..core.traits import Traits
from ..operators.functions.native import native_call
from ..operators.functions.peers import ONNX, defined_value, said_of
from ..operators.functions.spec import Lacking, Operator
from ..operators.reference.rounding import K, largest
from ..operators.spec import Evaluation
from .measure.operator_errors import measure_rows

#: Results of so large a share of the largest number are very large.
_VERY_LARGE = 16


def defined_elsewhere(
    operator: Operator, case: Case, outputs: Mapping[str, Array], accused: str, traits: Traits
) -> Evidence | None:
    """Why a target is right though the formula says otherwise: whoever defines the function answers as it does.

    Args:
        case: one input.
        outputs: of every target that answered.
    """
    library = traits[accused].calls
    if library == ONNX:
        return _by_reference_evaluator(operator, case, outputs, accused, traits)
    try:
        call = native_call(operator, library, case)
    except Lacking:
        return None
    value = defined_value(call, case.inputs)
    if value is None or not _agree(outputs[accused], value, operator, case):
        return None
    return observed("defined", target=accused, words=said_of(call))


def _by_reference_evaluator(
    operator: Operator, case: Case, outputs: Mapping[str, Array], accused: str, traits: Traits
) -> Evidence | None:
    """ONNX says what its operators are by an evaluator of its own, where that is among the targets."""
    own = traits.implementation(accused, operator.name)
    for other, output in outputs.items():
        defines = traits.implementation(other, operator.name) == ONNX != own
        if defines and _agree(outputs[accused], output.astype(np.float64), operator, case):
            return observed("defined", target=accused, words=f"{other} is ONNX's own definition of its operators")
    return None


def _agree(output: Array, value: Array, operator: Operator, case: Case) -> bool:
    """Up to the rounding that is granted everybody."""
    if output.shape != value.shape:
        return False
    arrays = operator.operand_arrays(case.inputs)
    with np.errstate(all="ignore"):
        kappa = np.broadcast_to(operator.evaluate(dict(case.subject.kwargs), arrays).kappa, value.shape)  # type: ignore[union-attr]
    errors = measure_rows(output, Evaluation(value, np.nan_to_num(kappa, posinf=0.0)), output.dtype.name)
    return bool(errors.units.max(initial=0.0) <= K)


def overflow_words(operator: Operator, target: str, traits: Traits, said: float, true: float, dtype: str) -> str:
    """The words in which a library, or the one that computes for it, says that very large results become infinite.

    Nothing where something else happened.
    """
    most = largest(dtype)
    if not (math.isinf(said) and said * true > 0 and most / _VERY_LARGE <= abs(true) <= most):
        return ""
    overflows = operator.overflows
    return overflows.get(traits[target].calls) or overflows.get(traits.implementation(target, operator.name), "")


def limited_words(operator: Operator, target: str, traits: Traits) -> str:
    """The words in which a library's documentation says that a function is not exact everywhere."""
    return operator.limited.get(traits[target].calls, "")
