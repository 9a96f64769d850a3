"""Two ways to compute one call that must agree: outputs, gradients, shapes, dtypes, exceptions, row by row.

What differs by more than rounding may be rounding all the same: a sum in another order, a tie, a kink. A run of one
side in float64, on the input and on inputs moved as far as rounding moves them, says what an answer may be
(``measure/neighbourhood``), and so which side is wrong. What depends on the seed is drawn, and blames nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import CALLED, ApiCall
from ..core.case import Case
from ..core.channels import is_exact, same
from ..core.endings import DEADLY, KIND_OF_ENDING, ended_badly
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Answer, Check, Judged, Seen
from ..core.outcome import Outcome, Status
from ..core.rows import one_row
from ..core.rule import Agreement, Demands, demands_of, documented_words
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.reference.rounding import K
from .base import Asking, Steps, Stepwise
from .call_rows import Row, rows_of
from .measure.call_freedoms import determined_output, freedom_of_call
from .measure.lacking import lacks
from .measure.neighbourhood import Neighbourhood, in_float64, neighbourhood
from .measure.roundoff import SCREEN
from .row_difference import SIDES, Difference, compared, rank
from .statements import BY_REFERENCE
from .subjects import api_call, api_of, call_parameters
from .without_wider import around_in_float64, is_widest, off_what_is_known

#: So many rows of one case are looked into.
_LOOKED_INTO = 2
#: Without a float64 run, only what differs in every digit is called different.
_GROSS = 1e-2


class CallEquivalence(Stepwise):
    """Every target is judged alone: its two answers must agree, whatever the others say."""

    def steps(self, seen: Seen) -> Steps:
        verdicts: list[Verdict] = []
        suspicions: list[Suspicion] = []
        for target in seen.targets:
            verdict, found = yield from self._target(seen, target)
            verdicts.append(verdict)
            suspicions += found
        return Judged(tuple(verdicts), tuple(suspicions))

    def _target(self, seen: Seen, target: str) -> Asking[tuple[Verdict, list[Suspicion]]]:
        one, other = (outcomes[target] for outcomes in seen.outcomes)
        ended = _ended(seen, target, one, other)
        if ended is not None:
            return ended
        first, second = seen.case.sides()
        demands = demands_of(_rule(seen.case))
        rows = list(zip(rows_of(first, one), rows_of(second, other), strict=True))
        if not other.completed and any(row.failure for row, _ in rows):
            # a way that runs all inputs at once cannot tell which of them is refused
            reason = f"{target} refuses some of the inputs on both sides"
            return Verdict(Judgement.UNDECIDED, (target,), reason, stage=Stage.CALL), []
        places: list[int | None] = list(range(len(rows))) if first.procedure.rows is not None else [None]
        fixed = [_fixed(seen.case, place) if demands.freedoms else None for place in places]
        screened = [compared(place, *pair, demands, f) for place, pair, f in zip(places, rows, fixed, strict=True)]
        doubtful = [difference for difference in screened if difference is not None]
        answered = sum(a.failure is None and b.failure is None for a, b in rows)
        worst: Difference | None = None
        for difference in sorted(doubtful, key=rank)[:_LOOKED_INTO]:
            pair = rows[difference.row or 0]
            decided = yield from self._decided(seen, target, difference, pair, demands)
            worst = decided if worst is None or rank(decided) < rank(worst) else worst
            if worst.klass is Class.DEFECT:
                break
        return said_of(seen, target, worst, answered)

    def _decided(
        self, seen: Seen, target: str, difference: Difference, pair: tuple[Row, Row], demands: Demands
    ) -> Asking[Difference]:
        """A difference as what it is: drawn by chance, a freedom, rounding, or a defect."""
        case = seen.case if difference.row is None else one_row(seen.case, difference.row)
        determined = bool(difference.name) and difference.name == determined_output(case)
        free = freedom_of_call(case) if demands.freedoms and not determined else ""
        if free:
            return replace(difference, klass=Class.SPECIFICATION, said=f"{difference.said}; {free}")
        failed = [row.failure for row in pair if row.failure is not None]
        if failed:
            return _one_sided(difference, pair, demands, _rule(case))
        if demands.narrow and _rounds_its_inputs(case, difference.name, pair):
            return replace(difference, klass=Class.PRECISION, said=f"{difference.said}: its inputs are rounded first")
        if not _draws_weights_alone(case) and (yield from _is_drawn(case, target)):
            return replace(difference, klass=Class.UNSUPPORTED, said="it gives random numbers")
        if not difference.name or difference.kind in (Kind.SHAPE, Kind.DTYPE) or demands.agreement is Agreement.BITS:
            return difference
        found = yield from _by_neighbourhood(case, target, difference, pair, demands)
        return _of_the_accused(found, pair, demands)


def _fixed(case: Case, row: int | None) -> str | None:
    """Where the other results of an input are free, the one that has a right value."""
    alone = case if row is None else one_row(case, row)
    return determined_output(alone) if freedom_of_call(alone) else None


def _rule(case: Case) -> str:
    return case.counterpart.rule if case.counterpart else ""


# Endings


def _ended(seen: Seen, target: str, one: Outcome, other: Outcome) -> tuple[Verdict, list[Suspicion]] | None:
    """What is said where a side gave nothing at all: neither did is no difference, one did is."""
    if one.completed and other.completed:
        return None
    told = "; ".join(f"{name}: {o.status.value}" for name, o in zip(SIDES, (one, other), strict=True))
    bad = next((o for o in (one, other) if ended_badly(o)), None)
    if bad is None or not (one.completed or other.completed):
        reason = f"{target} completes neither side, or cannot ({told})"
        return Verdict(Judgement.UNDECIDED, (target,), reason, stage=Stage.CALL), []
    if bad.status is Status.RAISED:
        return None  # its rows are judged one by one
    place = 0 if bad is one else 1
    difference = Difference(None, f"{bad.status.value} on {SIDES[place]} alone", ended=bad, wrong=place)
    return said_of(seen, target, difference, 0)


def _rounds_its_inputs(case: Case, name: str, pair: tuple[Row, Row]) -> bool:
    """Whether a side turns whole numbers into floats that do not hold all of their digits."""
    answer = pair[1].answers.get(name)
    if answer is None or not is_floating(dtype_name(answer)):
        return False
    most = 1 / unit_roundoff(dtype_name(answer))
    inputs = (array for side in case.sides() for array in side.inputs.values())
    given = (array for array in inputs if array.dtype.kind in "iu" and array.size)
    return any(bool(np.abs(array.astype(np.float64)).max() > most) for array in given)


def _one_sided(difference: Difference, pair: tuple[Row, Row], demands: Demands, rule: str) -> Difference:
    """Accepted on one side and refused on the other; the library's word that it has no such thing is no defect."""
    place = 0 if pair[0].failure is not None else 1
    failure = pair[place].failure
    assert failure is not None
    either = demands.narrow  # of two types, a function may take any one
    by_values = place == 0 and demands.agreement is Agreement.FORM  # who sees no numbers cannot refuse them
    refusing = place == 1 and demands.refusing and re.search(demands.refusing, failure.message, re.IGNORECASE)
    lacking = refusing or (demands.lacking and lacks(failure, rule if place else ""))
    if by_values or lacking or (demands.optional and (place == 1 or either)):
        return replace(difference, klass=Class.UNSUPPORTED)
    return difference


