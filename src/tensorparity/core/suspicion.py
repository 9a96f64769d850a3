"""Suspicion: a diagnosed difference on its way to becoming a finding."""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import signature as sign
from .case import Case
from .finding import Diagnosis
from .graph import LayerGraph
from .signature import Key
from .verdict import Kind, Stage


@dataclass(frozen=True, slots=True)
class WorstElement:
    """The number that shows a difference most: where reduction looks first.

    Args:
        index: of the number in its array.
        output: which of the layer's outputs the array is.
        argument: which of the layer's inputs, where the array is a gradient by it.
    """

    index: tuple[int, ...]
    output: int = 0
    argument: int | None = None


@dataclass(frozen=True)
class Suspicion:
    """A diagnosed difference, ready to be filed: what, who, and the case that shows it.

    Args:
        features: what is special about the inputs of a reduced case; part of its signature.
        worst: the number that differs most, where one does.
        oracle: who convicted, by name: the same one confirms, reduces and replays it.
        known_by: the key of the check that convicted, where that is counted: see ``Check.key``.
        message: what an exception says, without names and figures: two of one type may have nothing else in common.
        row: of a population (individuals as rows), the one that failed; the examiner cuts it out first.
        reduced: reduction came to its end; False where it did not, None where it was not tried.
        not_reduced: why it did not come to its end, or was not possible.
        needs: arguments of a call that reduction leaves: without them the layer above does not fail.
    """

    kind: Kind
    diagnosis: Diagnosis
    case: Case
    targets: tuple[str, ...]
    exception: str = ""
    stage: Stage = Stage.FORWARD
    features: tuple[str, ...] = ()
    worst: WorstElement | None = None
    oracle: str = ""
    known_by: tuple[str, ...] = ()
    row: int | None = None
    message: str = ""
    reduced: bool | None = None
    not_reduced: str = ""
    needs: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What reduction keeps (decision 8)."""
        return sign.key(self.kind, self.stage, self.diagnosis, self.exception)

    @property
    def signature(self) -> str:
        """What counts distinct defects (decision 8); of a reduced case, it says no more than it must."""
        diagnosis = self.diagnosis
        if isinstance(self.case.subject, LayerGraph):  # of a call, the dtype is that of its arguments
            policy = sign.policy_parameter(self.case.procedure.dtype)
            diagnosis = replace(diagnosis, parameters={**diagnosis.parameters, **policy})
        return sign.signature(self.kind, self.stage, diagnosis, self.exception, self.features)
