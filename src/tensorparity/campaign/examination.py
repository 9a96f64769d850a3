"""Examining one model: run it everywhere, compare pairs, look at the layers, say who is wrong."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case, ModelFile
from ..core.comparison import Comparison, Example
from ..core.errors import DataError, TensorParityError
from ..core.finding import Class, Diagnosis
from ..core.graph import InputSpec, LayerGraph, Node, Ref
from ..core.messages import failing_layer, failing_onnx_node, gist
from ..core.model import Model, node_inputs
from ..core.onnx.layers import PREFIX as ONNX_PREFIX
from ..core.outcome import Outcome, Status
from ..core.precision import HighPrecision
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.training import Training
from ..core.verdict import Judgement, Kind, Measure, Verdict
from ..operators.catalogue import has_layer
from ..operators.evaluate import infer_shapes
from ..operators.spec import ShapeError
from ..oracles.choice import choose_inputs
from ..oracles.distances import check_labels
from ..oracles.example import build_example
from ..oracles.pair import PairOracle, PairSettings, compare_outcomes, judge_parity
from ..oracles.roundoff import SCREEN, output_units, scaled_difference
from ..triage.confirm import confirm_accusation, confirm_ending
from ..triage.diagnose import Accusation, accuse, doubts, public_name
from ..triage.discontinuity import downstream_of_discontinuity
from ..triage.exporters import (
    PREFIX,
    accuse_exporters,
    confirm_exporter,
    doubt,
    doubts_about,
    is_ambiguous,
    is_settled_by_exporter,
    outputs_apart,
    suspects_of_ending,
)
from ..triage.rates import localization_map
from ..triage.replay import NodeErrors, replay_nodes
from ..triage.suspicion import Suspicion
from .events import Listener, Progress, silent

#: Instances and bytes of one request: enough to keep a library busy, little enough for a progress bar.
_SLICE_COUNT = 1024
_SLICE_BYTES = 32 << 20
_DEFAULT_BATCH = 32  # of ``predict``, where none is asked for
#: A trace of this many bytes per input is taken on one input only.
_TRACE_BYTES = 64 << 20
#: The most inconsistent input and up to seven more, and the bytes of all of them together.
_MOST_TRACED = 8
_ALL_TRACES = 4 * _TRACE_BYTES
#: Outputs that vary over the inputs by no more than this share of their scale cannot show a fault.
_INSENSITIVE = 1e-2
#: Layers that arbiters are asked about at most, and their share of the deadline: they are slow.
_MOST_ARBITRATED = 32
_ARBITERS_SHARE = 0.25
#: Without a guilty layer, outputs this close (relative) are taken for amplified rounding.
AMPLIFIED = 1e-2

_MORE_TARGETS = "give three targets or more"

_KINDS = {
    Status.RAISED: Kind.ERROR,
    Status.CRASHED: Kind.CRASH,
    Status.TIMED_OUT: Kind.HANG,
}


@dataclass
class Examined:
    """What came of an examination."""

    comparisons: list[Comparison] = field(default_factory=list)
    suspicions: list[Suspicion] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    measured: list[NodeErrors] = field(default_factory=list)
    #: Layers on which every target disagrees with the reference, and no code they share can be blamed.
    doubts: list[str] = field(default_factory=list)
    training: Training | None = None
    high_precision: HighPrecision | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        return [comparison.verdict for comparison in self.comparisons]


@dataclass(frozen=True)
class Rules:
    """How an examination judges.

    Args:
        families: which code each target shares with others.
        localize: ``auto`` looks at the layers where outputs differ, ``always`` and ``never`` say so.
    """

    families: Mapping[str, str]
    oracle: PairOracle = judge_parity
    pairs: PairSettings = field(default_factory=PairSettings)
    localize: str = "auto"
    batch_size: int | None = None
    seed: int = 0


class Examination:
    """One model on several targets.

    Args:
        import_graph: gives the model with its graph, for files; called only if the layers are needed.
        arbiters: targets that are not compared, but asked about layers that the others dispute.
    """

    def __init__(
        self,
        runner: Runner,
        model: Model,
        rules: Rules,
        *,
        arbiters: Sequence[str] = (),
        import_graph: Callable[[Model], Model] | None = None,
        listener: Listener = silent,
    ) -> None:
        self._runner = runner
        self._model = model
        self._rules = rules
        self._arbiters = arbiters
        self._import_graph = import_graph
        self._tell = listener
        #: Per target, the inputs it failed on first.
        self._failed_on: dict[str, slice] = {}

    def run(self, inputs: Arrays, labels: Arrays, targets: Sequence[str]) -> Examined:
        found = Examined()
        with _Clock(found.phases, "extract"):
            found.outcomes = self._forward(inputs, targets, found)
        with _Clock(found.phases, "compare"):
            labels = named_labels(labels, found.outcomes)
            found.comparisons = self._compare(found.outcomes, labels)
        with _Clock(found.phases, "localize"):
            if self._wants_layers(found):
                self._look_at_layers(found, inputs, labels)
            self._file_endings(found, inputs)
            self._file_uncovered(found, inputs)
        return found

    @property
    def runner(self) -> Runner:
        return self._runner

    @property
    def model(self) -> Model:
        return self._model

    def with_graph(self, found: Examined) -> Model:
        """The model with its layers read, where they can be."""
        self._need_graph(found)
        return self._model

    # Extract

    def _forward(self, inputs: Arrays, targets: Sequence[str], found: Examined) -> dict[str, Outcome]:
        """Outputs of all instances; a target that fails on the first slice is not asked for the others."""
        if any(self._model.needs_graph(target) for target in targets):
            self._need_graph(found)
        slices = _slices(inputs, self._rules.batch_size, self._model.batch)
        procedure = Procedure(batch_size=self._rules.batch_size)
        total, done = len(slices) * len(targets), itertools.count(1)
        self._tell(Progress("running", 0, total))

        def told(outcome: Outcome) -> None:
            self._tell(Progress("running", next(done), total, outcome.target))

        parts: dict[str, list[Outcome]] = {target: [] for target in targets}
        for group in ([slices[0]], slices[1:]):
            alive = [target for target in targets if all(part.completed for part in parts[target])]
            pairs = [
                (self._model.case(target, procedure, _cut(inputs, piece), seed=self._rules.seed), target)
                for piece in group
                for target in alive
                if not self._model.needs_graph(target)
            ]
            for outcome in self._runner.run_pairs(pairs, on_outcome=told):
                if not outcome.completed:
                    self._failed_on.setdefault(outcome.target, slices[len(parts[outcome.target])])
                parts[outcome.target].append(outcome)
        return {target: _merge(target, outcomes) for target, outcomes in parts.items()}

    # Compare

    def _compare(self, outcomes: Mapping[str, Outcome], labels: Arrays) -> list[Comparison]:
        rules = self._rules
        return [
            comparison
            for a, b in itertools.combinations(outcomes.values(), 2)
            for comparison in compare_outcomes(a, b, labels, rules.oracle, rules.pairs)
        ]

    def _wants_layers(self, found: Examined) -> bool:
        if self._rules.localize == "never" or not found.comparisons:
            return False
        different = [c for c in found.comparisons if c.instances and c.verdict.judgement is not Judgement.PASS]
        if different or self._rules.localize == "always":
            return True
        if _insensitive(found.outcomes):
            found.notes.append("the outputs hardly depend on the inputs, so the layers were compared one by one")
            return True
        return False

    # Localize

    def _look_at_layers(self, found: Examined, inputs: Arrays, labels: Arrays) -> None:
        if not self._need_graph(found):
            return
        completed = [target for target, outcome in found.outcomes.items() if outcome.completed]
        picked = self._worst_inputs(found, labels)
        few = {name: array[picked] for name, array in inputs.items()}
        self._tell(Progress("tracing", 0, None))
        traces = self._trace(few, completed)
        if not traces:
            found.notes.append("no target could be traced, so the layers were not looked at")
            return
        activations = next(iter(traces.values())).trace.nodes
        found.measured = self._replay(few, activations, completed)
        self._arbitrate(found, few, activations, completed)
        found.comparisons = self._with_maps(found, traces, picked, inputs, labels)
        exporters = self._model.exporters
        own = [errors for errors in found.measured if not is_settled_by_exporter(errors, exporters)]
        found.doubts = doubts(own, self._rules.families)
        found.notes += found.doubts
        accusations = [
            doubt(self._confirmed(accusation, few, activations, completed), exporters)
            for accusation in accuse(own, self._rules.families)
            if not accusation.diagnosis.suspects or not set(accusation.diagnosis.suspects) <= set(self._arbiters)
        ]
        accusations += [
            confirm_exporter(self._runner, self._model, accusation, few, activations)
            for accusation in accuse_exporters(found.measured, exporters)
        ]
        found.suspicions += [self._suspicion(a, few, activations, completed) for a in accusations]
        if not accusations:
            found.suspicions += self._exporter(found, few)
            found.suspicions += self._only_when_fused(found, traces, few, picked)
        found.comparisons = [self._decide(comparison, found) for comparison in found.comparisons]

    def _need_graph(self, found: Examined) -> bool:
        if self._model.graph is None and self._import_graph is not None:
            try:
                self._model = self._import_graph(self._model)
            except TensorParityError as error:
                found.notes.append(f"the layers could not be read: {error}")
        return self._model.graph is not None

    def _worst_inputs(self, found: Examined, labels: Arrays) -> list[int]:
        """As many of the most telling inputs as memory allows; the first input where none tells anything."""
        distinct = choose_inputs(found.comparisons, found.outcomes, labels, self._rules.pairs.k) or [0]
        if self._model.batch:
            return list(itertools.islice(itertools.cycle(distinct), self._model.batch))
        size = self._trace_bytes()
        return distinct[: min(_MOST_TRACED, _ALL_TRACES // max(1, size)) if size <= _TRACE_BYTES else 1]

    def _trace_bytes(self) -> int:
        assert self._model.graph is not None
        try:
            shapes = infer_shapes(self._model.graph, 1)
        except (TensorParityError, ShapeError):
            return _TRACE_BYTES + 1  # unknown layers: be careful
        sizes = [np.prod([size or 1 for size in shape]) for group in shapes.values() for shape in group]
        return int(4 * sum(sizes))

    def _trace(self, few: Arrays, targets: Sequence[str]) -> dict[str, Outcome]:
        procedure = Procedure(trace=True)
        pairs = [(self._model.case(target, procedure, few, seed=self._rules.seed), target) for target in targets]
        outcomes = self._runner.run_pairs(pairs)
        return {outcome.target: outcome for outcome in outcomes if outcome.completed}

    def _replay(self, few: Arrays, activations: Arrays, targets: Sequence[str]) -> list[NodeErrors]:
        graph = self._model.graph
        assert graph is not None
        measured: list[NodeErrors] = []
        for errors in replay_nodes(self._runner, self._model, graph.nodes, few, activations, targets):
            measured.append(errors)
            self._tell(Progress("replaying layers", len(measured), len(graph.nodes), errors.node.layer))
        return measured

    def _arbitrate(self, found: Examined, few: Arrays, activations: Arrays, targets: Sequence[str]) -> None:
        """One more implementation votes on the layers that the targets dispute, on these few inputs."""
        disputed = [errors.node for errors in found.measured if self._is_open(errors)][:_MOST_ARBITRATED]
        arbiters = [arbiter for arbiter in self._arbiters if self._model.reads_file(arbiter)]
        if not disputed or not arbiters:
            return
        self._tell(Progress("asking the arbiter", 0, None, ", ".join(arbiters)))
        again = replay_nodes(
            self._runner,
            self._model,
            disputed,
            few,
            activations,
            [*targets, *arbiters],
            deadline_factor=_ARBITERS_SHARE,
        )
        settled = {errors.node.key: errors for errors in again}
        found.measured = [settled.get(errors.node.key, errors) for errors in found.measured]
        layers = f"{len(disputed)} layer{'s' if len(disputed) > 1 else ''}"
        found.notes.append(f"{', '.join(arbiters)} was asked about {layers} that the targets dispute")

    def _is_open(self, errors: NodeErrors) -> bool:
        return errors.disputed or is_ambiguous(errors, self._model.exporters)

    def _voters(self, accusation: Accusation, targets: Sequence[str]) -> list[str]:
        """The targets, and the arbiters that had a say."""
        return [*targets, *(arbiter for arbiter in self._arbiters if arbiter in accusation.first.errors)]

    def _with_maps(
        self, found: Examined, traces: Mapping[str, Outcome], picked: list[int], inputs: Arrays, labels: Arrays
    ) -> list[Comparison]:
        graph = self._model.graph
        assert graph is not None
        complete: list[Comparison] = []
        for comparison in found.comparisons:
            if comparison.a in traces and comparison.b in traces:
                row = picked.index(comparison.worst_input) if comparison.worst_input in picked else 0
                nodes_a, nodes_b = (
                    {
                        key: array[row : row + 1] if array.ndim and len(array) == len(picked) else array
                        for key, array in traces[t].trace.nodes.items()
                    }
                    for t in (comparison.a, comparison.b)
                )
                errors = _pair_errors(found.measured, comparison)
                layers = localization_map(graph, nodes_a, nodes_b, errors)
                example = _example(comparison, found.outcomes, picked[row], inputs, labels)
                comparison = replace(comparison, layers=layers, example=example)
            complete.append(comparison)
        return complete

    def _confirmed(
        self, accusation: Accusation, few: Arrays, activations: Arrays, targets: Sequence[str]
    ) -> Accusation:
        if accusation.diagnosis.klass is not Class.DEFECT:
            return accusation
        self._tell(Progress("confirming in fresh processes", 0, None, accusation.first.node.layer))
        voters = self._voters(accusation, targets)
        return confirm_accusation(self._runner, self._model, accusation, few, activations, voters, self._rules.families)

    def _suspicion(self, accusation: Accusation, few: Arrays, activations: Arrays, targets: Sequence[str]) -> Suspicion:
        graph = self._model.graph
        assert graph is not None
        node = accusation.first.node
        given = node_inputs(graph, node, few, activations)
        exported = any(suspect.startswith(PREFIX) for suspect in accusation.diagnosis.suspects)
        case = one_layer_case(self._model, node, given, self._rules.seed, in_file=exported)
        return Suspicion(accusation.kind, accusation.diagnosis, case, tuple(self._voters(accusation, targets)))

    def _exporter(self, found: Examined, few: Arrays) -> list[Suspicion]:
        """No layer alone is guilty: do runtimes of an exported file agree with each other, not with the original?"""
        apart = outputs_apart(found.outcomes, self._model.exporters, relative_difference, AMPLIFIED)
        if apart is None:
            return []
        targets = (*apart.runtimes, *apart.originals)
        self._tell(Progress("confirming in fresh processes", 0, None, ", ".join(targets)))
        cases = [(self._model.case(target, Procedure(), few, seed=self._rules.seed), target) for target in targets]
        again = {outcome.target: outcome for outcome in self._runner.run_pairs(cases, fresh=True)}
        diagnosis = apart.diagnosis(AMPLIFIED)
        if outputs_apart(again, self._model.exporters, relative_difference, AMPLIFIED) is None:
            note = "did not show again in fresh processes"
            diagnosis = replace(diagnosis, klass=Class.FLAKY, evidence=(*diagnosis.evidence, note))
        return [Suspicion(Kind.INCONSISTENCY, diagnosis, cases[-1][0], targets)]

    def _only_when_fused(
        self, found: Examined, traces: Mapping[str, Outcome], few: Arrays, picked: list[int]
    ) -> list[Suspicion]:
        """Layers agree one by one, outputs do not: does a target differ from its own step-by-step run?"""
        suspicions: list[Suspicion] = []
        stepping = self._stepping_outputs(found)
        for name in dict.fromkeys(name for trace in traces.values() for name in trace.outputs):
            if name in stepping:
                continue
            apart = fused_differences(found.outcomes, traces, name, picked)
            for target, (units, relative) in apart.items():
                others = [other for t, (other, _) in apart.items() if t != target]
                if relative <= AMPLIFIED or not others or max(others) > SCREEN:
                    continue
                evidence = (
                    f"{target} gives another answer when the model runs as a whole than layer by layer "
                    f"({relative:.3g} of the output's scale), though no layer alone is wrong",
                    "only when fused",
                    *doubts_about(target, self._model.exporters),
                )
                diagnosis = Diagnosis(
                    Class.DEFECT, (target,), evidence=evidence, measure=Measure("roundoff", units), threshold=SCREEN
                )
                case = self._model.case(target, Procedure(), few, seed=self._rules.seed)
                diagnosis = self._confirm_fused(diagnosis, case, target, name)
                suspicions.append(Suspicion(Kind.INCONSISTENCY, diagnosis, case, tuple(traces)))
        return suspicions

    def _stepping_outputs(self, found: Examined) -> set[str]:
        """Outputs behind a round, an arg max, a comparison: there a last bit makes a large difference (decision 13)."""
        graph = self._model.graph
        assert graph is not None
        keys = {node.name: node.key for node in graph.nodes}
        stepped = downstream_of_discontinuity(graph)
        names = next((outcome.outputs for outcome in found.outcomes.values() if outcome.completed), {})
        if len(names) != len(graph.outputs):
            return set()
        return {name for name, ref in zip(names, graph.outputs, strict=True) if keys.get(ref.node) in stepped}

    def _confirm_fused(self, diagnosis: Diagnosis, case: Case, target: str, name: str) -> Diagnosis:
        """The same few inputs as a whole and step by step, in fresh workers: do they differ again?"""
        stepwise = replace(case, procedure=Procedure(trace=True))
        whole, traced = self._runner.run_pairs([(case, target), (stepwise, target)], fresh=True)
        if name in whole.outputs and name in traced.outputs:
            again = float(scaled_difference(whole.outputs[name], traced.outputs[name]).max(initial=0.0))
            if again > AMPLIFIED:
                return diagnosis
        note = "did not show again in fresh processes, on these inputs alone"
        return replace(diagnosis, klass=Class.FLAKY, evidence=(*diagnosis.evidence, note))

    def _decide(self, comparison: Comparison, found: Examined) -> Comparison:
        """The verdict of a pair that its outputs alone could not give."""
        verdict = comparison.verdict
        if verdict.judgement is not Judgement.UNDECIDED or not comparison.instances:
            return comparison
        pair = {comparison.a, comparison.b}
        guilty = [s for s in found.suspicions if s.diagnosis.klass is Class.DEFECT]
        concerned = [s for s in guilty if self._accusable(comparison) & set(s.diagnosis.suspects)]
        if concerned:
            first = concerned[0].diagnosis
            layer = (first.node or "").partition("#")[0] or "only when fused"
            reason = f"{layer} is wrong on {', '.join(first.suspects)}"
            kind = verdict.kind or concerned[0].kind
            return replace(comparison, verdict=replace(verdict, judgement=Judgement.FAIL, reason=reason, kind=kind))
        flaky = [s for s in found.suspicions if s.diagnosis.klass is Class.FLAKY and pair & set(s.diagnosis.suspects)]
        if flaky:
            return replace(comparison, verdict=replace(verdict, reason="a difference that did not show again (flaky)"))
        return replace(comparison, verdict=self._explain(comparison, found))

    def _accusable(self, comparison: Comparison) -> set[str]:
        """Everybody whose fault a difference of this pair can be: they, the code they share, the exporter between."""
        pair = {comparison.a, comparison.b}
        families = {self._rules.families.get(target, target) for target in pair}
        exporters = {PREFIX + self._model.exporters[t] for t in pair if t in self._model.exporters}
        crossed = exporters if len(pair - set(self._model.exporters)) == 1 else set()
        return pair | families | crossed

    def _explain(self, comparison: Comparison, found: Examined) -> Verdict:
        verdict = comparison.verdict
        missing = self._unmeasured(comparison, found)
        if missing:
            return replace(verdict, reason=f"outputs differ, and {missing} could not be compared alone on both")
        unjudged = [m for m in found.measured if self._is_open(m)]
        if unjudged:
            advice = "the targets vote, but do not agree" if unjudged[0].judged_by == "vote" else _MORE_TARGETS
            reason = f"outputs differ, and nothing can judge {unjudged[0].node.op}: {advice}"
            return replace(verdict, reason=reason)
        if found.doubts:
            return replace(verdict, reason=found.doubts[0])
        if comparison.output in self._stepping_outputs(found):
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
        for node in self._graph_nodes():
            if not {comparison.a, comparison.b} <= set(measured.get(node.key, ())):
                return f"{node.layer} ({node.op})"
        return ""

    # Endings

    def _file_endings(self, found: Examined, inputs: Arrays) -> None:
        """Targets that raised, crashed or hung, where another one did complete."""
        bad = [o for o in found.outcomes.values() if o.status in _KINDS]
        if not any(outcome.completed for outcome in found.outcomes.values()):
            if bad:
                found.notes.append("no target completed, so nothing could be compared")
            return
        failed = [outcome.target for outcome in bad]
        for outcome in bad:
            suspects = suspects_of_ending(outcome.target, failed, self._model.exporters)
            suspicion = self._ending(outcome, suspects, found, inputs)
            if suspects not in [known.diagnosis.suspects for known in found.suspicions]:
                found.suspicions.append(suspicion)
            if suspicion.diagnosis.klass is Class.FLAKY:
                found.comparisons = [_unbelieved(c, outcome.target) for c in found.comparisons]

    def _file_uncovered(self, found: Examined, inputs: Arrays) -> None:
        """A pair that fails although no suspicion speaks of it is filed as it is: nothing fails in silence."""
        for comparison in found.comparisons:
            covered = [s for s in found.suspicions if self._accusable(comparison) & set(s.diagnosis.suspects)]
            if comparison.verdict.failed and not covered and comparison.instances:
                found.suspicions.append(self._pair_suspicion(comparison, found, inputs))

    def _pair_suspicion(self, comparison: Comparison, found: Examined, inputs: Arrays) -> Suspicion:
        verdict = comparison.verdict
        index = comparison.worst_input or 0
        one = {name: array[index : index + (self._model.batch or 1)] for name, array in inputs.items()}
        case = self._model.case(comparison.a, Procedure(), one, seed=self._rules.seed)
        rounding = verdict.kind is Kind.INCONSISTENCY and bool(found.measured)
        suspects = () if rounding else _odd_ones(comparison, found.outcomes)
        evidence = [f"{comparison.a} and {comparison.b}, output {comparison.output!r}: {verdict.reason}"]
        if rounding:
            evidence.append("every layer agrees alone; the difference is rounding, carried along")
        diagnosis = Diagnosis(
            klass=Class.PRECISION if rounding else Class.DEFECT,
            suspects=suspects,
            evidence=tuple(evidence),
            measure=verdict.measure,
            threshold=verdict.threshold,
        )
        return Suspicion(verdict.kind or Kind.INCONSISTENCY, diagnosis, case, (comparison.a, comparison.b))

    def _ending(self, outcome: Outcome, suspects: tuple[str, ...], found: Examined, inputs: Arrays) -> Suspicion:
        self._tell(Progress("confirming in fresh processes", 0, None, outcome.target))
        few = _cut(inputs, self._failed_on[outcome.target])
        case = self._model.case(
            outcome.target, Procedure(batch_size=self._rules.batch_size), few, seed=self._rules.seed
        )
        same, _ = confirm_ending(self._runner, case, outcome)
        failure = outcome.failure
        assert failure is not None
        node, api = self._failing_place(failure.message)
        node = failure.node or node or self._failing_node(outcome.target, few)
        others = [name for name, other in found.outcomes.items() if other.completed]
        evidence = [f"{outcome.target} {outcome.status.value}: {failure.type}: {gist(failure.message)}"]
        evidence.append(f"{', '.join(others)} completed the same model on the same inputs")
        if suspects == (outcome.target,):
            evidence += doubts_about(outcome.target, self._model.exporters)
        else:
            evidence.append("no runtime of the exported file completed it")
        if not same:
            evidence.append("did not fail again in fresh processes")
        diagnosis = Diagnosis(
            klass=Class.DEFECT if same else Class.FLAKY,
            suspects=suspects,
            node=node,
            api=api or self._api_of(node),
            evidence=tuple(evidence),
        )
        return Suspicion(_KINDS[outcome.status], diagnosis, case, tuple(found.outcomes), failure.type)

    def _failing_place(self, message: str) -> tuple[str | None, str | None]:
        """Node and public name, as far as the library's own words tell."""
        if self._model.file is not None and self._model.file.format == "onnx":
            op, name = failing_onnx_node(message) or ("", "")
            node = next((node.key for node in self._graph_nodes() if name and node.layer == name), None)
            return node, f"{ONNX_PREFIX}{op}" if op else None
        layer = failing_layer(message)
        return None, f"keras.layers.{layer}" if layer and layer != "Functional" else None

    def _api_of(self, key: str | None) -> str | None:
        """The public name of a node's layer; Keras says it in its message, if it is one of Keras'."""
        ops = [node.op for node in self._graph_nodes() if node.key == key]
        return public_name(ops[0]) if ops and "." in ops[0] else None

    def _graph_nodes(self) -> Sequence[Node]:
        return self._model.graph.nodes if self._model.graph else ()

    def _failing_node(self, target: str, few: Arrays) -> str | None:
        """Where a model fails that fails as a whole: the node that was running when it is run step by step."""
        one = {name: array[: self._model.batch or 1] for name, array in few.items()}
        case = self._model.case(target, Procedure(trace=True), one, seed=self._rules.seed)
        failure = self._runner.run_pairs([(case, target)])[0].failure
        return failure.node if failure else None