# Checks


def _draws_weights_alone(case: Case) -> bool:
    """Whether all that both sides draw are the weights of the objects that they make: alike, for the seed is one.

    Some ways draw otherwise, and an object that drops numbers draws when it is called.
    """
    calls = [list(side.subject.calls()) for side in case.sides() if isinstance(side.subject, ApiCall)]
    eager = all(_makes_its_objects_first(side.procedure.variant) for side in case.sides())
    if not eager or not all(any(call.api == CALLED for call in own) for own in calls):
        return False
    return not any(
        any(word in call.api for word in _DRAWING) or any("drop" in key and value for key, value in call.kwargs.items())
        for own in calls
        for call in own
    )


def _makes_its_objects_first(variant: str) -> bool:
    return variant.startswith(_TRAINED) or _EAGER_WAYS.issuperset(variant.split(_AND))


#: How the names of ways begin in which a model is trained.
_TRAINED = "trained "
#: Between the names of ways that are taken one inside the other.
_AND = " + "
#: Ways to run a call in which its objects are made as in a plain call; what compiles sees them when they are made.
_EAGER_WAYS = frozenset(
    ["", "state_dict", "torch.save", "deep copy", "batches of 1", "batches of 3", "strided", "turned", "shifted"]
    + ["expanded", "channels_last", "saved", "h5", "weights", "config", "clone", "json"]
    + ["jit.trace", "export", "dynamic", "aot_eager", "aot_eager captured", "inductor", "inductor captured"]
    + ["export onnx", "export tf_saved_model", "export openvino", "export litert", "export torch"]
)
#: In names of classes whose objects draw numbers when they are called.
_DRAWING = ("Dropout", "RReLU", "Fractional", "Noise", "Random")


