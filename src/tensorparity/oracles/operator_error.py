"""The oracles of an operator's call: how wrong each stacked input is, and who is to blame for it (decision 5).

``precision`` measures and blames. ``operator_errors`` only measures, and blames who raised, crashed, hung or answered
in a wrong form: a search asks it batch by batch, and ``precision`` about the worst inputs in the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.closeup import Closeup, closeup_of
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Judged, Seen
from ..core.rows import all_alike, one_row, row_count
from ..core.suspicion import Suspicion, WorstElement
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.functions.native import case_operator, native_name, shared_inputs
from ..operators.functions.spec import Operator
from ..operators.reference.rounding import K
from .base import Steps, Stepwise
from .both_ways import answered_both_ways
from .defined_elsewhere import defined_elsewhere, limited_words, overflow_words
from .kinds import OPERATORS
from .measure.node_errors import relative_error
from .measure.operator_errors import measure_targets
from .measure.special_values import special, wrong_elements
from .operator_blame import CallBlame, best_truth, blame_call
from .operator_endings import accused_endings
from .operator_notes import Notes, note

#: The name under which an operator's suspicion is confirmed, reduced and replayed.
PRECISION = "precision"
MEASURE = "error-in-roundoffs"
#: What an infinite error counts as where a number is needed.
_MOST = 1e30
#: Implementations that are asked along with the suspects when a suspicion is checked again.
_WITNESSES = 2


class OperatorError(Stepwise):
    """Measures every row on every target, and blames who is beyond the bound on the worst row."""

    settings: ClassVar[tuple[str, ...]] = ()

    role = OPERATORS

    def steps(self, seen: Seen) -> Steps:
        return (yield from judge_operator(seen))


class OperatorMeasures(Stepwise):
    """Measures every row on every target; blames nobody for numbers."""

    settings: ClassVar[tuple[str, ...]] = ()

    only_measures = True

    def steps(self, seen: Seen) -> Steps:
        return (yield from judge_operator(seen, numbers=False))


def judge_operator(seen: Seen, *, numbers: bool = True) -> Steps:
    """The judgement of one call of an operator.

    Args:
        numbers: also blame who answers beyond the bound; without, all measures are given, for whoever searches.
    """
    operator = case_operator(seen.case)
    if operator is None:
        assert isinstance(seen.case.subject, ApiCall)
        reason = f"{seen.case.subject.api} is no operator"
        return Judged((Verdict(Judgement.UNDECIDED, seen.targets, reason, stage=Stage.CALL),))
    noted = note(operator, seen.case, seen.own, seen.traits)
    accused = list(_accused(noted)) if numbers else []
    suspicions = [item.suspicion() for item in accused]
    if numbers and not suspicions and operator.is_free:
        found = yield from answered_both_ways(seen, {t: noted.outcomes[t] for t in noted.answered})
        suspicions += [_named(noted, suspicion) for suspicion in found]
    suspicions += yield from accused_endings(noted)
    suspicions = [replace(suspicion, oracle=PRECISION) for suspicion in suspicions]
    told = {**noted.facts, "finite": [item.target for item in accused if item.finite]}
    measures = {"units": _limited(noted.measures["units"])} if numbers else noted.measures
    return Judged((_verdict(noted, suspicions),), tuple(suspicions), measures=measures, told=told)


def _limited(units: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """As they are stored: JSON knows no infinities."""
    return {target: [min(unit, _MOST) for unit in found] for target, found in units.items()}


@dataclass(frozen=True)
class _Accused:
    """A target that is beyond the bound on one row, with what every target made of that row."""

    noted: Notes
    target: str
    row: int
    alone: Case
    outputs: Mapping[str, Array]
    blame: CallBlame
    defined: Evidence | None = None

    @property
    def operator(self) -> Operator:
        return self.noted.operator

    @property
    def is_special(self) -> bool:
        return special(list(self.alone.inputs.values()))

    @property
    def finite(self) -> bool:
        """Whether a finite number came out where another one should."""
        place = self.place
        return math.isfinite(self.said(self.target, place)) and math.isfinite(self.true_value(place))

    @property
    def place(self) -> int:
        """The worst number of the row's output, in its flat order."""
        operator, output, dtype = self.operator, self.outputs[self.target], self.noted.dtype
        arrays, params = operator.operand_arrays(self.alone.inputs), _params(self.alone)
        if self.is_special:
            return int(np.argmax(wrong_elements(operator, params, arrays, output, dtype).ravel()))
        truth = best_truth(operator, params, arrays, dtype)
        return int(measure_targets(operator, self.outputs, truth, dtype, self.noted.traits)[self.target].place[0])

    def said(self, target: str, place: int) -> float:
        return float(self.outputs[target].ravel()[place])

    def true_value(self, place: int) -> float:
        return float(self._truth.ravel()[place])

    @property
    def overflow(self) -> str:
        """The documentation's words, where an infinity came out early and that is what they say."""
        place, target = self.place, self.target
        said, true = self.said(target, place), self.true_value(place)
        return overflow_words(self.operator, target, self.noted.traits, said, true, self.noted.dtype)

    @property
    def relative(self) -> float | None:
        """The largest error of the row as a share of its largest number."""
        with np.errstate(all="ignore"):
            return relative_error(self.outputs[self.target], self._truth)

    @property
    def _truth(self) -> Array:
        arrays = self.operator.operand_arrays(self.alone.inputs)
        truth = best_truth(self.operator, _params(self.alone), arrays, self.noted.dtype)
        return np.broadcast_to(truth.value, self.outputs[self.target].shape)

    def closeup(self, index: tuple[int, ...]) -> Closeup | None:
        found = closeup_of(self.outputs[self.target], self._truth, index) if index else None
        return replace(found, target=self.target) if found else None

    def suspicion(self) -> Suspicion:
        noted, blame = self.noted, self.blame
        freedom = _freedom(self)
        assert blame.klass is not None
        klass = Class.SPECIFICATION if (freedom or self.defined) and blame.klass is Class.DEFECT else blame.klass
        place = self.place
        shape = self.outputs[self.target].shape
        index = tuple(int(part) for part in np.unravel_index(place, shape)) if self.outputs[self.target].size else ()
        diagnosis = Diagnosis(
            klass=klass,
            suspects=blame.suspects,
            api=native_name(self.operator, noted.traits[self.target].calls, self.alone),
            parameters={"dtype": noted.dtype, **_params(self.alone)},
            evidence=(*_evidence(self, place), *_excuses(self.defined, freedom)),
            measure=Measure(MEASURE, blame.units[self.target]),
            threshold=K,
            relative=self.relative,
            closeup=self.closeup(index),
        )
        targets = (*(blame.suspects or tuple(blame.units)), *blame.within[:_WITNESSES])
        shared = shared_inputs(noted.case)
        alone = row_count(noted.case, shared) == 1 or all_alike(noted.case, shared)
        return Suspicion(
            _kind(blame, self.target),
            diagnosis,
            noted.case,
            targets,
            stage=Stage.CALL,
            features=special_features(self.alone),
            worst=WorstElement((self.row, *index[1:])) if index else None,
            row=None if alone else self.row,
        )