class _Clock:
    """Seconds of a phase, added up."""

    def __init__(self, phases: dict[str, float], name: str) -> None:
        self._phases = phases
        self._name = name

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._phases[self._name] = self._phases.get(self._name, 0.0) + time.monotonic() - self._began


def fused_differences(
    outcomes: Mapping[str, Outcome], traces: Mapping[str, Outcome], name: str, picked: list[int]
) -> dict[str, tuple[float, float]]:
    """Per target, how far its whole run is from its own step-by-step run: in roundoffs, and relative."""
    apart: dict[str, tuple[float, float]] = {}
    for target, trace in traces.items():
        if name in trace.outputs and name in outcomes[target].outputs:
            whole, stepwise = outcomes[target].outputs[name][picked], trace.outputs[name]
            if whole.shape == stepwise.shape:  # otherwise the pair's verdict says so already
                relative = float(scaled_difference(whole, stepwise).max(initial=0.0))
                apart[target] = (output_units(whole, stepwise), relative)
    return apart


def _unbelieved(comparison: Comparison, target: str) -> Comparison:
    """A pair that failed by an ending which did not happen again."""
    if not comparison.verdict.failed or comparison.instances or target not in (comparison.a, comparison.b):
        return comparison
    reason = f"{comparison.verdict.reason} (did not fail again in fresh processes)"
    return replace(comparison, verdict=replace(comparison.verdict, judgement=Judgement.UNDECIDED, reason=reason))


