"""Two outcomes of one case, compared output by output: the Comparison, with its verdict.

``parity`` is the default: equal up to the rounding of the outputs' own scale is a pass; anything
else is undecided until the layers have been replayed (triage decides). ``cradle`` is the paper's
rule and decides alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.channels import distance, is_exact, is_text
from ..core.comparison import Comparison
from ..core.endings import KIND_OF_ENDING
from ..core.messages import gist
from ..core.outcome import Outcome, Status
from ..core.verdict import BY_ROUNDING, Judgement, Kind, Measure, Verdict
from .measure.distances import METRICS, SHARE, TOP_K, as_classes, class_labels, distances_of, most_inconsistent
from .measure.roundoff import SCREEN, nonfinite_pattern_differs, output_units, scaled_difference


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Thresholds of CRADLE's rule: T_C, T_M (and T_AC of its baseline), p and k; and which distance decides."""

    thresholds: dict[str, float] = field(default_factory=dict)
    share: float = SHARE
    k: int = TOP_K
    metric: str = METRICS[0]


PairOracle = Callable[[Comparison, Array, Array], Verdict]

#: A lead that rounding of both sides alone may turn around (confidences are of the order of one): a tie is no label.
_TIE = 2 * SCREEN * 2.0**-24


def compare_outcomes(
    a: Outcome, b: Outcome, labels: Arrays, oracle: PairOracle, settings: PairSettings | None = None
) -> list[Comparison]:
    """One Comparison per output; every pair gets an answer, also where a side has no outputs."""
    settings = settings or PairSettings()
    ended = _not_completed(a, b)
    if ended:
        return [Comparison(a.target, b.target, "", ended, 0)]
    names = sorted(set(a.outputs) | set(b.outputs))
    if not names:
        nothing = Verdict(Judgement.UNDECIDED, (a.target, b.target), "neither gave any output")
        return [Comparison(a.target, b.target, "", nothing, 0)]
    return [_compare_output(a, b, name, labels.get(name), oracle, settings) for name in names]


def _not_completed(a: Outcome, b: Outcome) -> Verdict | None:
    pair = (a.target, b.target)
    for outcome in (a, b):
        if outcome.completed:
            continue
        message = gist(outcome.failure.message) if outcome.failure else ""
        reason = f"{outcome.target} {outcome.status.value}" + (f": {message}" if message else "")
        kind = KIND_OF_ENDING.get(outcome.status)
        if kind is None or outcome.status is Status.TIMED_OUT:
            return Verdict(Judgement.UNDECIDED, pair, reason, kind=kind)
        other = b if outcome is a else a
        if not other.completed:
            return Verdict(Judgement.UNDECIDED, pair, f"neither completed; {reason}", kind=kind)
        return Verdict(Judgement.FAIL, pair, reason, kind=kind)
    return None


def _compare_output(
    a: Outcome, b: Outcome, name: str, labels: Array | None, oracle: PairOracle, settings: PairSettings
) -> Comparison:
    pair = (a.target, b.target)
    for outcome, other in ((a, b), (b, a)):
        if name not in outcome.outputs:
            reason = f"{outcome.target} has no output {name!r}, {other.target} has"
            instances = len(np.atleast_1d(other.outputs[name]))
            return Comparison(*pair, name, Verdict(Judgement.FAIL, pair, reason, kind=Kind.SHAPE), instances)
    y_a, y_b = a.outputs[name], b.outputs[name]
    if y_a.shape != y_b.shape:
        reason = f"shapes differ: {y_a.shape} and {y_b.shape}"
        return Comparison(*pair, name, Verdict(Judgement.FAIL, pair, reason, kind=Kind.SHAPE), len(np.atleast_1d(y_a)))
    facts = _measure(pair, name, y_a, y_b, labels, settings)
    return replace(facts, verdict=oracle(facts, y_a, y_b))


