"""Answers of another shape or dtype than the operator's: wrong, however good their numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.arrays import dtype_name
from ..core.case import ApiCall, Case
from ..core.outcome import Outcome
from ..core.verdict import Kind
from ..operators.calls.spec import Operator
from ..operators.spec import Evaluation
from ..targets.catalogue import traits_of

#: Functions that are documented to answer in a dtype of their own: by operator and implementation.
_OWN_DTYPES = {("resize_bilinear", "tensorflow"): "float32"}


@dataclass(frozen=True, slots=True)
class WrongForm:
    kind: Kind
    told: str


def wrong_form(operator: Operator, outcome: Outcome, truth: Evaluation, dtype: str) -> WrongForm | None:
    """What is wrong with the shape or dtype of an answer, if anything; a documented dtype is a lack."""
    output = outcome.outputs.get("0") if outcome.completed else None
    if output is None:
        return None
    if output.shape != truth.value.shape:
        return WrongForm(Kind.SHAPE, f"shape {output.shape} instead of {truth.value.shape}")
    found = dtype_name(output)
    if found == dtype or _documented(operator, outcome.target, dtype, found):
        return None
    return WrongForm(Kind.DTYPE, f"answers in {found} instead of {dtype}")


def _documented(operator: Operator, target: str, dtype: str, found: str) -> bool:
    """JAX keeps to float32 unless a process is told otherwise; Keras does as JAX, but for TensorFlow, by design."""
    traits = traits_of([target])[target]
    own = _OWN_DTYPES.get((operator.name, traits.implementation()))
    return found in (own, traits.documented_dtypes.get(dtype))


def wrong_forms(
    operator: Operator, outcomes: Mapping[str, Outcome], truth: Evaluation, dtype: str
) -> dict[str, WrongForm]:
    """The targets whose answers have a wrong form; none where all implementations agree, and only we do not."""
    found = {t: wrong_form(operator, outcome, truth, dtype) for t, outcome in outcomes.items() if outcome.completed}
    wrong = {target: form for target, form in found.items() if form is not None}
    agreed = len(wrong) == len(found) and len(set(wrong.values())) == 1
    return {} if agreed and len(traits_of(wrong).implementations(wrong)) > 1 else wrong


def form_again(operator: Operator, dtype: str, case: Case, outcome: Outcome) -> WrongForm | None:
    """The wrong form of an answer to this case."""
    assert isinstance(case.subject, ApiCall)
    with np.errstate(all="ignore"):
        truth = operator.evaluate(dict(case.subject.kwargs), operator.operand_arrays(case.inputs))
    return wrong_form(operator, outcome, truth, dtype)
