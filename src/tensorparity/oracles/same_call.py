"""One call on several targets that run the same public function: values, forms, and who refuses it.

A vote alone blames nobody. Where answers differ by more than a roundoff, every target runs the call in float64 on the
input and on inputs moved as far as rounding moves them; where two of these runs agree, what lies outside of both is
wrong, however many share the mistake. Of whole numbers NumPy's function of that name says what is right. Shapes, dtypes
and what is taken at all are held against what the library announces without computing. Nobody is asked about what
libraries leave open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from ..core.arrays import dtype_name
from ..core.case import Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Judged as JudgedCase
from ..core.oracle import Seen
from ..core.outcome import Outcome, Status
from ..core.rows import one_row
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from .base import Asking, Steps, Stepwise
from .call_rows import Row, rows_of
from .measure.call_freedoms import determined_output, freedom_of_call, is_ill_conditioned
from .same_call_forms import by_announced_form, refused_by_few
from .same_call_values import Rows, WrongTargets, by_values, first_difference
from .statements import BY_NOTHING
from .subjects import api_of, call_parameters

#: So many rows of one case are looked into.
_LOOKED_INTO = 2
#: So many targets have to answer before one that answers otherwise is doubted; not all have gradients.
_ENOUGH, _ENOUGH_GRADIENTS = 3, 2
#: Some backends take what is smaller for zero.
_SMALLEST = 1.2e-38


class SameCall(Stepwise):
    """Targets against each other, judged by float64 runs of two that agree."""

    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        ran = {target: outcome for target, outcome in seen.own.items() if _says_something(outcome)}
        crashed = tuple(target for target, outcome in ran.items() if outcome.status is Status.CRASHED)
        if crashed and len(ran) > len(crashed):
            said = f"{', '.join(crashed)} alone dies: {ran[crashed[0]].status.value}"
            return _convicted(seen, None, WrongTargets(crashed, said, Kind.CRASH, BY_NOTHING))
        rows = {target: rows_of(seen.case, outcome) for target, outcome in ran.items() if target not in crashed}
        enough = _ENOUGH_GRADIENTS if seen.case.procedure.derivative else _ENOUGH
        if sum(outcome.completed for outcome in ran.values()) < enough:
            return JudgedCase((_verdict(seen.targets, Judgement.UNDECIDED, "too few targets answer"),))
        doubted = 0
        for place, case in _each(seen.case):
            answers = {target: own[place] for target, own in rows.items()}
            if doubted >= _LOOKED_INTO or sum(row.failure is None for row in answers.values()) < enough:
                continue
            doubted += _is_doubted(case, answers)
            wrong = yield from _wrong(seen, case, place, rows)
            if wrong is not None:
                return _convicted(seen, place if seen.case.procedure.rows is not None else None, wrong)
        said = "rounding, or nobody can tell, explains what differs" if doubted else "all targets agree"
        return JudgedCase((_verdict(seen.targets, Judgement.PASS, said),))


def _says_something(outcome: Outcome) -> bool:
    """Limits of ours, and what a target cannot be asked, say nothing."""
    return outcome.status in (Status.COMPLETED, Status.RAISED, Status.CRASHED)


def _each(case: Case) -> Iterator[tuple[int, Case]]:
    if case.procedure.rows is None:
        yield 0, case
    else:
        yield from ((place, one_row(case, place)) for place in range(case.procedure.rows))


def _is_doubted(case: Case, answers: Mapping[str, Row]) -> bool:
    return first_difference(answers, _fixed(case)) is not None


def _fixed(case: Case) -> str | None:
    """Of a call that is free in all others, the result that has a right value."""
    return determined_output(case) if freedom_of_call(case) else None


def _wrong(seen: Seen, case: Case, place: int, rows: Mapping[str, Rows]) -> Asking[WrongTargets | None]:
    answers = {target: own[place] for target, own in rows.items()}
    free = bool(freedom_of_call(case))
    if not free:
        refused = yield from refused_by_few(case, answers)
        if refused is not None:
            return refused
    formed = yield from by_announced_form(case, answers)
    if formed is not None or _is_open(case, free):
        return formed
    return (yield from by_values(seen.case, case, place, rows, _fixed(case)))


def _is_open(case: Case, free: bool) -> bool:
    """The documentation leaves it open, or backends differ there by design."""
    if free and determined_output(case) is None:
        return True
    if any(dtype_name(array) in ("float64", "complex128") for array in case.inputs.values()):
        return True  # some compute it in 32 bits
    if is_ill_conditioned(case):
        return True
    floats = [abs(array.astype("float64")) for array in case.inputs.values() if array.dtype.kind == "f"]
    return any(bool(((array > 0) & (array < _SMALLEST)).any()) for array in floats)


def _convicted(seen: Seen, row: int | None, wrong: WrongTargets) -> JudgedCase:
    case, said = seen.case, wrong.said
    evidence = tuple(
        observed("breaks-rule", target=target, rule="other-backends", how=said) for target in wrong.targets
    )
    diagnosis = Diagnosis(
        Class.DEFECT,
        wrong.targets,
        api=api_of(case, seen.traits, wrong.targets),
        parameters=call_parameters(case),
        evidence=evidence,
        measure=Measure("difference", wrong.apart) if wrong.apart is not None else None,
    )
    stage = Stage.BACKWARD if wrong.name.startswith("gradient:") else Stage.CALL
    suspicion = Suspicion(wrong.kind, diagnosis, case, seen.targets, "", stage, oracle="same_call", row=row)
    verdict = _verdict(wrong.targets, Judgement.FAIL, said)
    return JudgedCase((replace(verdict, kind=wrong.kind, judged_by=wrong.judged_by, stage=stage),), (suspicion,))


def _verdict(targets: tuple[str, ...], judgement: Judgement, said: str) -> Verdict:
    return Verdict(judgement, targets, said, stage=Stage.CALL)
