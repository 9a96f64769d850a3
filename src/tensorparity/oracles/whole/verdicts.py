"""The verdict of a pair that its outputs alone could not give: by what the layers said, and again once that was tried.

Suspicions are confirmed after the oracle has spoken, so ``after_confirmation`` takes back what rests on one that did
not show again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...core.comparison import Comparison
from ...core.endings import ENDING_KINDS
from ...core.finding import Class
from ...core.graph import Node
from ...core.severity import DIGITS, Severity, severity_of
from ...core.suspicion import Suspicion
from ...core.verdict import BY_ROUNDING, Judgement, Kind, Verdict
from ..measure.fusion import AMPLIFIED
from .layers import is_open
from .runs import stepping_outputs
from .sight import Sight

_MORE_TARGETS = "give three targets or more"
_FLAKY = "a difference that did not show again (flaky)"

#: In ``Verdict.judged_by``: the outputs did not decide it, the layers did.
BY_LAYERS = "layers"


def decide(at: Sight, comparison: Comparison) -> Comparison:
    """The verdict of a pair that its outputs alone could not give."""
    verdict = comparison.verdict
    if verdict.judgement is not Judgement.UNDECIDED or not comparison.instances:
        return comparison
    concerned = _suspicions_of_pair(comparison, at.suspicions, Class.DEFECT)
    if concerned and _outputs_agree(comparison) and all(_costs_digits(one) for one in concerned):
        return replace(comparison, verdict=_in_digits(verdict, concerned[0]))
    if concerned:
        return replace(comparison, verdict=_failed_by(verdict, concerned[0]))
    free = next((s.diagnosis for s in at.suspicions if s.diagnosis.klass is Class.SPECIFICATION), None)
    if free and not _first_unmeasured_layer(at, comparison):
        reason = f"both are right about {(free.node or '').partition('#')[0]}, which the documentation leaves open"
        return replace(comparison, verdict=replace(verdict, judgement=Judgement.PASS, reason=reason))
    return replace(comparison, verdict=_explain(at, comparison))


def _suspicions_of_pair(comparison: Comparison, suspicions: Iterable[Suspicion], klass: Class) -> list[Suspicion]:
    """Those of a class that may be behind a difference of this pair."""
    accusable = set(comparison.accusable)
    return [s for s in suspicions if s.diagnosis.klass is klass and accusable & set(s.diagnosis.suspects)]


def _outputs_agree(comparison: Comparison) -> bool:
    """No label changed, and outputs differ by fewer digits than a user would call wrong."""
    return not comparison.labels_changed and comparison.max_rel is not None and comparison.max_rel < DIGITS


def _costs_digits(suspicion: Suspicion) -> bool:
    return severity_of(suspicion.kind, suspicion.diagnosis) is Severity.DIGITS


def _in_digits(verdict: Verdict, suspicion: Suspicion) -> Verdict:
    """The outputs agree, though a layer on the way is less exact than it could be."""
    diagnosis = suspicion.diagnosis
    layer = (diagnosis.node or "").partition("#")[0] or "a layer"
    reason = (
        f"the outputs agree; {layer} has fewer correct digits than it could have on {', '.join(diagnosis.suspects)}"
    )
    return replace(verdict, judgement=Judgement.PASS, reason=reason)


def _failed_by(verdict: Verdict, suspicion: Suspicion) -> Verdict:
    diagnosis = suspicion.diagnosis
    layer = (diagnosis.node or "").partition("#")[0] or "the whole"
    fused = ", only when fused" if diagnosis.fused else ""
    reason = f"{layer} is wrong on {', '.join(diagnosis.suspects)}{fused}"
    kind = verdict.kind or suspicion.kind
    return replace(verdict, judgement=Judgement.FAIL, reason=reason, kind=kind, judged_by=BY_LAYERS)


def _explain(at: Sight, comparison: Comparison) -> Verdict:
    verdict = comparison.verdict
    missing = _first_unmeasured_layer(at, comparison)
    if not at.measured:
        return replace(verdict, reason="outputs differ, and no layer could be run alone to say why")
    if missing:
        return replace(verdict, reason=f"outputs differ, and {missing} could not be compared alone on both")
    unjudged = [errors for errors in at.measured if is_open(at, errors)]
    if unjudged:
        advice = "the targets vote, but do not agree" if unjudged[0].judged_by == "vote" else _MORE_TARGETS
        return replace(verdict, reason=f"outputs differ, and nothing can judge {unjudged[0].node.op}: {advice}")
    if at.doubts:
        return replace(verdict, reason=at.doubts[0])
    unmasked = next((errors.node for errors in at.measured if errors.unmasked), None)
    if unmasked is not None:
        reason = f"outputs differ, and {unmasked.layer} ({unmasked.op}) could not be run alone behind its mask"
        return replace(verdict, reason=reason)
    agree = _who_agrees(at, comparison)
    if comparison.output in stepping_outputs(at.graph, at.outcomes):
        reason = f"{agree}; the output steps on values that carry rounding"
        return replace(verdict, judgement=Judgement.PASS, reason=reason, judged_by=BY_ROUNDING)
    if verdict.kind is Kind.NAN or (comparison.max_rel or 0.0) > AMPLIFIED:
        reason = "outputs differ, though no layer does alone: an interaction, or an ill-conditioned model"
        return replace(verdict, reason=reason)
    reason = f"{agree}; the difference is rounding, carried along"
    return replace(verdict, judgement=Judgement.PASS, reason=reason, judged_by=BY_ROUNDING)


def _first_unmeasured_layer(at: Sight, comparison: Comparison) -> str:
    """The first layer that was not measured on both sides, where a difference may hide."""
    node = next((node for node in unmeasured(at, comparison) if not _is_spared(at, node, comparison)), None)
    return f"{node.layer} ({node.op})" if node else ""


def all_that_round_measured(at: Sight, comparison: Comparison) -> bool:
    """Every layer that may carry a difference of this pair was run alone on both sides."""
    return bool(at.measured) and not _first_unmeasured_layer(at, comparison)


def unmeasured(at: Sight, comparison: Comparison) -> list[Node]:
    """The layers that were not run alone on both sides."""
    measured = {errors.node.key: errors.errors for errors in at.measured}
    return [node for node in at.nodes if not {comparison.a, comparison.b} <= set(measured.get(node.key, ()))]


def _is_spared(at: Sight, node: Node, comparison: Comparison) -> bool:
    """A wrong index or a wrong bit of a mask is a whole step off: outputs that differ in their last digits do not come
    from there.
    """
    return node.key in at.exact and _outputs_agree(comparison)


def _who_agrees(at: Sight, comparison: Comparison) -> str:
    """What was seen alone, and what was not."""
    spared = len(unmeasured(at, comparison))
    if not spared:
        return "every layer agrees alone"
    others, were = ("1 other gives", "was") if spared == 1 else (f"{spared} others give", "were")
    spared_ones = f"{others} whole numbers or truth values and {were} not run alone on both"
    return f"every layer that rounds agrees alone ({spared_ones})"


def after_confirmation(comparisons: Sequence[Comparison], suspicions: Sequence[Suspicion]) -> list[Comparison]:
    """The comparisons, where a suspicion that a verdict rests on turned out to be flaky: nobody can tell then."""
    return [_revised_comparison(comparison, suspicions) for comparison in comparisons]


def _revised_comparison(comparison: Comparison, suspicions: Sequence[Suspicion]) -> Comparison:
    verdict = comparison.verdict
    flaky = _suspicions_of_pair(comparison, suspicions, Class.FLAKY)
    if not verdict.failed or not flaky:
        return comparison
    if not comparison.instances and any(s.kind in ENDING_KINDS for s in flaky):
        reason = f"{verdict.reason} (did not fail again in fresh processes)"
        return replace(comparison, verdict=replace(verdict, judgement=Judgement.UNDECIDED, reason=reason))
    if verdict.judged_by != BY_LAYERS:
        return comparison
    believed = _suspicions_of_pair(comparison, suspicions, Class.DEFECT)
    if believed:
        return replace(comparison, verdict=_failed_by(verdict, believed[0]))
    return replace(comparison, verdict=replace(verdict, judgement=Judgement.UNDECIDED, reason=_FLAKY, judged_by=""))
