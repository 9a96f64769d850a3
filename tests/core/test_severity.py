"""Severities: what a finding does to whoever uses the library."""

from __future__ import annotations

import pytest

from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.severity import Severity, severity_of
from tensorparity.core.verdict import Kind


@pytest.mark.parametrize(
    ("kind", "relative", "severity"),
    [
        (Kind.CRASH, None, Severity.CRASH),
        (Kind.HANG, None, Severity.CRASH),
        (Kind.NAN, None, Severity.NAN),
        (Kind.NAN, 1e-9, Severity.NAN),
        (Kind.ERROR, None, Severity.REFUSES_VALID),
        (Kind.PRECISION, None, Severity.DIGITS),
        (Kind.PRECISION, 9e-4, Severity.DIGITS),
        (Kind.PRECISION, 1e-3, Severity.WRONG),
        (Kind.INCONSISTENCY, None, Severity.WRONG),
        (Kind.INCONSISTENCY, 1e-3, Severity.WRONG),
        (Kind.INCONSISTENCY, 9e-4, Severity.DIGITS),
        (Kind.EQUIVALENCE, 1e-5, Severity.DIGITS),
        (Kind.EQUIVALENCE, 0.5, Severity.WRONG),
        (Kind.SHAPE, 1e-9, Severity.WRONG),
        (Kind.DTYPE, None, Severity.WRONG),
        (Kind.ACCEPTS_INVALID, None, Severity.WRONG),
    ],
)
def test_by_kind_and_size(kind: Kind, relative: float | None, severity: Severity) -> None:
    assert severity_of(kind, Diagnosis(Class.DEFECT, relative=relative)) is severity


def test_every_kind_has_one() -> None:
    assert {severity_of(kind, Diagnosis(Class.DEFECT)) for kind in Kind} == set(Severity)


def test_the_worst_comes_first() -> None:
    names = [severity.value for severity in sorted(Severity, key=lambda severity: severity.rank)]
    assert names == ["crash", "wrong", "nan", "refuses-valid", "digits"]