def _measure(
    pair: tuple[str, str], name: str, a: Array, b: Array, labels: Array | None, settings: PairSettings
) -> Comparison:
    rows_a, rows_b = np.atleast_1d(a), np.atleast_1d(b)
    scaled = scaled_difference(rows_a, rows_b)
    absolute = distance(rows_a, rows_b)
    finite = absolute[np.isfinite(absolute)]
    undecided = Verdict(Judgement.UNDECIDED, pair, "not judged yet")
    found = Comparison(
        *pair,
        name,
        undecided,
        instances=len(rows_a),
        max_abs=float(finite.max(initial=0.0)),
        max_rel=float(scaled.max(initial=0.0)),
        worst_input=int(scaled.argmax()) if len(scaled) else None,
    )
    if any(is_text(y) or y.dtype.kind == "c" for y in (a, b)):
        return found  # no confidences, and nothing that a label could be subtracted from
    rows_a, rows_b = rows_a.astype(np.float64), rows_b.astype(np.float64)
    found = _count_labels(found, rows_a, rows_b, labels)
    if labels is not None:
        share, k, metric = settings.share, settings.k, settings.metric
        distances = distances_of(rows_a, rows_b, labels, settings.thresholds, share, k, metric)
        worst = most_inconsistent(rows_a, rows_b, labels, scaled, k, metric)
        found = replace(found, distances=distances, worst_input=worst)
    return found


def _count_labels(found: Comparison, a: Array, b: Array, labels: Array | None) -> Comparison:
    classes_a, classes_b = as_classes(a), as_classes(b)
    if classes_a is None or classes_b is None:
        return found
    top_a, top_b = classes_a.argmax(axis=1), classes_b.argmax(axis=1)
    label = class_labels(labels, classes_a.shape[1]) if labels is not None else None
    if label is None and a.shape[1] == 1:
        return found  # a single number without labels is more likely a regression
    changed = (top_a != top_b) & (np.maximum(_margin(classes_a), _margin(classes_b)) > _TIE)
    found = replace(found, top1_agreement=float((top_a == top_b).mean()), labels_changed=int(changed.sum()))
    if label is not None:
        found = replace(found, accuracy=(float((top_a == label).mean()), float((top_b == label).mean())))
    return found


def _margin(classes: Array) -> Array:
    """By how much the first class leads the second."""
    if classes.shape[1] < 2:
        return np.zeros(len(classes))
    ordered = np.sort(np.nan_to_num(classes), axis=1)
    margin: Array = ordered[:, -1] - ordered[:, -2]
    return margin


def judge_parity(facts: Comparison, a: Array, b: Array) -> Verdict:
    """Equal up to rounding of the outputs' scale, or undecided until triage has looked at the layers."""
    pair = (facts.a, facts.b)
    if a.dtype != b.dtype:
        return Verdict(Judgement.FAIL, pair, f"dtypes differ: {a.dtype} and {b.dtype}", kind=Kind.DTYPE)
    units = output_units(a, b)
    measure = Measure("roundoff", units)
    if nonfinite_pattern_differs(a, b):
        reason = "NaN or infinity on one side only"
        return Verdict(Judgement.UNDECIDED, pair, reason, measure, SCREEN, Kind.NAN)
    if units <= SCREEN:
        return Verdict(Judgement.PASS, pair, "equal up to rounding", measure, SCREEN, judged_by=BY_ROUNDING)
    difference = "are not equal" if is_exact(a) else f"differ by {units:.0f} units of roundoff"
    reason = f"outputs {difference}; the layers decide"
    return Verdict(Judgement.UNDECIDED, pair, reason, measure, SCREEN, Kind.INCONSISTENCY)


def judge_cradle(facts: Comparison, a: Array, b: Array) -> Verdict:
    """The paper's rule: inconsistent by the class distance, or by MAD where there are no classes."""
    pair = (facts.a, facts.b)
    if not facts.distances:
        return Verdict(Judgement.UNDECIDED, pair, "CRADLE's distances need labels and real numbers")
    worst = facts.distances[0]  # the class distance of a classifier, MAD of a regression (section V-A)
    measure = Measure(f"{worst.name}-distance", worst.largest)
    if worst.inconsistent and worst.name == "accuracy":
        reason = f"accuracies differ by {worst.largest:.3g} %, more than {worst.threshold:g} %"
        return Verdict(Judgement.FAIL, pair, reason, measure, worst.threshold, Kind.INCONSISTENCY)
    if worst.inconsistent:
        reason = f"{worst.triggered} of {facts.instances} inputs reach the {worst.name} distance {worst.threshold:g}"
        return Verdict(Judgement.FAIL, pair, reason, measure, worst.threshold, Kind.INCONSISTENCY)
    return Verdict(Judgement.PASS, pair, "no input reaches the threshold", measure, worst.threshold)
