"""A graph of several layers, forward: each alone on the reference's activations, then reloaded, then fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.arrays import Array
from ..core.case import Case
from ..core.errors import TensorParityError
from ..core.evidence import observed
from ..core.finding import Class
from ..core.graph import LayerGraph, Node, output_name
from ..core.model import Model
from ..core.oracle import Check, Seen
from ..core.outcome import Outcome
from ..core.policies import cast, policy_named
from ..core.procedure import Procedure
from ..core.signature import suspects_of
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Stage
from ..operators.reference.evaluate import evaluate
from ..operators.spec import ShapeError
from .base import Asking
from .blaming import accusations
from .by_pairs import by_pairs
from .case_oracle import CaseOracle, Outcomes
from .measure.diagnose import accusation_of
from .measure.discontinuity import downstream_of_discontinuity
from .measure.fusion import guilty_of_fusion, shortest_stretch
from .measure.node_errors import NodeErrors
from .measure.replay import replay_nodes
from .statements import BY_REFERENCE, BY_VOTE, Statement, clears, convicts, doubts


class LayersOracle(CaseOracle):
    """Every layer alone; where none is guilty, the whole against its own steps."""

    name = "layers"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        done = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
        values = activations(seen.case)
        return (yield from _Looked(seen, done, values).steps()) if values else by_pairs(done)


def activations(case: Case) -> dict[str, Array]:
    """By node key, as a trace names them: the reference's, in the dtype that flows; none where it has none."""
    assert isinstance(case.subject, LayerGraph)
    try:
        values = evaluate(case.subject, case.inputs, case.weights, dtype=case.procedure.dtype)
    except (TensorParityError, ShapeError):
        return {}
    dtype = policy_named(case.procedure.dtype).compute
    return {
        key if index == 0 else f"{key}.{index}": cast(output.value, dtype)
        for key, outputs in values.items()
        for index, output in enumerate(outputs)
    }


class _Looked:
    """One case, and those of its targets that completed it."""

    def __init__(self, seen: Seen, done: Mapping[str, Outcome], values: Mapping[str, Array]) -> None:
        assert isinstance(seen.case.subject, LayerGraph)
        self._seen, self._case, self._graph = seen, seen.case, seen.case.subject
        self._done, self._values = done, values

    def steps(self) -> Asking[Statement]:
        plain = replace(self._case, procedure=replace(self._case.procedure, reload=False))
        measured = yield from self._replay_errors(plain.procedure)
        found = accusations(measured, self._seen.traits)
        if found:  # of a model that is reloaded: it is wrong before it is saved
            kept = [Suspicion(a.kind, a.diagnosis, plain, tuple(self._done)) for a in found]
            return Statement(tuple((s, a.first.judged_by) for s, a in zip(kept, found, strict=True)))
        if self._case.procedure.reload:
            reloaded = yield from self._check_reloaded()
            if reloaded.convictions:
                return reloaded
        return (yield from self._whole(measured))

    def _replay_errors(self, like: Procedure) -> Asking[list[NodeErrors]]:
        case = self._case
        model = Model(self._graph.name, self._graph, case.weights)
        nodes, traits = self._graph.nodes, self._seen.traits
        return (yield from replay_nodes(model, nodes, case.inputs, self._values, list(self._done), traits, like=like))

    def _check_reloaded(self) -> Asking[Statement]:
        """Every layer that was right before, alone again after the model was saved and loaded."""
        measured = yield from self._replay_errors(self._case.procedure)
        found = []
        for accusation in accusations(measured, self._seen.traits):
            diagnosis = accusation.diagnosis
            diagnosis = replace(diagnosis, evidence=(*diagnosis.evidence, observed("right-before-saving")))
            targets = tuple(self._done)
            suspicion = Suspicion(accusation.kind, diagnosis, self._case, targets, stage=Stage.SAVE_LOAD)
            found.append((suspicion, accusation.first.judged_by))
        return Statement(tuple(found))

    def _whole(self, measured: Sequence[NodeErrors]) -> Asking[Statement]:
        """No layer alone is guilty: are the outputs equal, and where not, does a target differ from its own steps?"""
        by = BY_REFERENCE if all(errors.judged_by == BY_REFERENCE for errors in measured) else BY_VOTE
        steady = _without_steps(self._graph, self._done)
        if not any(outcome.outputs for outcome in steady.values()):
            return clears(by)
        known = {errors.node.key for errors in measured if not errors.unmasked}
        missing = next((node for node in self._graph.nodes if node.key not in known), None)
        if len(steady) == 1:
            return self._alone(next(iter(steady)), measured, missing)
        if not by_pairs(steady).undecided:
            return clears(by)
        if missing is not None:
            return doubts(f"the outputs differ, and {missing.layer} ({missing.op}) could not be run alone")
        return (yield from self._check_fusion(steady))

    def _alone(self, target: str, measured: Sequence[NodeErrors], missing: Node | None) -> Statement:
        """One target has nobody to be held against; it is wrong where others convicted it when the case was filed."""
        referred = [errors for errors in measured if errors.judged_by == BY_REFERENCE]
        wrong = [errors for errors in referred if errors.errors.get(target, 0.0) > errors.limit]
        if wrong and target in suspects_of(self._seen.claim):
            accusation = accusation_of(Class.DEFECT, (target,), wrong[:1])
            return convicts(Suspicion(accusation.kind, accusation.diagnosis, self._case, (target,)), BY_REFERENCE)
        if wrong:
            return doubts(f"{target} alone, and {wrong[0].node.layer} is not as the reference says")
        return doubts(f"{missing.layer} could not be run alone") if missing else clears(BY_REFERENCE)

    def _check_fusion(self, steady: Mapping[str, Outcome]) -> Asking[Statement]:
        case = self._case
        stepwise = replace(case, procedure=replace(case.procedure, trace=True))
        (answer,) = yield [Check(stepwise, tuple(steady))]
        traces = {target: outcome for target, outcome in answer.outcomes.items() if outcome.completed}
        rows = range(len(next(iter(case.inputs.values()))))
        for name in dict.fromkeys(name for trace in traces.values() for name in trace.outputs):
            for apart in guilty_of_fusion(steady, traces, name, rows):
                stretch = yield from shortest_stretch(case, apart.target)
                found = Suspicion(Kind.INCONSISTENCY, apart.diagnosis(stretch), case, tuple(steady))
                return convicts(found, "own steps")
        return doubts("the outputs differ, though no layer does alone")


def _without_steps(graph: LayerGraph, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Without the outputs that have stepped on rounding: there a last bit makes a large difference (decision 13)."""
    stepped = downstream_of_discontinuity(graph)
    names = {
        output_name(ref)
        for ref in graph.outputs
        if any(node.name == ref.node and node.key in stepped for node in graph.nodes)
    }
    return {
        target: replace(outcome, outputs={name: a for name, a in outcome.outputs.items() if name not in names})
        for target, outcome in outcomes.items()
    }
