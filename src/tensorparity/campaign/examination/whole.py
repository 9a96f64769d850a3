"""No layer alone is guilty: is it the file that an exporter wrote, or what a target makes of the whole?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.finding import Diagnosis
from ...core.model import Model
from ...core.outcome import Outcome
from ...core.procedure import Procedure
from ...core.suspicion import Suspicion
from ...core.verdict import Kind
from ...targets.catalogue import traits_of
from ...triage.confirm import flaky
from ...triage.discontinuity import downstream_of_discontinuity
from ...triage.exporters import doubts_about, outputs_apart
from ...triage.fusion import AMPLIFIED, Stretch, guilty_of_fusion, relative_difference, shortest_stretch
from ..events import Progress
from .setting import Examined, Setting


class WholeRuns:
    """Looks at outputs of whole runs, where the layers explain nothing."""

    def __init__(self, at: Setting) -> None:
        self._at = at

    def blame_exporter(self, found: Examined, few: Arrays) -> list[Suspicion]:
        """No layer alone is guilty: do runtimes of an exported file agree with each other, not with the original?"""
        traits, exporters = traits_of(found.outcomes), self._at.model.exporters
        apart = outputs_apart(found.outcomes, exporters, relative_difference, AMPLIFIED, traits)
        if apart is None:
            return []
        targets = (*apart.runtimes, *apart.originals)
        self._at.tell(Progress("confirming in fresh processes", 0, None, ", ".join(targets)))
        cases = [
            (self._at.model.case(target, Procedure(), few, seed=self._at.rules.seed), target) for target in targets
        ]
        again = {outcome.target: outcome for outcome in self._at.runner.run_pairs(cases, fresh=True)}
        diagnosis = apart.diagnosis(AMPLIFIED)
        if outputs_apart(again, exporters, relative_difference, AMPLIFIED, traits) is None:
            diagnosis = flaky(diagnosis)
        return [Suspicion(Kind.INCONSISTENCY, diagnosis, cases[-1][0], targets)]

    def blame_fusion(
        self, found: Examined, traces: Mapping[str, Outcome], few: Arrays, picked: list[int]
    ) -> list[Suspicion]:
        """Layers agree one by one, outputs do not: does a target differ from its own step-by-step run?"""
        suspicions: list[Suspicion] = []
        stepping = stepping_outputs(self._at.model, found)
        for name in dict.fromkeys(name for trace in traces.values() for name in trace.outputs):
            if name in stepping:
                continue
            for apart in guilty_of_fusion(found.outcomes, traces, name, picked):
                stretch = self._stretch(apart.target, few)
                diagnosis = apart.diagnosis(stretch, doubts_about(apart.target, self._at.model.exporters))
                case = self._at.model.case(apart.target, Procedure(), few, seed=self._at.rules.seed)
                diagnosis = self._confirm_fused(diagnosis, case, apart.target, name)
                own = self._at.model.own_case(apart.target, Procedure(), few, seed=self._at.rules.seed)
                shown = stretch.case if stretch else own
                suspicions.append(Suspicion(Kind.INCONSISTENCY, diagnosis, shown, tuple(traces)))
        return suspicions

    def _stretch(self, target: str, few: Arrays) -> Stretch | None:
        graph = self._at.model.graph
        assert graph is not None
        self._at.tell(Progress("bisecting cut points", 0, None, target))
        case = Case(graph, inputs=few, weights=self._at.model.weights, seed=self._at.rules.seed)
        return shortest_stretch(self._at.runner, case, target)

    def _confirm_fused(self, diagnosis: Diagnosis, case: Case, target: str, name: str) -> Diagnosis:
        """The same few inputs as a whole and step by step, in fresh workers: do they differ again?"""
        stepwise = replace(case, procedure=Procedure(trace=True))
        whole, traced = self._at.runner.run_pairs([(case, target), (stepwise, target)], fresh=True)
        both = name in whole.outputs and name in traced.outputs
        if both and relative_difference(whole.outputs[name], traced.outputs[name]) > AMPLIFIED:
            return diagnosis
        return flaky(diagnosis, "did not show again in fresh processes, on these inputs alone")


def stepping_outputs(model: Model, found: Examined) -> set[str]:
    """Outputs behind a round, an arg max, a comparison: there a last bit makes a large difference (decision 13)."""
    graph = model.graph
    assert graph is not None
    keys = {node.name: node.key for node in graph.nodes}
    stepped = downstream_of_discontinuity(graph)
    names = next((outcome.outputs for outcome in found.outcomes.values() if outcome.completed), {})
    if len(names) != len(graph.outputs):
        return set()
    return {name for name, ref in zip(names, graph.outputs, strict=True) if keys.get(ref.node) in stepped}
