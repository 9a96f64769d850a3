"""Two sides of one case that must agree, each target for itself: outputs, gradients, and whether it answers at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ..core.arrays import Array, dtype_name
from ..core.case import ApiCall, Case
from ..core.endings import DEADLY, KIND_OF_ENDING, ended_badly
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.oracle import Judged, Seen
from ..core.outcome import Outcome
from ..core.rule import RULES
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.functions.native import case_operator
from ..operators.reference.rounding import K
from ..operators.spec import Evaluation
from .base import Steps, Stepwise
from .call_equivalence import CallEquivalence
from .failures import in_words
from .measure.backward import Differentiated, judge_gradients, loss_function, pulled_back
from .measure.documented_freedoms import as_specification, freedom_of
from .measure.export_failures import as_failed_export, as_other_answer, export_form
from .measure.node_errors import VOTE_MARGIN, reference_error
from .measure.roundoff import SCREEN, nonfinite_pattern_differs, output_units
from .measure.support import classify_failure, is_documented
from .references import references
from .statements import BY_NOTHING, BY_REFERENCE, BY_SUBGRADIENT
from .subjects import api_of, node_key, only_layer, parameters_of, stage_of

#: Outputs without a reference agree up to so many roundoffs of their scale: the two sides round at other places.
APART = SCREEN * VOTE_MARGIN

_SIDES = ("the case", "its counterpart")


@dataclass(frozen=True)
class _Compared:
    """What was found of one pair of arrays, or of two endings: that they agree, differ, or that nobody can tell."""

    judgement: Judgement
    said: str
    judged_by: str = BY_NOTHING
    measure: Measure | None = None
    threshold: float | None = None
    stage: Stage | None = None
    ended: Outcome | None = None


class EquivalenceOracle(Stepwise):
    """Every target is judged alone: its two answers must agree, whatever the others say."""

    #: What it judges; the paper's rule judges that in its place.
    role = "equivalences"
    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        if is_plain_call(seen.case):
            return (yield from CallEquivalence(self.setup).steps(seen))
        first, second = seen.case.sides()
        truths = [_truth(first), _truth(second)]
        verdicts, suspicions = [], []
        for target in seen.targets:
            compared = _compare(first, second, truths, seen.outcomes[0][target], seen.outcomes[1][target])
            found = _suspicion(seen, target, compared) if compared.judgement is Judgement.FAIL else None
            suspicions += [found] if found else []
            verdicts.append(_verdict(seen.case, target, compared, found))
        return Judged(tuple(verdicts), tuple(suspicions))


def is_plain_call(case: Case) -> bool:
    """A call that no operator of the catalogue stands behind, by a rule that is known."""
    rule = case.counterpart.rule if case.counterpart else ""
    return isinstance(case.subject, ApiCall) and case_operator(case) is None and rule in RULES and bool(rule)


def _truth(side: Case) -> list[Evaluation]:
    """The true outputs of a call or of one layer; of several layers the bound would be the last one's alone."""
    one = isinstance(side.subject, ApiCall) or only_layer(side) is not None
    return list(references(side).values()) if one and not side.procedure.training else []


def _compare(first: Case, second: Case, truths: list[list[Evaluation]], one: Outcome, other: Outcome) -> _Compared:
    if not (one.completed and other.completed):
        return _endings(one, other)
    found = [*_outputs(first, second, truths, one, other), *_gradients(first, second, one, other)]
    failed = next((item for item in found if item.judgement is Judgement.FAIL), None)
    undecided = next((item for item in found if item.judgement is Judgement.UNDECIDED), None)
    nothing = _Compared(Judgement.UNDECIDED, "neither side gave any output")
    return failed or undecided or max(found, key=_size, default=nothing)


def _size(compared: _Compared) -> float:
    return compared.measure.value if compared.measure else 0.0


