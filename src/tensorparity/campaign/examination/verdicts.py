"""The verdict of a pair that its outputs alone could not give: by what the layers said."""

from __future__ import annotations

from dataclasses import replace

from ...core.comparison import Comparison
from ...core.finding import Class
from ...core.verdict import Judgement, Kind, Verdict
from ...triage.exporters import PREFIX
from ...triage.fusion import AMPLIFIED
from .layers import is_open
from .setting import Examined, Setting
from .whole import stepping_outputs

_MORE_TARGETS = "give three targets or more"


class Verdicts:
    """Decides pairs after the layers have been looked at."""

    def __init__(self, at: Setting) -> None:
        self._at = at

    def decide(self, comparison: Comparison, found: Examined) -> Comparison:
        """The verdict of a pair that its outputs alone could not give."""
        verdict = comparison.verdict
        if verdict.judgement is not Judgement.UNDECIDED or not comparison.instances:
            return comparison
        pair = {comparison.a, comparison.b}
        guilty = [s for s in found.suspicions if s.diagnosis.klass is Class.DEFECT]
        concerned = [s for s in guilty if self.accusable(comparison) & set(s.diagnosis.suspects)]
        if concerned:
            first = concerned[0].diagnosis
            layer = (first.node or "").partition("#")[0] or "the whole"
            fused = ", only when fused" if first.fused else ""
            reason = f"{layer} is wrong on {', '.join(first.suspects)}{fused}"
            kind = verdict.kind or concerned[0].kind
            return replace(comparison, verdict=replace(verdict, judgement=Judgement.FAIL, reason=reason, kind=kind))
        flaky = [s for s in found.suspicions if s.diagnosis.klass is Class.FLAKY and pair & set(s.diagnosis.suspects)]
        if flaky:
            return replace(comparison, verdict=replace(verdict, reason="a difference that did not show again (flaky)"))
        free = next((s.diagnosis for s in found.suspicions if s.diagnosis.klass is Class.SPECIFICATION), None)
        if free and not self._unmeasured(comparison, found):
            reason = f"both are right about {(free.node or '').partition('#')[0]}, which the documentation leaves open"
            return replace(comparison, verdict=replace(verdict, judgement=Judgement.PASS, reason=reason))
        return replace(comparison, verdict=self._explain(comparison, found))

    def accusable(self, comparison: Comparison) -> set[str]:
        """Everybody whose fault a difference of this pair can be: they, the code they share, the exporter between."""
        pair = {comparison.a, comparison.b}
        families = {self._at.rules.families.get(target, target) for target in pair}
        exporters = {PREFIX + self._at.model.exporters[t] for t in pair if t in self._at.model.exporters}
        crossed = exporters if len(pair - set(self._at.model.exporters)) == 1 else set()
        return pair | families | crossed

    def _explain(self, comparison: Comparison, found: Examined) -> Verdict:
        verdict = comparison.verdict
        missing = self._unmeasured(comparison, found)
        if missing:
            return replace(verdict, reason=f"outputs differ, and {missing} could not be compared alone on both")
        unjudged = [m for m in found.measured if is_open(self._at, m)]
        if unjudged:
            advice = "the targets vote, but do not agree" if unjudged[0].judged_by == "vote" else _MORE_TARGETS
            reason = f"outputs differ, and nothing can judge {unjudged[0].node.op}: {advice}"
            return replace(verdict, reason=reason)
        if found.doubts:
            return replace(verdict, reason=found.doubts[0])
        if comparison.output in stepping_outputs(self._at.model, found):
            reason = "every layer agrees alone; the output steps on values that carry rounding"
            return replace(verdict, judgement=Judgement.PASS, reason=reason)
        if verdict.kind is Kind.NAN or (comparison.max_rel or 0.0) > AMPLIFIED:
            reason = "outputs differ, though no layer does alone: an interaction, or an ill-conditioned model"
            return replace(verdict, reason=reason)
        reason = "every layer agrees alone; the difference is rounding, carried along"
        return replace(verdict, judgement=Judgement.PASS, reason=reason)

    def _unmeasured(self, comparison: Comparison, found: Examined) -> str:
        """The first layer that was not measured on both sides; a difference may hide there."""
        measured = {errors.node.key: errors.errors for errors in found.measured}
        for node in self._at.nodes():
            if not {comparison.a, comparison.b} <= set(measured.get(node.key, ())):
                return f"{node.layer} ({node.op})"
        return ""
