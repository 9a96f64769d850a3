"""Answers of another shape or dtype than the operator's: wrong, however good their numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.arrays import dtype_name
from ..core.outcome import Outcome
from ..core.traits import Traits
from ..core.verdict import Kind
from ..operators.functions.spec import Operator
from ..operators.spec import Evaluation

#: Functions that are documented to answer in a dtype of their own: by operator and implementation.
_OWN_DTYPES = {("resize_bilinear", "tensorflow"): "float32"}


@dataclass(frozen=True, slots=True)
class WrongForm:
    kind: Kind
    told: str


def wrong_form(operator: Operator, outcome: Outcome, truth: Evaluation, dtype: str, traits: Traits) -> WrongForm | None:
    """What is wrong with the shape or dtype of an answer, if anything; a documented dtype is a lack."""
    output = outcome.outputs.get("0") if outcome.completed else None
    if output is None:
        return None
    if output.shape != truth.value.shape:
        return WrongForm(Kind.SHAPE, f"shape {output.shape} instead of {truth.value.shape}")
    found = dtype_name(output)
    if found == dtype or _documented(operator, outcome.target, dtype, found, traits):
        return None
    return WrongForm(Kind.DTYPE, f"answers in {found} instead of {dtype}")


def _documented(operator: Operator, target: str, dtype: str, found: str, traits: Traits) -> bool:
    """JAX keeps to float32 unless a process is told otherwise; Keras does as JAX, but for TensorFlow, by design."""
    own = _OWN_DTYPES.get((operator.name, traits.implementation(target, operator.name)))
    return found in (own, traits[target].documented_dtypes.get(dtype))


def wrong_forms(
    operator: Operator, outcomes: Mapping[str, Outcome], truth: Evaluation, dtype: str, traits: Traits
) -> dict[str, WrongForm]:
    """The targets whose answers have a wrong form; none where all implementations agree, and only we do not."""
    done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    found = {target: wrong_form(operator, outcome, truth, dtype, traits) for target, outcome in done.items()}
    wrong = {target: form for target, form in found.items() if form is not None}
    agreed = len(wrong) == len(found) and len(set(wrong.values())) == 1
    return {} if agreed and len(traits.implementations(wrong, operator.name)) > 1 else wrong