def _named(noted: Notes, suspicion: Suspicion) -> Suspicion:
    """A suspicion that another rule raised, under the name and parameters of the operator's findings."""
    (target,), own = suspicion.diagnosis.suspects, _params(suspicion.case)
    api = native_name(noted.operator, noted.traits[target].calls, suspicion.case)
    named = replace(suspicion.diagnosis, api=api, parameters={"dtype": noted.dtype, **own})
    return replace(suspicion, diagnosis=named, features=special_features(suspicion.case))


def _params(case: Case) -> dict[str, object]:
    assert isinstance(case.subject, ApiCall)
    return dict(case.subject.kwargs)


def _accused(noted: Notes) -> Iterator[_Accused]:
    """One per implementation: on the target that is furthest off, and of those that are blamed the first.

    Where all are ill-conditioned, one remark on the operator, not one per library.
    """
    rows = {target: int(np.argmax(errors.units)) for target, errors in noted.errors.items() if len(errors)}
    beyond = [target for target in rows if noted.errors[target].units[rows[target]] > K]
    ranked = sorted(beyond, key=lambda target: -float(noted.errors[target].units[rows[target]]))
    guilty = list(_first_guilty(noted, ranked, rows))
    defects = [item for item in guilty if item.blame.klass is Class.DEFECT]
    yield from defects or guilty[:1]
    special_rows = {target: row for target in noted.wrong if (row := noted.special_row(target)) is not None}
    yield from _first_guilty(noted, list(special_rows), special_rows)


def _first_guilty(noted: Notes, targets: Sequence[str], rows: Mapping[str, int]) -> Iterator[_Accused]:
    """Of each implementation the first defect; without any, the first that is ill-conditioned."""
    by_code: dict[str, list[str]] = {}
    for target in targets:
        by_code.setdefault(noted.traits.implementation(target, noted.operator.name), []).append(target)
    for group in by_code.values():
        found = [item for target in group if (item := _blamed(noted, target, rows[target])) is not None]
        defects = [item for item in found if item.blame.klass is Class.DEFECT]
        yield from (defects or found)[:1]