def _is_drawn(case: Case, target: str) -> Asking[bool]:
    """Whether the first side gives something else with another seed."""
    first = case.sides()[0]
    other = replace(first, seed=first.seed + 1)
    answers: Sequence[Answer] = yield [Check(first, (target,)), Check(other, (target,))]
    one, two = (rows_of(first, answer.outcomes[target])[0] for answer in answers)
    if one.failure or two.failure:
        return False
    return any(
        name not in two.answers
        or two.answers[name].shape != array.shape
        or not bool(same(array, two.answers[name]).all())
        for name, array in one.answers.items()
    )


def _by_neighbourhood(
    case: Case, target: str, difference: Difference, pair: tuple[Row, Row], demands: Demands
) -> Asking[Difference]:
    """Who lies outside of what rounding explains; both: nobody is blamed; neither: it is rounding."""
    name = difference.name
    given = [row.answers[name] for row in pair]
    wide = in_float64(case.sides()[demands.truth], case.seed) or _as_narrow(case, demands.truth, given)
    if wide is None and is_widest(given) and difference.kind is not Kind.NAN:
        return (yield from _in_their_own_digits(case, target, difference, given, demands))
    if wide is None and is_widest(given) and _adds_up_beyond_range(case.inputs):
        said = f"{difference.said}: in one order sums of these numbers leave the range, in another they do not"
        return replace(difference, klass=Class.PRECISION, said=said)
    if wide is None:
        return _between_themselves(difference, given, demands)
    (answer,) = yield [Check(wide, (target,))]
    outcome = answer.outcomes[target]
    rows = rows_of(wide, outcome) if outcome.completed else []
    values = [row.answers[name] for row in rows if name in row.answers]
    if len(values) != len(rows) or not rows or values[0].shape != given[0].shape:
        return _between_themselves(difference, given, demands)
    around = neighbourhood(values, dtype_name(given[1 - demands.truth]))
    if around is None:
        return _between_themselves(difference, given, demands)
    return _outside(difference, given, around)


def _adds_up_beyond_range(inputs: Mapping[str, Array]) -> bool:
    """Whether numbers that are finite have an infinite sum, and no run has a larger range."""
    wide = [np.abs(array) for array in inputs.values() if dtype_name(array) in ("float64", "complex128")]
    with np.errstate(over="ignore"):
        return any(bool(np.isinf(array[np.isfinite(array)].sum())) for array in wide)


def _of_the_accused(found: Difference, pair: tuple[Row, Row], demands: Demands) -> Difference:
    """Where one side defines what is right, only the other can be wrong; without a float64 run, of exact answers and
    of where there are numbers it is.
    """
    if demands.accused is None or found.klass is not Class.DEFECT or found.wrong == demands.accused:
        return found
    exact = all(is_exact(row.answers[found.name]) for row in pair)
    if found.wrong is None and (exact or found.kind is Kind.NAN):
        return replace(found, wrong=demands.accused)
    return replace(found, klass=Class.PRECISION, said=f"{found.said}: that side may be")


def _as_narrow(case: Case, truth: int, given: Sequence[Array]) -> Case | None:
    """The float64 run where the true side is one already, and the other computed in fewer digits: of whole numbers
    some functions make float32.
    """
    own, other = dtype_name(given[truth]), dtype_name(given[1 - truth])
    if not (is_floating(own) and is_floating(other)) or unit_roundoff(other) <= unit_roundoff(own):
        return None
    return in_float64(case.sides()[truth], case.seed, computed_in=other)


def _in_their_own_digits(
    case: Case, target: str, difference: Difference, given: Sequence[Array], demands: Demands
) -> Asking[Difference]:
    """Of float64 no run has more digits: what is known of the function says who is wrong; else nobody is blamed for
    what moving the inputs by their last digits explains.
    """
    off = off_what_is_known(replace(case, counterpart=None), difference.name, given)
    if off is not None and len(off) == 1:
        said = f"{difference.said}; {SIDES[off[0]]} is not what is known of the function, {SIDES[1 - off[0]]} is"
        return replace(difference, said=said, wrong=off[0], judged_by=BY_REFERENCE)
    side = case.sides()[demands.truth]
    around = yield from around_in_float64(side, target, difference.name, given[0].shape)
    if around is None:
        return _between_themselves(difference, given, demands)
    few = K * K * unit_roundoff("float64")
    outside = any(around.excess(array).max(initial=0.0) > 0 for array in given)
    if off == [] or not outside or (difference.relative or 0.0) <= few:
        return replace(difference, klass=Class.PRECISION, said=f"{difference.said}: rounding explains it")
    return replace(difference, allowed=few * (difference.apart or 1.0) / (difference.relative or 1.0))


