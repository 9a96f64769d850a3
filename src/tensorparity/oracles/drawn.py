"""What Keras draws, fills variables with and keeps in them: of the documented form, range, mean and variance.

One seed gives one result. What is not drawn is exactly what was asked for.

Means and variances are held against the documentation within six standard errors, which chance leaves once in a
thousand million.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall
from ..core.channels import distance, same
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.jsontext import Json
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Outcome, Status
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.functions.distributions import Distribution
from ..operators.functions.drawn_calls import DrawnCall, drawn_call
from .measure.lacking import lacks
from .statements import BY_REFERENCE

#: Standard errors that a mean and a variance may be off.
SIGMAS = 6.0
#: Fewer numbers say nothing of their mean.
_ENOUGH = 256
#: Units of rounding that an orthogonal matrix may be off, for each of its rows and columns.
_ROUNDED = 16
_NARROWED = {"float64": "float32", "int64": "int32"}


class Drawn:
    """Every target is judged alone."""

    settings: tuple[str, ...] = ()

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        found = [_judged(seen, target, outcome) for target, outcome in seen.own.items()]
        suspicions = tuple(suspicion for _, suspicion in found if suspicion is not None)
        return Judged(tuple(verdict for verdict, _ in found), suspicions)


def _judged(seen: Seen, target: str, outcome: Outcome) -> tuple[Verdict, Suspicion | None]:
    called = [call for call in seen.case.subject.args if isinstance(call, ApiCall)]  # type: ignore[union-attr]
    calls = [drawn_call(call, seen.case.inputs) for call in called]
    if outcome.status is Status.RAISED and outcome.failure is not None and not lacks(outcome.failure):
        said = f"raises {outcome.failure.type}: {outcome.failure.message[:200]}"
        return _convicted(seen, target, calls[0], said, Kind.ERROR)
    if not outcome.completed or not calls:
        return Verdict(Judgement.UNDECIDED, (target,), f"{target} draws nothing", stage=Stage.CALL), None
    outputs = [outcome.outputs[name] for name in sorted(outcome.outputs, key=int)]
    wrong, guilty = _of_several(calls, outputs), calls[0]
    for call, output in zip(calls, outputs, strict=False):
        wrong, guilty = (wrong, guilty) if wrong else (_of_one(call, output), call)
    if wrong is None:
        return Verdict(Judgement.PASS, (target,), "drawn as documented", stage=Stage.CALL), None
    return _convicted(seen, target, guilty, *wrong)


def _of_several(calls: list[DrawnCall], outputs: list[Array]) -> tuple[str, Kind] | None:
    """One seed gives one result; another seed gives another one, where there are enough numbers to tell."""
    first = calls[0].seed
    if first is None or len(calls) != len(outputs):
        return None
    for call, output in zip(calls[1:], outputs[1:], strict=True):
        alike = output.shape == outputs[0].shape and bool(same(output, outputs[0]).all())
        if call.seed == first and _same_arguments(call, calls[0]) and not alike:
            return "the same seed gives other numbers", Kind.INCONSISTENCY
        if call.seed not in (first, None) and alike and np.unique(output).size > 2:
            return "another seed gives the same numbers", Kind.INCONSISTENCY
    return None


def _same_arguments(one: DrawnCall, other: DrawnCall) -> bool:
    """Arrays are the case's, and so the same."""
    plain = [{n: v for n, v in call.given.items() if not isinstance(v, np.ndarray)} for call in (one, other)]
    return plain[0] == plain[1]


def _of_one(call: DrawnCall, output: Array) -> tuple[str, Kind] | None:
    if call.wanted is None:
        return None
    if call.shape is not None and output.shape != call.shape:
        return f"shape {output.shape} where {call.shape} is asked for", Kind.SHAPE
    if dtype_name(output) not in (call.dtype, _NARROWED.get(call.dtype, call.dtype)):
        return f"dtype {dtype_name(output)} where {call.dtype} is asked for", Kind.DTYPE
    if call.wanted.exactly is not None:
        return _of_value(output, call.wanted.exactly)
    if call.wanted.orthogonal is not None:
        return _of_angles(output, call.wanted.orthogonal)
    return _of_numbers(output, call.wanted)


