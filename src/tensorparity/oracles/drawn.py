"""What a function of ``keras.random`` draws: repeated by its seed; of the documented form, range, mean and variance.

Means and variances are held against the documentation within six standard errors, which chance leaves once in a
thousand million.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall, ArrayArg, TupleArg
from ..core.case import Case
from ..core.channels import same
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.jsontext import Json
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Outcome, Status
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.functions.distributions import Distribution, distribution_of
from .measure.lacking import lacks
from .statements import BY_REFERENCE

#: Standard errors that a mean and a variance may be off.
SIGMAS = 6.0
#: Fewer numbers say nothing of their mean.
_ENOUGH = 256
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
    calls = [call for call in seen.case.subject.args if isinstance(call, ApiCall)]  # type: ignore[union-attr]
    if outcome.status is Status.RAISED and outcome.failure is not None and not lacks(outcome.failure):
        said = f"raises {outcome.failure.type}: {outcome.failure.message[:200]}"
        return _convicted(seen, target, calls[0], said, Kind.ERROR)
    if not outcome.completed or not calls:
        return Verdict(Judgement.UNDECIDED, (target,), f"{target} draws nothing", stage=Stage.CALL), None
    outputs = [outcome.outputs[name] for name in sorted(outcome.outputs, key=int)]
    wrong = _of_several(calls, outputs)
    for call, output in zip(calls, outputs, strict=False):
        wrong = wrong or _of_one(call, output, seen.case)
    if wrong is None:
        return Verdict(Judgement.PASS, (target,), "drawn as documented", stage=Stage.CALL), None
    return _convicted(seen, target, calls[0], *wrong)


def _of_several(calls: list[ApiCall], outputs: list[Array]) -> tuple[str, Kind] | None:
    """One seed gives one result; another seed gives another one, where there are enough numbers to tell."""
    first = calls[0].kwargs.get("seed")
    if first is None or len(calls) != len(outputs):
        return None
    for call, output in zip(calls[1:], outputs[1:], strict=True):
        alike = output.shape == outputs[0].shape and bool(same(output, outputs[0]).all())
        if call.kwargs.get("seed") == first and call.kwargs == calls[0].kwargs and not alike:
            return "the same seed gives other numbers", Kind.INCONSISTENCY
        if call.kwargs.get("seed") not in (first, None) and alike and np.unique(output).size > 2:
            return "another seed gives the same numbers", Kind.INCONSISTENCY
    return None


def _of_one(call: ApiCall, output: Array, case: Case) -> tuple[str, Kind] | None:
    given = {name: _argument(value, case) for name, value in call.kwargs.items()}
    wanted = distribution_of(call.api, given)
    if wanted is None:
        return None
    shape = _shape(call.api, given)
    if shape is not None and output.shape != shape:
        return f"shape {output.shape} where {shape} is asked for", Kind.SHAPE
    dtype = _dtype(call.api, given)
    if dtype_name(output) not in (dtype, _NARROWED.get(dtype, dtype)):
        return f"dtype {dtype_name(output)} where {dtype} is asked for", Kind.DTYPE
    return _of_numbers(output, wanted)


def _argument(value: Any, case: Case) -> Any:
    if isinstance(value, ArrayArg):
        return case.inputs[value.name]
    return tuple(value.items) if isinstance(value, TupleArg) else value


def _shape(api: str, given: Mapping[str, Any]) -> tuple[int, ...] | None:
    if "shape" in given:
        return tuple(given["shape"])
    if "logits" in given and "num_samples" in given:
        return (given["logits"].shape[0], given["num_samples"])
    array = given.get("inputs", given.get("x"))
    return array.shape if isinstance(array, np.ndarray) else None


def _dtype(api: str, given: Mapping[str, Any]) -> str:
    array = given.get("inputs", given.get("x"))
    if isinstance(array, np.ndarray):
        return dtype_name(array)
    whole = "logits" in given or api.endswith(".randint")
    return str(given.get("dtype") or ("int32" if whole else "float32"))


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


def _convicted(seen: Seen, target: str, call: ApiCall, said: str, kind: Kind) -> tuple[Verdict, Suspicion]:
    given: dict[str, Json] = {
        name: list(value.items) if isinstance(value, TupleArg) else value
        for name, value in call.kwargs.items()
        if not isinstance(value, ArrayArg)
    }
    evidence = (observed("breaks-rule", target=target, rule="random-properties", how=said),)
    diagnosis = Diagnosis(Class.DEFECT, (target,), api=call.api, parameters=given, evidence=evidence)
    suspicion = Suspicion(kind, diagnosis, seen.case, seen.targets, "", Stage.CALL, oracle="drawn")
    verdict = Verdict(Judgement.FAIL, (target,), said, Measure("sigmas", SIGMAS), kind=kind, stage=Stage.CALL)
    return replace(verdict, judged_by=BY_REFERENCE), suspicion
