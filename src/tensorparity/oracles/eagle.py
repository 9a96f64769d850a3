"""The paper's comparison of two sides: |O - O'| <= 1e-2 + 1e-5 |O'|; what only one side answers is tallied apart."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.channels import same
from ..core.finding import Class
from ..core.oracle import Judged, Seen
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Stage, Verdict
from .base import Steps, Stepwise
from .call_equivalence import said_of
from .call_rows import ONE_SIDED, Row, rows_of
from .row_difference import Difference

ATOL, RTOL = 1e-2, 1e-5


class Eagle(Stepwise):
    """Judges as the authors' scripts do: numbers alone, by one tolerance for all."""

    settings: ClassVar[tuple[str, ...]] = ()

    role: ClassVar[str] = "equivalences"

    def steps(self, seen: Seen) -> Steps:
        yield from ()
        verdicts, suspicions = [], []
        one_sided = 0
        for target in seen.targets:
            verdict, found, alone = _judged(seen, target)
            verdicts.append(verdict)
            suspicions += found
            one_sided += alone
        return Judged(tuple(verdicts), tuple(suspicions), told={ONE_SIDED: one_sided})


def _judged(seen: Seen, target: str) -> tuple[Verdict, list[Suspicion], int]:
    """What is said of a target, and of how many inputs one side alone gave an answer."""
    sides = seen.case.sides()
    rows = [rows_of(side, outcomes[target]) for side, outcomes in zip(sides, seen.outcomes, strict=True)]
    differences: list[Difference] = []
    one_sided = answered = 0
    stacked = seen.case.procedure.rows is not None
    for place, (a, b) in enumerate(zip(*rows, strict=True)):
        if a.failure or b.failure:
            one_sided += bool(a.failure) != bool(b.failure)
            continue
        answered += 1
        differences += _apart(place if stacked else None, a, b)
    if not answered:
        reason = f"{target}: one side alone raises {one_sided} times" if one_sided else f"{target} answers neither side"
        return Verdict(Judgement.UNDECIDED, (target,), reason, stage=Stage.CALL), [], one_sided
    worst = max(differences, key=lambda item: item.apart or 0.0, default=None)
    verdict, found = said_of(seen, target, worst, answered)
    if one_sided and worst is None:
        verdict = replace(verdict, reason=f"{verdict.reason}; one side alone raises {one_sided} times")
    return verdict, found, one_sided


def _apart(place: int | None, a: Row, b: Row) -> list[Difference]:
    found = []
    for name in a.answers:
        if name not in b.answers:
            continue
        x, y = a.answers[name], b.answers[name]
        if x.shape != y.shape:
            found.append(Difference(place, f"{name}: shapes {x.shape} and {y.shape}", Kind.SHAPE, name, np.inf))
        elif (excess := _excess(x, y)) is not None:
            found.append(Difference(place, f"{name}: apart by {excess:.3g}", name=name, apart=excess, allowed=ATOL))
    return [replace(item, klass=Class.DEFECT) for item in found]


def _excess(a: Array, b: Array) -> float | None:
    """The largest difference, where it is beyond the paper's threshold."""
    if a.dtype.kind in "USO" or b.dtype.kind in "USO":
        return None if bool(same(a, b).all()) else 1.0
    with np.errstate(all="ignore"):
        x, y = (array.astype(np.complex128 if array.dtype.kind == "c" else np.float64) for array in (a, b))
        apart = np.where(same(a, b), 0.0, np.abs(x - y))
        beyond = ~(apart <= ATOL + RTOL * np.abs(y))
    return float(np.nan_to_num(apart[beyond], nan=np.inf).max()) if beyond.any() else None