def _endings(one: Outcome, other: Outcome) -> _Compared:
    """Accepted on one side and refused on the other is a difference; refused on both says nothing."""
    sides = dict(zip(_SIDES, (one, other), strict=True))
    told = "; ".join(f"{name}: {outcome.status.value}" for name, outcome in sides.items())
    ended = next((outcome for outcome in sides.values() if ended_badly(outcome)), None)
    if ended is None or not (one.completed or other.completed):
        return _Compared(Judgement.UNDECIDED, f"{one.target} completes neither side, or cannot ({told})")
    name = next(name for name, outcome in sides.items() if outcome is ended)
    return _Compared(Judgement.FAIL, f"{in_words(one.target, ended)}, on {name} alone", ended=ended)


# Outputs


def _outputs(
    first: Case, second: Case, truths: list[list[Evaluation]], one: Outcome, other: Outcome
) -> Iterator[_Compared]:
    """The outputs in their order: the two sides may call them by other names."""
    if len(one.outputs) != len(other.outputs):
        yield _Compared(Judgement.FAIL, f"{len(one.outputs)} outputs on one side, {len(other.outputs)} on the other")
        return
    same_names = set(one.outputs) == set(other.outputs)
    for place, name in enumerate(one.outputs):
        a, b = one.outputs[name], other.outputs[name] if same_names else list(other.outputs.values())[place]
        known = [truth[place] if place < len(truth) else None for truth in truths]
        yield _form(name, a, b, first, second) or _values(name, a, b, known)


def _form(name: str, a: Array, b: Array, first: Case, second: Case) -> _Compared | None:
    """Another shape, dtype or pattern of NaN; the dtype matters only where both sides run under one policy."""
    if a.shape != b.shape:
        return _Compared(Judgement.FAIL, f"output {name}: shapes {a.shape} and {b.shape}")
    if dtype_name(a) != dtype_name(b) and first.procedure.dtype == second.procedure.dtype:
        return _Compared(Judgement.FAIL, f"output {name}: dtypes {dtype_name(a)} and {dtype_name(b)}")
    if nonfinite_pattern_differs(a, b):
        return _Compared(Judgement.FAIL, f"output {name}: NaN or infinity on one side only")
    return None


def _values(name: str, a: Array, b: Array, known: list[Evaluation | None]) -> _Compared:
    if any(truth is not None and truth.value.shape == a.shape for truth in known):
        return _by_truth(name, a, b, known)
    units = output_units(a, b)
    measure, apart = Measure("roundoff", units), f"output {name}: {units:.3g} roundoffs of its scale apart"
    return _Compared(Judgement.FAIL if units > APART else Judgement.PASS, apart, BY_NOTHING, measure, APART)


def _by_truth(name: str, a: Array, b: Array, known: list[Evaluation | None]) -> _Compared:
    """Decision 5 on both sides; a side without a reference of its own is measured by the other's, with a margin."""
    first, second = known
    errors = (_units(a, first, second), _units(b, second, first))
    measure = Measure("error-in-roundoffs", max(errors))
    said = f"output {name}: " + ", ".join(f"{side} {e:.3g} units" for side, e in zip(_SIDES, errors, strict=True))
    wrong = [error for error in errors if error > K]
    alike = len(wrong) == len(errors)
    if not wrong or (alike and output_units(a, b) <= SCREEN):
        return _Compared(Judgement.PASS, said, BY_REFERENCE, measure, K)
    if alike:
        return _Compared(Judgement.UNDECIDED, f"{said}: neither is as the reference says", BY_REFERENCE, measure, K)
    return _Compared(Judgement.FAIL, said, BY_REFERENCE, measure, K)


def _units(output: Array, own: Evaluation | None, other: Evaluation | None) -> float:
    if own is not None:
        return reference_error([output], [own])
    assert other is not None
    return reference_error([output], [other]) / VOTE_MARGIN


# Gradients


