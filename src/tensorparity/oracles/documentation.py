"""Which of the two is wrong, code or documentation, where all targets agree with each other and not with the reference.

Where a test that the library ships expects what its code does, the documentation is the suspect. The defect stays a
defect of the same kind: somebody who reads the one and runs the other is misled.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..operators.shipped_tests import ShippedTest, test_against_documentation

#: How the name of a suspect ends that is what a library says of itself.
DOCUMENTATION = ":documentation"
#: What a dtype policy is called among the parameters; tests do not name it.
_POLICY = "dtype"


def suspecting_documentation(suspicion: Suspicion) -> Diagnosis:
    """The diagnosis, with the documentation as the suspect where code and shipped tests agree against it."""
    diagnosis, test = suspicion.diagnosis, _contradicted_test(suspicion)
    if test is None:
        return diagnosis
    (family,) = diagnosis.suspects
    said = observed("documentation", library=family, test=test.place, api=test.api)
    return replace(diagnosis, suspects=(family + DOCUMENTATION,), evidence=(*diagnosis.evidence, said))


def _contradicted_test(suspicion: Suspicion) -> ShippedTest | None:
    """A test of what was convicted: numbers of code that all targets share, under arguments that the test has, too."""
    diagnosis = suspicion.diagnosis
    if diagnosis.klass is not Class.DEFECT or suspicion.kind is not Kind.INCONSISTENCY or not diagnosis.api:
        return None
    if len(diagnosis.suspects) != 1 or not _is_shared(diagnosis.suspects[0], suspicion.targets):
        return None
    return test_against_documentation(diagnosis.api, frozenset(diagnosis.parameters) - {_POLICY})


def _is_shared(suspect: str, targets: tuple[str, ...]) -> bool:
    return suspect not in targets and any(target.startswith(f"{suspect}:") for target in targets)