def _outside(difference: Difference, given: Sequence[Array], around: Neighbourhood) -> Difference:
    far = [around.excess(array).max(initial=0.0) for array in given]
    wrong = [place for place, excess in enumerate(far) if excess > 0]
    allowed = around.allowed(given[wrong[0] if wrong else 0])
    found = replace(difference, allowed=allowed, judged_by=BY_REFERENCE)
    if not wrong:
        return replace(found, klass=Class.PRECISION, said=f"{difference.said}: rounding explains it")
    if len(wrong) == len(given):
        said = f"{difference.said}: both are off the float64 run"
        return replace(found, klass=Class.PRECISION, said=said, both_off=True)
    said = f"{difference.said}; {SIDES[wrong[0]]} is off the same function in float64, {SIDES[1 - wrong[0]]} is not"
    return replace(found, said=said, wrong=wrong[0])


def _between_themselves(difference: Difference, given: Sequence[Array], demands: Demands) -> Difference:
    """Without a float64 run: exact numbers must be equal; others differ where hardly a digit agrees."""
    a, b = given
    if is_exact(a) and is_exact(b):
        return difference
    if demands.otherwise and difference.kind is Kind.NAN:
        return replace(difference, klass=Class.PRECISION, said=f"{difference.said}: no float64 run says who is wrong")
    unit = max(unit_roundoff(dtype_name(a)), unit_roundoff(dtype_name(b)))
    gross = max(_GROSS, 64 * SCREEN * unit)
    if difference.kind is Kind.NAN or (difference.relative or 0.0) > gross:
        return replace(difference, allowed=gross * (difference.apart or 1.0) / (difference.relative or 1.0))
    return replace(difference, klass=Class.PRECISION, said=f"{difference.said}: no float64 run says who is wrong")


# What is said of a target


def said_of(seen: Seen, target: str, worst: Difference | None, answered: int) -> tuple[Verdict, list[Suspicion]]:
    if worst is None:
        if not answered:
            return Verdict(Judgement.UNDECIDED, (target,), f"{target} answers neither side", stage=Stage.CALL), []
        return Verdict(Judgement.PASS, (target,), f"both sides agree on {answered} inputs", stage=Stage.CALL), []
    failed = worst.klass is Class.DEFECT
    judgement = Judgement.FAIL if failed else Judgement.PASS
    if worst.both_off:
        judgement = Judgement.UNDECIDED
    suspicion = _suspicion(seen, target, worst)
    measure = suspicion.diagnosis.measure
    verdict = Verdict(judgement, (target,), worst.said, measure, worst.allowed, suspicion.kind, suspicion.stage)
    return replace(verdict, judged_by=worst.judged_by), [suspicion] if failed else []


def _suspicion(seen: Seen, target: str, worst: Difference) -> Suspicion:
    case = seen.case
    stage = Stage.BACKWARD if worst.name.startswith("gradient:") else Stage.CALL
    evidence = observed("breaks-rule", target=target, rule=_rule(case), how=worst.said)
    place = observed("differs-at", name=worst.name, allowed=worst.allowed, wrong=worst.wrong, kind=worst.kind.value)
    apart = worst.apart if worst.apart is not None else None
    diagnosis = Diagnosis(
        worst.klass,
        (target,),
        api=_trained_by(case) or api_of(case, seen.traits, (target,)),
        parameters=call_parameters(case),
        evidence=(evidence, place, *_quoted(case)),
        measure=Measure("difference", apart) if apart is not None else None,
        threshold=worst.allowed,
        relative=worst.relative,
    )
    kind = KIND_OF_ENDING[worst.ended.status] if worst.ended else Kind.EQUIVALENCE
    kind = kind if kind in DEADLY else Kind.EQUIVALENCE
    return Suspicion(kind, diagnosis, case, seen.targets, "", stage, row=worst.row)


def _trained_by(case: Case) -> str:
    """The optimizer whose way of training is held against another; empty where nothing is trained."""
    variant = case.procedure.variant
    named = re.match(r"\w+", variant.removeprefix(_TRAINED)) if variant.startswith(_TRAINED) else None
    return f"torch.optim.{named[0]}" if named else ""


def _quoted(case: Case) -> tuple[Evidence, ...]:
    """What the documentation says of the function, where the rule stands on that."""
    words = documented_words(case)
    return (observed("formula", api=api_call(case.subject).api, words=words),) if words else ()  # type: ignore[arg-type]


def of_rows(case: Case, outcomes: Mapping[str, Outcome]) -> dict[str, int]:
    """By target, how many rows of a plain call were answered."""
    return {target: sum(row.failure is None for row in rows_of(case, o)) for target, o in outcomes.items()}