def _odd_ones(comparison: Comparison, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Of a pair whose outputs are of another shape or dtype: who is alone with it; both where nobody can tell."""
    forms = {target: _form(outcome, comparison.output) for target, outcome in outcomes.items() if outcome.completed}
    votes = Counter(forms.values())
    common, count = votes.most_common(1)[0]
    pair = (comparison.a, comparison.b)
    if 2 * count <= len(forms):
        return pair
    return tuple(target for target in pair if forms.get(target) != common) or pair


def _form(outcome: Outcome, name: str) -> tuple[str, tuple[int, ...]] | None:
    output = outcome.outputs.get(name)
    return None if output is None else (output.dtype.name, output.shape)


def one_layer_case(model: Model, node: Node, given: Sequence[Array], seed: int, *, in_file: bool = False) -> Case:
    """The guilty layer alone with the inputs that showed it.

    Args:
        in_file: leave it in its file, where it has one, as a layer unknown to us always is.
    """
    if (in_file or not has_layer(node.op)) and model.file is not None:
        arrays = {f"{node.key}/{index}": array for index, array in enumerate(given)}
        return Case(model.file, Procedure(goal=Goal.REPLAY, nodes=(node.key,)), inputs=arrays, seed=seed)
    names = [f"x{index}" for index in range(len(given))]
    specs = tuple(InputSpec(name, array.shape[1:], array.dtype.name) for name, array in zip(names, given, strict=True))
    alone = Node(node.layer, node.op, tuple(Ref(name) for name in names), node.params, call_params=node.call_params)
    graph = LayerGraph(specs, (alone,), (Ref(alone.name),), name=f"{node.layer}-alone")
    weights = {name: array for name, array in model.weights.items() if name.startswith(f"{node.layer}/")}
    return Case(graph, inputs=dict(zip(names, given, strict=True)), weights=weights, seed=seed)


def model_of(case: Case) -> Model:
    """The model in a case."""
    if isinstance(case.subject, ModelFile):
        return Model(case.subject.path, file=case.subject)
    if isinstance(case.subject, LayerGraph):
        return Model(case.subject.name, case.subject, case.weights)
    raise ValueError(f"a {case.subject.kind} is no model")


def _insensitive(outcomes: Mapping[str, Outcome]) -> bool:
    """Equal outputs say little of a model that answers nearly the same whatever it is given.

    Networks with untrained weights are like that: the signal fades on the way, and faults with it.
    """
    outcome = next((outcome for outcome in outcomes.values() if outcome.completed), None)
    if outcome is None:
        return False
    for output in outcome.outputs.values():
        rows = output.reshape(len(output), -1).astype(np.float64)
        scale = np.abs(rows).max(initial=0.0)
        if len(rows) < 2 or np.ptp(rows, axis=0).max(initial=0.0) <= _INSENSITIVE * scale:
            return True
    return False


def _slices(inputs: Arrays, batch_size: int | None, fixed: int | None) -> list[slice]:
    """Pieces of whole batches: a cut within one would have the library compile, and run, another size.

    Args:
        fixed: the only size that the model takes.
    """
    count = min(len(array) for array in inputs.values())
    if fixed:
        return [slice(start, start + fixed) for start in range(0, count, fixed)]
    per_instance = max(1, sum(array.nbytes // max(1, len(array)) for array in inputs.values()))
    step = max(1, min(_SLICE_COUNT, _SLICE_BYTES // per_instance))
    batch = batch_size or _DEFAULT_BATCH
    if batch_size or step >= batch:
        step = max(batch, step // batch * batch)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def _cut(inputs: Arrays, piece: slice) -> dict[str, Array]:
    return {name: array[piece] for name, array in inputs.items()}


def _merge(target: str, outcomes: Sequence[Outcome]) -> Outcome:
    failed = next((outcome for outcome in outcomes if not outcome.completed), None)
    if failed or not outcomes:
        return failed or Outcome(target, Status.UNSUPPORTED)
    names = outcomes[0].outputs
    outputs = {name: np.concatenate([outcome.outputs[name] for outcome in outcomes]) for name in names}
    return replace(
        outcomes[0],
        outputs=outputs,
        seconds=sum(outcome.seconds for outcome in outcomes),
        cpu_seconds=sum(outcome.cpu_seconds for outcome in outcomes),
    )


def _example(
    comparison: Comparison, outcomes: Mapping[str, Outcome], index: int, inputs: Arrays, labels: Arrays
) -> Example | None:
    """The input a map belongs to; None where a side has no such output."""
    a, b = (outcomes[target].outputs.get(comparison.output) for target in (comparison.a, comparison.b))
    if a is None or b is None:
        return None
    return build_example(inputs, index, a, b, labels.get(comparison.output))


def relative_difference(a: Array, b: Array) -> float:
    return float(scaled_difference(a, b).max(initial=0.0)) if a.shape == b.shape else float("inf")


def _pair_errors(measured: Sequence[NodeErrors], comparison: Comparison) -> dict[str, float]:
    found: dict[str, float] = {}
    for errors in measured:
        known = [errors.errors[t] for t in (comparison.a, comparison.b) if t in errors.errors]
        if known and not any(np.isnan(known)):
            found[errors.node.key] = max(known)
    return found


def named_labels(labels: Arrays, outcomes: Mapping[str, Outcome]) -> dict[str, Array]:
    """Labels without a name belong to the only output.

    Raises:
        DataError: if they fit no output.
    """
    outputs = next((outcome.outputs for outcome in outcomes.values() if outcome.completed), None)
    if outputs is None or not labels:
        return {}
    named = dict(labels)
    if "" in named:
        if len(outputs) > 1:
            raise DataError(f"the model has outputs {', '.join(outputs)}; one array of labels is not enough")
        named = {next(iter(outputs)): named[""]}
    for name, array in named.items():
        if name not in outputs:
            raise DataError(f"labels for {name!r}, but the outputs are {', '.join(outputs)}")
        check_labels(name, array, outputs[name])
    return named
