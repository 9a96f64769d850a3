"""How bad a finding is for whoever uses the library: the order in which a reader wants them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from .verdict import Kind

if TYPE_CHECKING:
    from .finding import Diagnosis

#: Below this share of the output's largest number, an error costs digits; beyond it the answer is wrong.
DIGITS = 1e-3


class Severity(Enum):
    """The worst first."""

    CRASH = "crash"
    """The process dies, or never answers."""
    WRONG = "wrong"
    """A wrong answer, silently."""
    NAN = "nan"
    """NaN or infinity in place of a number, or a number in place of those."""
    REFUSES_VALID = "refuses-valid"
    """An exception on a valid call."""
    DIGITS = "digits"
    """The answer has fewer correct digits than it could have."""

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return list(Severity).index(self)


_BY_KIND = {
    Kind.CRASH: Severity.CRASH,
    Kind.HANG: Severity.CRASH,
    Kind.NAN: Severity.NAN,
    Kind.ERROR: Severity.REFUSES_VALID,
}
#: Kinds in which how wrong it is depends on by how much; and what counts where that is not known.
_BY_SIZE = {
    Kind.INCONSISTENCY: Severity.WRONG,
    Kind.EQUIVALENCE: Severity.WRONG,
    Kind.PRECISION: Severity.DIGITS,
}


def severity_of(kind: Kind, diagnosis: Diagnosis) -> Severity:
    """By the kind and, where numbers differ, by how much of the output that is."""
    if kind not in _BY_SIZE:
        return _BY_KIND.get(kind, Severity.WRONG)
    if diagnosis.relative is None:
        return _BY_SIZE[kind]
    return Severity.DIGITS if diagnosis.relative < DIGITS else Severity.WRONG
