"""What is supported: a target that refuses what its documentation rules out, or leaves open, is not wrong.

The declaration of an operator says which call of which library does it, with which parameters: in float32, that is
documented support, and a library that refuses it is wrong, whatever it says. Other dtypes it may lack.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.arrays import dtype_name
from ...core.case import ApiCall, Case
from ...core.evidence import observed
from ...core.finding import Class, Diagnosis
from ...core.messages import says_no_kernel, says_unsupported
from ...core.outcome import Outcome, Status
from ...core.policies import PLAIN
from ...operators.functions.catalogue import operator_of
from .documented_freedoms import FreeElements, as_specification


def is_documented(case: Case) -> bool:
    """The libraries' documentation promises this call: an operator of the catalogue, in float32."""
    if not isinstance(case.subject, ApiCall) or operator_of(case.subject.api) is None:
        return False
    return all(dtype_name(array) == "float32" for array in case.inputs.values())


def is_refusal(outcome: Outcome, dtype: str | None = None) -> bool:
    """A target says that it has no such thing: in words, or by lacking a kernel for another policy than float32."""
    failure = outcome.failure
    if outcome.status is not Status.RAISED or failure is None:
        return False
    other = dtype not in (None, PLAIN.name)
    return says_unsupported(failure.type, failure.message) or (other and says_no_kernel(failure.message))


def classify_failure(
    diagnosis: Diagnosis,
    outcome: Outcome,
    freed: FreeElements | None = None,
    *,
    documented: bool = False,
    dtype: str | None = None,
) -> Diagnosis:
    """A bad ending as what it is: the library's own word that it has no such thing, a documented freedom, or a defect.

    Only an exception can be a refusal; a process that dies or hangs refuses nothing.

    Args:
        documented: the documentation says that it is supported, so the library's word does not count.
        dtype: the policy that layers ran under.
    """
    failure = outcome.failure
    if outcome.status is not Status.RAISED or failure is None:
        return diagnosis
    if freed is not None and freed.freedom.raises:
        return as_specification(diagnosis, freed.freedom)
    if not documented and is_refusal(outcome, dtype):
        said = observed("unsupported", target=outcome.target)
        return replace(diagnosis, klass=Class.UNSUPPORTED, evidence=(*diagnosis.evidence, said))
    return diagnosis