def _blamed(noted: Notes, target: str, row: int) -> _Accused | None:
    alone = one_row(noted.case, row, shared_inputs(noted.case))
    outputs: dict[str, Array] = {name: output[row : row + 1] for name, output in noted.outputs.items()}
    blame = blame_call(noted.operator, alone, noted.dtype, outputs, target, noted.traits)
    if blame.klass is None:
        return None
    elsewhere = defined_elsewhere(noted.operator, alone, outputs, target, noted.traits)
    return _Accused(noted, target, row, alone, outputs, blame, elsewhere if blame.klass is Class.DEFECT else None)


def _excuses(defined: Evidence | None, freedom: str | None) -> list[Evidence | str]:
    said: list[Evidence | str] = [defined] if defined else []
    return [*said, *([f"documented: {freedom}"] if freedom else [])]


def _kind(blame: CallBlame, target: str) -> Kind:
    return Kind.NAN if math.isinf(blame.units.get(target, 0.0)) else Kind.PRECISION


def _freedom(item: _Accused) -> str | None:
    """A freedom of the library that is called, or of the one that computes for it (torch under Keras).

    Those of finite inputs are about constants and cut-offs that only float64 can see; what the documentation says of
    cancellation holds for every finite answer.
    """
    limited = limited_words(item.operator, item.target, item.noted.traits)
    if limited and not item.is_special and item.finite:
        return limited
    if not item.is_special and (overflow := item.overflow):
        return overflow
    if not (item.noted.dtype == "float64" or item.is_special):
        return None
    unlike = item.operator.unlike_special if item.is_special else item.operator.unlike
    traits: Traits = item.noted.traits
    return unlike.get(traits[item.target].calls) or unlike.get(traits.implementation(item.target, item.operator.name))


def special_features(case: Case) -> tuple[str, ...]:
    """NaN and infinities are another defect than an early overflow, whose answer looks alike."""
    flat = np.concatenate([array.astype(np.float64).ravel() for array in case.inputs.values()])
    return tuple(name for name, found in (("nan", np.isnan(flat)), ("infinity", np.isinf(flat))) if found.any())


def _evidence(item: _Accused, place: int) -> list[Evidence | str]:
    target, blame, dtype = item.target, item.blame, item.noted.dtype
    whole = item.is_special
    called = f"{item.operator.name}({_shown(item.alone)})"
    value, said = item.true_value(place), item.said(target, place)
    ratio = None if whole else blame.units[target]
    shown = {"observed": _number(said), "expected": _number(value), "ratio": None if ratio is None else _number(ratio)}
    says = observed("says", called=called, target=target, dtype=dtype, **shown)
    first = replace(says, text=f"{called} is wrong on {target}")
    lines: list[Evidence | str] = [first]
    for other in blame.within:
        times = "" if whole else f" ({blame.units[other]:.2g} times)"
        lines.append(f"{other} says {item.said(other, place):.9g}{times}")
    if not blame.within and blame.klass is Class.DEFECT:
        lines.append(f"no other implementation was within the bound; the formula evaluated stably in {dtype} is")
    if blame.note:
        lines.append(blame.note)
    return [*lines, f"formula: {item.operator.formula}"]


def _number(value: float) -> float | str:
    """As JSON has it, where what is not finite is a word, and equal to itself."""
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"


def _shown(case: Case) -> str:
    """The inputs as numbers, where they are few."""
    parts = []
    for name, array in case.inputs.items():
        flat = array.astype(np.float64).ravel()
        numbers = ", ".join(f"{value:.9g}" for value in flat[:4].tolist())
        more = f", … {flat.size} numbers" if flat.size > 4 else ""
        parts.append(f"{numbers}{more}" if len(case.inputs) == 1 else f"{name}={numbers}{more}")
    return "; ".join(parts)


def _verdict(noted: Notes, suspicions: Sequence[Suspicion]) -> Verdict:
    wrong = any(rows.any() for rows in noted.wrong.values())
    errors = [float(found.units.max(initial=0.0)) for found in noted.errors.values()]
    largest = min(max([*errors, math.inf if wrong else 0.0]), _MOST)
    measure, everybody = Measure(MEASURE, largest), tuple(noted.outcomes)
    defects = [suspicion for suspicion in suspicions if suspicion.diagnosis.klass is Class.DEFECT]
    if defects:
        reason = str(defects[0].diagnosis.observations[0])
        return Verdict(Judgement.FAIL, everybody, reason, measure, K, defects[0].kind, Stage.CALL)
    if not noted.answered:
        reasons = sorted({problem.why for problem in noted.problems.values()})
        return Verdict(Judgement.UNDECIDED, everybody, "; ".join(reasons) or "no target answered")
    if wrong:
        reason = "NaN or infinities are answered in several ways, and no implementation is known to be wrong"
        return Verdict(Judgement.UNDECIDED, everybody, reason, measure, K, Kind.NAN, Stage.CALL)
    kind = Kind.PRECISION if largest > K else None
    return Verdict(Judgement.PASS, noted.answered, "within what rounding explains", measure, K, kind, Stage.CALL)