def _gradients(first: Case, second: Case, one: Outcome, other: Outcome) -> Iterator[_Compared]:
    """Gradients that both sides have; at a kink both may be right and differ."""
    common = [
        name
        for name, gradient in one.trace.gradients.items()
        if name in other.trace.gradients and not name.startswith("node:")
    ]
    if not common:
        return
    target = one.target
    sides: Mapping[str, Outcome] = {target: one, f"{target}{{counterpart}}": other}
    answers = {side: {name: o.trace.gradients[name] for name in common} for side, o in sides.items()}
    function = _function(first) or _function(second)
    found = judge_gradients(
        Node("gradients", "gradients", ()), answers, function, Traits(), disputes_only=True, of=first
    )
    errors = found.errors
    measure, said = Measure("roundoff", errors.mutual), f"gradients of {', '.join(common)}"
    if found.free:
        yield _Compared(Judgement.PASS, f"{said} differ at a kink", BY_SUBGRADIENT, measure, stage=Stage.BACKWARD)
        return
    judgement = Judgement.FAIL if found.differ else Judgement.PASS
    apart = f"{said}: {errors.mutual:.3g} roundoffs of their scale apart"
    yield _Compared(judgement, apart, errors.judged_by, measure, APART, Stage.BACKWARD)


def _function(side: Case) -> Differentiated | None:
    if not isinstance(side.subject, LayerGraph):
        return None
    return pulled_back(side) if side.cotangents else loss_function(side)


# What is said of a target


def _suspicion(seen: Seen, target: str, compared: _Compared) -> Suspicion:
    case, ended = seen.case, compared.ended
    assert case.counterpart is not None
    diagnosis = Diagnosis(
        Class.DEFECT,
        (target,),
        node=node_key(case),
        api=api_of(case, seen.traits, (target,)),
        parameters=parameters_of(case),
        evidence=(observed("breaks-rule", target=target, rule=case.counterpart.rule, how=compared.said),),
        measure=compared.measure,
        threshold=compared.threshold,
    )
    diagnosis = _classified(seen, diagnosis, case, ended)
    kind = KIND_OF_ENDING[ended.status] if ended else Kind.EQUIVALENCE
    exception = ended.failure.type if ended and ended.failure else ""
    stage = compared.stage or stage_of(case)
    if export_form(case):
        stage = Stage.SAVE_LOAD
        if ended is not None and ended is seen.outcomes[1][target] and ended.failure is not None:
            diagnosis, exception = as_failed_export(diagnosis, case, ended.failure)
            return Suspicion(kind, diagnosis, case, seen.targets, exception, stage)
        diagnosis = as_other_answer(diagnosis, case)
    return Suspicion(kind if kind in DEADLY else Kind.EQUIVALENCE, diagnosis, case, seen.targets, exception, stage)


def _classified(seen: Seen, diagnosis: Diagnosis, case: Case, ended: Outcome | None) -> Diagnosis:
    """A documented freedom, or the library's word that it has no such thing, is no defect."""
    freed = freedom_of(case)
    if ended is not None:
        layers = isinstance(case.subject, LayerGraph)  # in two ways, of which one may be nobody's promise
        documented = bool(export_form(case)) or (not layers and is_documented(case, ended, seen.traits))
        dtype = case.procedure.dtype
        return classify_failure(diagnosis, ended, freed, documented=documented, dtype=dtype if layers else None)
    return as_specification(diagnosis, freed.freedom) if freed else diagnosis


def _verdict(case: Case, target: str, compared: _Compared, found: Suspicion | None) -> Verdict:
    judgement = compared.judgement
    if found is not None and found.diagnosis.klass is not Class.DEFECT:
        judgement = Judgement.PASS
    kind = found.kind if found else None
    stage = compared.stage or stage_of(case)
    plain = Verdict(judgement, (target,), compared.said, compared.measure, compared.threshold, kind, stage)
    return replace(plain, judged_by=compared.judged_by)
