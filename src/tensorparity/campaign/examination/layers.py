"""Looking at the layers: trace the most telling inputs, replay every layer alone, and say who is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Arrays
from ...core.comparison import Comparison, Example
from ...core.errors import TensorParityError
from ...core.finding import Class
from ...core.model import node_inputs
from ...core.outcome import Outcome
from ...core.procedure import Procedure
from ...core.suspicion import Suspicion
from ...operators.evaluate import infer_shapes
from ...operators.spec import ShapeError
from ...oracles.choice import choose_inputs
from ...oracles.example import build_example
from ...targets.catalogue import traits_of
from ...triage.confirm import confirm_accusations
from ...triage.diagnose import Accusation, accuse, doubts
from ...triage.exporters import PREFIX, accuse_exporters, confirm_exporter, doubt, is_ambiguous, is_settled_by_exporter
from ...triage.in_place import clear_in_place
from ...triage.localizers import Scene, accusations
from ...triage.node_errors import NodeErrors
from ...triage.rates import localization_map
from ...triage.replay import replay_nodes
from ..events import Progress
from .cases import one_layer_case
from .setting import Examined, Setting
from .whole import WholeRuns

#: A trace of this many bytes per input is taken on one input only.
_TRACE_BYTES = 64 << 20
#: The most inconsistent input and up to seven more, and the bytes of all of them together.
_MOST_TRACED = 8
_ALL_TRACES = 4 * _TRACE_BYTES
#: Layers that arbiters are asked about at most, and their share of the deadline: they are slow.
_MOST_ARBITRATED = 32
_ARBITERS_SHARE = 0.25


class Layers:
    """Looks at the layers of one model on a few of its inputs."""

    def __init__(self, at: Setting) -> None:
        self._at = at

    def look(self, found: Examined, inputs: Arrays, labels: Arrays) -> bool:
        """Add measurements, maps and suspicions to ``found``; False where the layers cannot be looked at."""
        if not self._at.need_graph(found):
            return False
        completed = [target for target, outcome in found.outcomes.items() if outcome.completed]
        picked = self._worst_inputs(found, labels)
        few = {name: array[picked] for name, array in inputs.items()}
        self._at.tell(Progress("tracing", 0, None))
        traces = self._trace(few, completed)
        if not traces:
            found.notes.append("no target could be traced, so the layers were not looked at")
            return False
        activations = next(iter(traces.values())).trace.nodes
        found.measured = self._replay(few, activations, completed)
        self._arbitrate(found, few, activations, completed)
        found.measured = clear_in_place(found.measured, self._at.model, few, traces, traits_of(traces))
        found.comparisons = self._with_maps(found, traces, picked, inputs, labels)
        exporters = self._at.model.exporters
        own = [errors for errors in found.measured if not is_settled_by_exporter(errors, exporters)]
        found.doubts = doubts(own, self._at.rules.families)
        found.notes += found.doubts
        accused = [
            accusation
            for accusation in accuse(own, self._at.rules.families)
            if not accusation.diagnosis.suspects or not set(accusation.diagnosis.suspects) <= set(self._at.arbiters)
        ]
        accusations = [doubt(a, exporters) for a in self._confirmed(accused, few, activations, completed)]
        accusations += [
            confirm_exporter(self._at.runner, self._at.model, accusation, few, activations, traits_of(completed))
            for accusation in accuse_exporters(found.measured, exporters)
        ]
        found.suspicions += [self._suspicion(a, few, activations, completed) for a in accusations]
        if not accusations:
            whole = WholeRuns(self._at)
            found.suspicions += whole.blame_exporter(found, few)
            found.suspicions += whole.blame_fusion(found, traces, few, picked)
        return True

    def _worst_inputs(self, found: Examined, labels: Arrays) -> list[int]:
        """As many of the most telling inputs as memory allows; the first input where none tells anything."""
        distinct = choose_inputs(found.comparisons, found.outcomes, labels, self._at.rules.pairs.k) or [0]
        if self._at.model.batch:
            return list(itertools.islice(itertools.cycle(distinct), self._at.model.batch))
        size = self._trace_bytes()
        return distinct[: min(_MOST_TRACED, _ALL_TRACES // max(1, size)) if size <= _TRACE_BYTES else 1]

    def _trace_bytes(self) -> int:
        assert self._at.model.graph is not None
        try:
            shapes = infer_shapes(self._at.model.graph, 1)
        except (TensorParityError, ShapeError):
            return _TRACE_BYTES + 1  # unknown layers: be careful
        sizes = [np.prod([size or 1 for size in shape]) for group in shapes.values() for shape in group]
        return int(4 * sum(sizes))

    def _trace(self, few: Arrays, targets: Sequence[str]) -> dict[str, Outcome]:
        procedure = Procedure(trace=True)
        pairs = [(self._at.model.case(target, procedure, few, seed=self._at.rules.seed), target) for target in targets]
        outcomes = self._at.runner.run_pairs(pairs)
        return {outcome.target: outcome for outcome in outcomes if outcome.completed}

    def _replay(self, few: Arrays, activations: Arrays, targets: Sequence[str]) -> list[NodeErrors]:
        graph = self._at.model.graph
        assert graph is not None
        measured: list[NodeErrors] = []
        for errors in replay_nodes(
            self._at.runner, self._at.model, graph.nodes, few, activations, targets, traits_of(targets)
        ):
            measured.append(errors)
            self._at.tell(Progress("replaying layers", len(measured), len(graph.nodes), errors.node.layer))
        return measured

    def _arbitrate(self, found: Examined, few: Arrays, activations: Arrays, targets: Sequence[str]) -> None:
        """One more implementation votes on the layers that the targets dispute, on these few inputs."""
        disputed = [errors.node for errors in found.measured if is_open(self._at, errors)][:_MOST_ARBITRATED]
        arbiters = [arbiter for arbiter in self._at.arbiters if self._at.model.reads_file(arbiter)]
        if not disputed or not arbiters:
            return
        self._at.tell(Progress("asking the arbiter", 0, None, ", ".join(arbiters)))
        again = replay_nodes(
            self._at.runner,
            self._at.model,
            disputed,
            few,
            activations,
            [*targets, *arbiters],
            traits_of([*targets, *arbiters]),
            deadline_factor=_ARBITERS_SHARE,
        )
        settled = {errors.node.key: errors for errors in again}
        found.measured = [settled.get(errors.node.key, errors) for errors in found.measured]
        layers = f"{len(disputed)} layer{'s' if len(disputed) > 1 else ''}"
        found.notes.append(f"{', '.join(arbiters)} was asked about {layers} that the targets dispute")

    def _voters(self, accusation: Accusation, targets: Sequence[str]) -> list[str]:
        """The targets, and the arbiters that had a say."""
        return [*targets, *(arbiter for arbiter in self._at.arbiters if arbiter in accusation.first.errors)]

    def _with_maps(
        self, found: Examined, traces: Mapping[str, Outcome], picked: list[int], inputs: Arrays, labels: Arrays
    ) -> list[Comparison]:
        graph = self._at.model.graph
        assert graph is not None
        complete: list[Comparison] = []
        for comparison in found.comparisons:
            if comparison.a in traces and comparison.b in traces:
                row = picked.index(comparison.worst_input) if comparison.worst_input in picked else 0
                a, b = (_row_of(traces[target], row, len(picked)) for target in (comparison.a, comparison.b))
                errors = _pair_errors(found.measured, comparison)
                layers = localization_map(graph, a.trace.nodes, b.trace.nodes, errors)
                limits = {errors.node.key: errors.limit for errors in found.measured}
                accused = accusations(Scene(graph, a, b, layers, limits))
                example = _example(comparison, found.outcomes, picked[row], inputs, labels)
                comparison = replace(comparison, layers=layers, example=example, accused=accused)
            complete.append(comparison)
        return complete

    def _confirmed(
        self, accused: Sequence[Accusation], few: Arrays, activations: Arrays, targets: Sequence[str]
    ) -> list[Accusation]:
        """Again in fresh workers, all that have the same voters at once: starting a worker costs most of it."""
        confirmed: dict[int, Accusation] = {}
        voters: dict[tuple[str, ...], list[int]] = {}
        for index, accusation in enumerate(accused):
            if accusation.diagnosis.klass is Class.DEFECT:
                voters.setdefault(tuple(self._voters(accusation, targets)), []).append(index)
        for names, indices in voters.items():
            first = accused[indices[0]].first.node.layer
            self._at.tell(Progress("confirming in fresh processes", 0, None, first))
            again = confirm_accusations(
                self._at.runner,
                self._at.model,
                [accused[index] for index in indices],
                few,
                activations,
                names,
                self._at.rules.families,
                traits_of(names),
            )
            confirmed.update(zip(indices, again, strict=True))
        return [confirmed.get(index, accusation) for index, accusation in enumerate(accused)]

    def _suspicion(self, accusation: Accusation, few: Arrays, activations: Arrays, targets: Sequence[str]) -> Suspicion:
        graph = self._at.model.graph
        assert graph is not None
        node = accusation.first.node
        given = node_inputs(graph, node, few, activations)
        exported = any(suspect.startswith(PREFIX) for suspect in accusation.diagnosis.suspects)
        case = one_layer_case(self._at.model, node, given, self._at.rules.seed, in_file=exported)
        return Suspicion(accusation.kind, accusation.diagnosis, case, tuple(self._voters(accusation, targets)))


def is_open(at: Setting, errors: NodeErrors) -> bool:
    """Who is right about this layer is not settled among the targets."""
    return errors.disputed or is_ambiguous(errors, at.model.exporters)


def _example(
    comparison: Comparison, outcomes: Mapping[str, Outcome], index: int, inputs: Arrays, labels: Arrays
) -> Example | None:
    """The input a map belongs to; None where a side has no such output, or one of another shape."""
    a, b = (outcomes[target].outputs.get(comparison.output) for target in (comparison.a, comparison.b))
    if a is None or b is None or a.shape != b.shape:
        return None
    return build_example(inputs, index, a, b, labels.get(comparison.output))


def _row_of(traced: Outcome, row: int, rows: int) -> Outcome:
    """One instance of a traced run; what has no batch axis stays as it is."""
    nodes = {
        key: array[row : row + 1] if array.ndim and len(array) == rows else array
        for key, array in traced.trace.nodes.items()
    }
    return replace(traced, trace=replace(traced.trace, nodes=nodes))


def _pair_errors(measured: Sequence[NodeErrors], comparison: Comparison) -> dict[str, float]:
    found: dict[str, float] = {}
    for errors in measured:
        known = [errors.errors[t] for t in (comparison.a, comparison.b) if t in errors.errors]
        if known and not any(np.isnan(known)):
            found[errors.node.key] = max(known)
    return found