def _of_value(output: Array, exactly: Array) -> tuple[str, Kind] | None:
    unit = unit_roundoff(dtype_name(output))
    apart = distance(output.astype(np.float64), exactly) > 2 * unit * np.abs(exactly)
    if not apart.any():
        return None
    place = np.unravel_index(int(np.argmax(apart)), apart.shape) if apart.ndim else ()
    where = f" at {[int(part) for part in place]}" if place else ""
    return f"{float(output[place]):.9g} where {float(exactly[place]):.9g} is right{where}", Kind.INCONSISTENCY


def _of_angles(output: Array, gain: float) -> tuple[str, Kind] | None:
    """The products of the fewer of rows and columns are those of unit vectors, times the square of their length."""
    flat = output.astype(np.float64).reshape(-1, output.shape[-1])
    rows = flat if flat.shape[0] <= flat.shape[1] else flat.T
    off = float(np.abs(rows @ rows.T - gain**2 * np.eye(len(rows))).max(initial=0.0))
    if off <= _ROUNDED * unit_roundoff(dtype_name(output)) * gain**2 * max(flat.shape):
        return None
    return f"rows or columns that are {off:.3g} away from being orthogonal, of length {abs(gain):g}", Kind.INCONSISTENCY


def _of_numbers(output: Array, wanted: Distribution) -> tuple[str, Kind] | None:
    wide = output.astype(np.float64)
    name = dtype_name(output)
    unit = unit_roundoff(name) if is_floating(name) else 0.0
    slack = 4 * unit * max(1.0, *(abs(end) for end in (wanted.low, wanted.high) if np.isfinite(end)), 0.0)
    if not np.isfinite(wide).all():
        return "NaN or infinity among the numbers", Kind.NAN
    if (wide < wanted.low - slack).any() or (wide > wanted.high + slack).any():
        return f"from {wide.min():.6g} to {wide.max():.6g}, beyond [{wanted.low}, {wanted.high}]", Kind.INCONSISTENCY
    if wanted.open_end and unit and unit <= 1e-6 and (wide >= wanted.high).any():
        return f"{wanted.high} is drawn, which the range excludes", Kind.INCONSISTENCY
    if wanted.whole and (wide != np.rint(wide)).any():
        return "numbers that are not whole", Kind.INCONSISTENCY
    if wanted.shuffled is not None:
        alike = wide.shape == wanted.shuffled.shape and bool(
            (np.sort(wide, None) == np.sort(wanted.shuffled, None)).all()
        )
        return None if alike else ("other numbers than were shuffled", Kind.INCONSISTENCY)
    return _of_moments(wide, wanted, unit) if wide.size >= _ENOUGH else None


def _of_moments(wide: Array, wanted: Distribution, unit: float) -> tuple[str, Kind] | None:
    count, mean = wide.size, float(wide.mean())
    variance = float(np.mean((wide - wanted.mean) ** 2))
    fourth = float(np.mean((wide - wanted.mean) ** 4))
    rounding = 2 * unit * (abs(wanted.mean) + wanted.variance**0.5)
    if abs(mean - wanted.mean) > SIGMAS * (wanted.variance / count) ** 0.5 + rounding:
        return f"mean {mean:.6g} where {wanted.mean:.6g} is documented, over {count} numbers", Kind.INCONSISTENCY
    error = (max(fourth - wanted.variance**2, 0.0) / count) ** 0.5
    if abs(variance - wanted.variance) > SIGMAS * error + 2 * rounding * wanted.variance**0.5:
        return f"variance {variance:.6g} where {wanted.variance:.6g} is documented", Kind.INCONSISTENCY
    return None


def _convicted(seen: Seen, target: str, call: DrawnCall, said: str, kind: Kind) -> tuple[Verdict, Suspicion]:
    given: dict[str, Json] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in call.given.items()
        if not isinstance(value, np.ndarray)
    }
    if call.api.startswith("keras.random."):
        told = observed("breaks-rule", target=target, rule="random-properties", how=said)
    else:
        told = observed("filled-otherwise", target=target, api=call.api, how=said)
    diagnosis = Diagnosis(Class.DEFECT, (target,), api=call.api, parameters=given, evidence=(told,))
    suspicion = Suspicion(kind, diagnosis, seen.case, seen.targets, "", Stage.CALL, oracle="drawn")
    verdict = Verdict(Judgement.FAIL, (target,), said, Measure("sigmas", SIGMAS), kind=kind, stage=Stage.CALL)
    return replace(verdict, judged_by=BY_REFERENCE), suspicion
