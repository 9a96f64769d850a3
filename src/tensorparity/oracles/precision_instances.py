"""Predoo's measure: instances of one operator in several precisions, held against the widest that answers.

The case is a batch of inputs as they were drawn, in float64; the instances are made of it by rounding. What is rounded
depends on the mode, and every mode is an oracle of its own: a case does not say which it was drawn for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array, dtype_name, dtype_named
from ..core.case import ApiCall, Case
from ..core.endings import KIND_OF_ENDING
from ..core.messages import gist
from ..core.oracle import Check, Judged, Seen, Setup
from ..core.outcome import Outcome
from ..core.rows import row_count
from ..core.suspicion import Suspicion
from ..core.tolerance import Tolerance
from ..core.verdict import Judgement, Stage, Verdict
from ..operators.functions.native import case_operator, computed_in, shared_inputs
from ..operators.functions.spec import Operator
from .base import Asking, Steps, Stepwise
from .measure.operator_errors import measure_instances
from .measure.special_values import special
from .operator_endings import accused_endings
from .operator_error import PRECISION
from .operator_notes import Ended, Notes, Problem

#: The paper's precisions; bfloat16 came later and is measured when asked for.
PAPER_DTYPES: tuple[str, ...] = ("float16", "float32", "float64")
#: The oracle of each mode.
ORACLE_OF_MODE: Mapping[str, str] = {
    "input_mode": "predoo_input_mode",
    "op_mode": "predoo_op_mode",
    "default": "predoo_default",
}
#: What inputs are drawn in, whichever precisions are measured.
DRAWN = "float64"
_WIDTHS = {"bfloat16": 0, "float16": 1, "float32": 2, "float64": 3}


def narrowest_first(dtypes: Sequence[str]) -> list[str]:
    return sorted(dtypes, key=lambda name: _WIDTHS[name])


@dataclass(frozen=True)
class _Group:
    """Instances on the same rows of the case, the widest first: the others are held against it."""

    rows: Array
    instances: list[Case]


@dataclass
class _Measured:
    """What came of one case on one target."""

    linf: Array
    l1: Array
    mean: Array
    overflows: Array
    allowed: float | None = None
    raised: dict[str, set[int]] = field(default_factory=dict)
    ended: list[tuple[Case, Outcome, str]] = field(default_factory=list)
    seconds: float = 0.0
    worst: tuple[float, int | None] = (0.0, None)


class PrecisionInstances(Stepwise):
    """The largest difference of any instance from the widest; its settings are ``dtypes``.

    Differences between precisions blame nobody; calls that end badly are judged like those of other operators.
    """

    settings: ClassVar[tuple[str, ...]] = ("dtypes",)

    only_measures = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._ordered = narrowest_first(setup.settings.get("dtypes") or PAPER_DTYPES)

    @abstractmethod
    def groups(self, case: Case, dtypes: Sequence[str]) -> Iterator[tuple[Array, list[Case]]]:
        """Rows of the case, and the calls on them that are compared, the widest first."""

    def steps(self, seen: Seen) -> Steps:
        operator = case_operator(seen.case)
        if operator is None:
            assert isinstance(seen.case.subject, ApiCall)
            reason = f"{seen.case.subject.api} is no operator"
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, reason, stage=Stage.CALL),))
        found: dict[str, _Measured] = {}
        suspicions: list[Suspicion] = []
        for target in seen.targets:
            found[target] = yield from self._measure_target(seen, target)
            for case, outcome, text in found[target].ended:
                suspicions += yield from _accuse_ending(seen, operator, case, outcome, text)
        return _judgement_of(seen, found, suspicions)

    def _measure_target(self, seen: Seen, target: str) -> Asking[_Measured]:
        """Run all instances together and hold them against each other."""
        groups = [_Group(rows, cases) for rows, cases in self.groups(seen.case, self._ordered)]
        asked = {case.digest: case for group in groups for case in group.instances}
        asked.pop(seen.case.digest, None)
        answers = (yield [Check(case, (target,)) for case in asked.values()]) if asked else ()
        outcomes = {answer.check.case.digest: answer.outcomes[target] for answer in answers}
        outcomes[seen.case.digest] = seen.own[target]
        rows = row_count(seen.case, shared_inputs(seen.case))
        linf, l1, mean = (np.full(rows, np.nan) for _ in range(3))
        found = _Measured(linf, l1, mean, np.zeros(rows, bool))
        for group in groups:
            _compare(group, seen.traits[target].tolerances, outcomes, found)
        return found


class OpMode(PrecisionInstances):
    """Input and operator in each precision."""

    def groups(self, case: Case, dtypes: Sequence[str]) -> Iterator[tuple[Array, list[Case]]]:
        yield _all_rows(case), [_in_dtype(case, dtype) for dtype in reversed(dtypes)]


class DefaultMode(PrecisionInstances):
    """The operator in each precision, on the input as it is."""

    def groups(self, case: Case, dtypes: Sequence[str]) -> Iterator[tuple[Array, list[Case]]]:
        yield _all_rows(case), [_in_dtype(case, dtypes[-1], instance=dtype) for dtype in reversed(dtypes)]


class InputMode(PrecisionInstances):
    """The input in each precision, and the operator in the widest.

    A narrower operator rounds a wider input itself, so that its answers differ only where rounding twice is not
    rounding once: those inputs are run too.
    """

    def groups(self, case: Case, dtypes: Sequence[str]) -> Iterator[tuple[Array, list[Case]]]:
        yield _all_rows(case), [_in_dtype(case, dtype, instance=dtypes[-1]) for dtype in reversed(dtypes)]
        for position, narrow in enumerate(dtypes):
            for between in dtypes[position + 1 : -1]:
                rows, twice = _rounded_twice(case, narrow, between)
                if rows.size:
                    once = _only_rows(case, rows)
                    yield rows, [_in_dtype(part, narrow) for part in (once, _only_rows(twice, rows))]


def _all_rows(case: Case) -> Array:
    return np.arange(row_count(case, shared_inputs(case)))


def _in_dtype(case: Case, dtype: str, *, instance: str | None = None) -> Case:
    """The call with its inputs in a dtype, the case itself where they are.

    Args:
        instance: the precision the operator runs in where that is another than its inputs'.
    """
    if case.procedure.dtype == instance and all(dtype_name(array) == dtype for array in case.inputs.values()):
        return case
    with np.errstate(over="ignore"):
        inputs: dict[str, Array] = {name: array.astype(dtype_named(dtype)) for name, array in case.inputs.items()}
    return replace(case, inputs=inputs, procedure=replace(case.procedure, dtype=instance))


def _rounded_twice(case: Case, narrow: str, between: str) -> tuple[Array, Case]:
    """The rows that come out differently if they are rounded to ``between`` on the way; the case so rounded."""
    shared = shared_inputs(case)
    differ = np.zeros(row_count(case, shared), bool)
    again = dict(case.inputs)
    for name, array in case.inputs.items():
        if name in shared:
            continue
        with np.errstate(over="ignore"):
            again[name] = array.astype(dtype_named(between)).astype(np.float64)
            other = again[name].astype(dtype_named(narrow)) != array.astype(dtype_named(narrow))
        differ |= other.reshape(len(differ), -1).any(axis=1)
    return np.flatnonzero(differ), replace(case, inputs=again)


def _only_rows(case: Case, rows: Array) -> Case:
    shared = shared_inputs(case)
    inputs: dict[str, Array] = {n: array if n in shared else array[rows] for n, array in case.inputs.items()}
    return replace(case, inputs=inputs)


def _compare(
    group: _Group, tolerances: Mapping[str, Tolerance], outcomes: Mapping[str, Outcome], found: _Measured
) -> None:
    rows, linf, l1 = group.rows, found.linf, found.l1
    widest: Array | None = None
    for case in group.instances:
        outcome = outcomes[case.digest]
        found.seconds += outcome.cpu_seconds
        if not outcome.completed:
            _record_ending(case, outcome, rows, found)
        elif widest is None:
            widest = outcome.outputs["0"].astype(np.float64)
        else:
            tolerance = tolerances.get(computed_in(case))
            errors = measure_instances(outcome.outputs["0"], widest, tolerance)
            linf[rows] = np.fmax(linf[rows], errors.linf)
            l1[rows] = np.fmax(l1[rows], errors.l1)
            found.mean[rows] = np.fmax(found.mean[rows], errors.mean)
            found.overflows[rows] |= errors.overflows
            if tolerance is not None and np.isfinite(errors.allowed).any():
                found.allowed = max(found.allowed or 0.0, float(np.nanmax(errors.allowed)))
    if np.isfinite(linf[rows]).any():
        at = int(np.nanargmax(linf[rows]))
        if linf[rows][at] > found.worst[0]:
            found.worst = (float(linf[rows][at]), int(rows[at]))


def _record_ending(case: Case, outcome: Outcome, rows: Array, found: _Measured) -> None:
    """An input counts once, in however many precisions it ends so."""
    told = outcome.failure
    text = f"{told.type}: {gist(told.message)}" if told else outcome.status.value
    found.raised.setdefault(text, set()).update(rows.tolist())
    if outcome.status in KIND_OF_ENDING:
        found.ended.append((case, outcome, text))


def _accuse_ending(seen: Seen, operator: Operator, case: Case, outcome: Outcome, text: str) -> Asking[list[Suspicion]]:
    """A call that ended badly; nobody says that NaN and infinities must be taken.

    Known by its exception, because a search meets it in every batch: one or two are enough.
    """
    if special(list(case.inputs.values())):
        return []
    dtype = dtype_name(next(iter(case.inputs.values())))
    ended = Ended(outcome)
    problems = {outcome.target: Problem(ended.told, ended)}
    noted = Notes(operator, case, dtype, {outcome.target: outcome}, seen.traits, problems=problems)
    key = (operator.name, outcome.target, f"{case.procedure.dtype or dtype} {text}", "")
    accused = yield from accused_endings(noted)
    return [replace(suspicion, oracle=PRECISION, known_by=key) for suspicion in accused]


def _judgement_of(seen: Seen, found: Mapping[str, _Measured], suspicions: Sequence[Suspicion]) -> Judged:
    told = {
        "exceptions": {target: {text: len(rows) for text, rows in one.raised.items()} for target, one in found.items()},
        "worst": {target: one.worst[1] for target, one in found.items()},
        "library_seconds": {target: one.seconds for target, one in found.items()},
        "overflows": {target: int(one.overflows.sum()) for target, one in found.items()},
        "allowed": {target: one.allowed for target, one in found.items()},
    }
    measures = {
        "linf": {target: one.linf.tolist() for target, one in found.items()},
        "l1": {target: one.l1.tolist() for target, one in found.items()},
        "mean": {target: one.mean.tolist() for target, one in found.items()},
    }
    verdict = _verdict(seen.targets, found, suspicions)
    return Judged((verdict,), tuple(suspicions), measures=measures, told=told)


def _verdict(targets: tuple[str, ...], found: Mapping[str, _Measured], suspicions: Sequence[Suspicion]) -> Verdict:
    if suspicions:
        reason = str(suspicions[0].diagnosis.observations[0])
        return Verdict(Judgement.FAIL, targets, reason, kind=suspicions[0].kind, stage=Stage.CALL)
    if not any(np.isfinite(one.linf).any() for one in found.values()):
        reasons = dict.fromkeys(text for one in found.values() for text in one.raised)
        reason = "; ".join(reasons) or "no two precisions could be compared"
        return Verdict(Judgement.UNDECIDED, targets, reason, stage=Stage.CALL)
    return Verdict(Judgement.PASS, targets, "precisions differ, which blames nobody", stage=Stage.CALL)
