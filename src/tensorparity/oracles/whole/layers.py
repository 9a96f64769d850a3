"""Looking at the layers: trace the most telling inputs, replay every layer alone, and say who is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Arrays
from ...core.channels import is_exact
from ...core.comparison import Comparison, Example
from ...core.errors import TensorParityError
from ...core.graph import Node
from ...core.model import node_inputs
from ...core.oracle import Check
from ...core.outcome import Outcome
from ...core.procedure import Procedure
from ...core.suspicion import Suspicion
from ...core.verdict import Judgement
from ...operators.reference.evaluate import infer_shapes
from ...operators.spec import ShapeError
from ..kinds import oracle_of
from ..measure.choice import choose_inputs, inputs_of_patterns
from ..measure.diagnose import Accusation, accuse, doubts
from ..measure.example import build_example
from ..measure.exporters import PREFIX, accuse_exporters, doubt, is_ambiguous, is_settled_by_exporter
from ..measure.in_place import clear_in_place
from ..measure.isolated_nodes import node_outputs
from ..measure.localizers import LocalizedPair, accusations
from ..measure.node_errors import NodeErrors
from ..measure.rates import localization_map
from ..measure.replay import masked_case, replay_nodes
from ..subjects import exporters_among
from .adjacent import blame_adjacent_layers
from .cases import one_layer_case, replayed_case
from .instances import rows_of
from .runs import blame_exporter, blame_fusion
from .sight import Asking, Found, ModelPlace, Sight, T

#: A trace of this many bytes per input is taken on one input only.
_TRACE_BYTES = 64 << 20
#: The most inconsistent input and up to seven more, and the bytes of all of them together.
_MOST_TRACED = 8
_ALL_TRACES = 4 * _TRACE_BYTES
#: Layers that arbiters are asked about at most, and their share of the deadline: they are slow.
_MOST_ARBITRATED = 32
_ARBITERS_SHARE = 0.25

#: The oracle of a layer that is run alone where it stands.
IN_MODEL = "layer_in_model"


def look_at_layers(at: Sight) -> Asking[bool]:
    """Add measurements, maps and suspicions; False where the layers cannot be looked at."""
    if not (yield from at.need_graph()):
        return False
    picked = worst_inputs(at)
    few = rows_of(at.inputs, picked)
    traces = yield from traces_of(at, few)
    if not traces:
        at.notes.append("no target could be traced, so the layers were not looked at")
        return False
    activations = next(iter(traces.values())).trace.nodes
    at.exact = frozenset(node.key for node in at.nodes if _is_exact(node, traces))
    at.measured = yield from replay_nodes(at.delivered, at.nodes, few, activations, at.completed, at.seen.traits)
    at.notes += _unmasked(at.measured)
    yield from _arbitrate(at, few, activations)
    at.measured = clear_in_place(at.measured, at.model, few, traces, at.seen.traits)
    at.comparisons = with_maps(at, traces, picked)
    yield from map_other_patterns(at, picked)
    accused = _accusations(at)
    at.found += [_found_layer(at, accusation, few, activations) for accusation in accused]
    if not accused:
        at.found += blame_exporter(at, few)
        at.found += yield from blame_fusion(at, traces, few, picked)
    if not at.found:
        at.found += yield from blame_adjacent_layers(at, few, activations)
    return True


def _unmasked(measured: Sequence[NodeErrors]) -> list[str]:
    """Who was run without the mask that it may receive."""
    names = list(dict.fromkeys(f"{errors.node.layer} ({errors.node.op})" for errors in measured if errors.unmasked))
    if not names:
        return []
    it = "it agrees" if len(names) == 1 else "they agree"
    return [f"{', '.join(names)} ran alone without a mask that is not known here: that {it} so clears nobody"]


def _accusations(at: Sight) -> list[Accusation]:
    """Whoever is guilty of a layer; never an arbiter alone."""
    own = [errors for errors in at.measured if not is_settled_by_exporter(errors, at.exporters)]
    families = at.families([*at.completed, *at.settings.arbiters])
    at.doubts = doubts(own, families)
    at.notes += at.doubts
    arbiters = set(at.settings.arbiters)
    accused = [
        accusation
        for accusation in accuse(own, families)
        if not accusation.diagnosis.suspects or not set(accusation.diagnosis.suspects) <= arbiters
    ]
    return [*(doubt(item, at.exporters) for item in accused), *accuse_exporters(at.measured, at.exporters)]


def worst_inputs(at: Sight) -> list[int]:
    """As many of the most telling inputs as memory allows; the first input where none tells anything."""
    pairs = at.settings.pairs
    distinct = choose_inputs(at.comparisons, at.outcomes, at.labels, pairs.k, pairs.metric) or [0]
    if at.settings.batch:
        return _filled(at, distinct)
    size = _trace_bytes(at)
    return distinct[: min(_MOST_TRACED, _ALL_TRACES // max(1, size)) if size <= _TRACE_BYTES else 1]


def _filled(at: Sight, inputs: list[int]) -> list[int]:
    """As many as a model of a fixed batch takes, the same ones again."""
    return list(itertools.islice(itertools.cycle(inputs), at.settings.batch)) if at.settings.batch else inputs


def _trace_bytes(at: Sight) -> int:
    try:
        shapes = infer_shapes(at.graph, 1)
    except (TensorParityError, ShapeError):
        return _TRACE_BYTES + 1  # unknown layers: be careful
    sizes = [np.prod([size or 1 for size in shape]) for group in shapes.values() for shape in group]
    return int(4 * sum(sizes))


def traces_of(at: Sight, few: Arrays) -> Asking[dict[str, Outcome]]:
    (answer,) = yield [Check(at.own_case(Procedure(trace=True), few), tuple(at.completed))]
    return {target: outcome for target, outcome in answer.outcomes.items() if outcome.completed}


def _is_exact(node: Node, traces: Mapping[str, Outcome]) -> bool:
    """Whether a layer gives nothing but whole numbers, truth values or words, wherever it was traced."""
    given = [output for outcome in traces.values() for output in node_outputs(node, outcome)]
    return bool(given) and all(is_exact(output) for output in given)


def _arbitrate(at: Sight, few: Arrays, activations: Arrays) -> Asking[None]:
    """One more implementation votes on the layers that the targets dispute, on these few inputs."""
    disputed = [errors.node for errors in at.measured if is_open(at, errors)][:_MOST_ARBITRATED]
    arbiters = at.settings.arbiters
    if not disputed or not arbiters:
        return
    voters = [*at.completed, *arbiters]
    again = yield from _noting_exporters(
        at, replay_nodes(at.delivered, disputed, few, activations, voters, at.seen.traits, deadline=_ARBITERS_SHARE)
    )
    settled = {errors.node.key: errors for errors in again}
    at.measured = [settled.get(errors.node.key, errors) for errors in at.measured]
    layers = f"{len(disputed)} layer{'s' if len(disputed) > 1 else ''}"
    at.notes.append(f"{', '.join(arbiters)} was asked about {layers} that the targets dispute")


def _noting_exporters(at: Sight, asking: Asking[T]) -> Asking[T]:
    """Let it ask, and note who was given a file that an exporter wrote."""
    try:
        checks = next(asking)
        while True:
            answers = yield checks
            for answer in answers:
                at.exporters.update(exporters_among(answer.check.case, answer.ran))
            checks = asking.send(answers)
    except StopIteration as ended:
        found: T = ended.value
        return found


def is_open(at: Sight, errors: NodeErrors) -> bool:
    """Who is right about this layer is not settled among the targets."""
    return errors.disputed or is_ambiguous(errors, at.exporters)


def _found_layer(at: Sight, accusation: Accusation, few: Arrays, activations: Arrays) -> Found:
    """The guilty layer alone; where it is right there, alone where it stands."""
    node = accusation.first.node
    given = node_inputs(at.graph, node, few, activations)
    exported = any(suspect.startswith(PREFIX) for suspect in accusation.diagnosis.suspects)
    seed = at.seen.case.seed
    masked = masked_case(at.model, node, few, activations)
    case = masked or one_layer_case(at.model, node, given, seed, in_file=exported)
    voters = (*at.completed, *(name for name in at.settings.arbiters if name in accusation.first.errors))
    standing = ModelPlace(replayed_case(at.model, node, given, seed), IN_MODEL)
    alone = () if case.digest == standing.case.digest else (ModelPlace(case, oracle_of(case)),)
    places = alone if masked else (*alone, standing)  # where it stands, nothing would give it its mask
    return Found(Suspicion(accusation.kind, accusation.diagnosis, case, voters), places)


def with_maps(at: Sight, traces: Mapping[str, Outcome], picked: list[int]) -> list[Comparison]:
    """Every pair that was traced with its localization map, on its most inconsistent input where that was traced."""
    return [
        _with_map(at, comparison, traces, picked) if {comparison.a, comparison.b} <= set(traces) else comparison
        for comparison in at.comparisons
    ]


def map_other_patterns(at: Sight, picked: list[int]) -> Asking[None]:
    """Maps of the unique inconsistencies whose own most inconsistent input was not traced with the others.

    One input after another, so that a large model needs no more memory than for its first; then say what is left.
    """
    seen = list(picked)
    for index in inputs_of_patterns([c for c in at.comparisons if c.verdict.judgement is not Judgement.PASS]):
        if index in seen:
            continue
        alone = _filled(at, [index])
        traces = yield from traces_of(at, rows_of(at.inputs, alone))
        seen += [index] * bool(traces)
        at.comparisons = [
            _with_map(at, comparison, traces, alone)
            if comparison.worst_input == index and {comparison.a, comparison.b} <= set(traces)
            else comparison
            for comparison in at.comparisons
        ]
    _note_unseen(at, seen)


def _note_unseen(at: Sight, picked: list[int]) -> None:
    """Say which pairs' most inconsistent inputs the layers were not looked at with."""
    unseen: dict[int, list[str]] = {}
    for comparison in at.comparisons:
        worst = comparison.worst_input
        if worst is not None and worst not in picked and comparison.verdict.judgement is not Judgement.PASS:
            unseen.setdefault(worst, []).append(f"{comparison.a} / {comparison.b}")
    for worst, pairs in unseen.items():
        at.notes.append(
            f"the layers were not looked at with input {worst}, on which {' and '.join(dict.fromkeys(pairs))} differ "
            f"most, but with {', '.join(map(str, picked))}: the model is too large to be traced on more"
        )


def _with_map(at: Sight, comparison: Comparison, traces: Mapping[str, Outcome], picked: list[int]) -> Comparison:
    row = picked.index(comparison.worst_input) if comparison.worst_input in picked else 0
    a, b = (_row_of(traces[target], row, len(picked)) for target in (comparison.a, comparison.b))
    layers = localization_map(at.graph, a.trace.nodes, b.trace.nodes, _pair_errors(at.measured, comparison))
    limits = {errors.node.key: errors.limit for errors in at.measured}
    said = accusations(LocalizedPair(at.graph, a, b, layers, limits))
    accused = {rule: tuple(map(str, places)) for rule, places in said.items()}
    return replace(comparison, layers=layers, example=_example(at, comparison, picked[row]), accused=accused)


def _example(at: Sight, comparison: Comparison, index: int) -> Example | None:
    """The input a map belongs to; None where a side has no such output, or one of another shape."""
    a, b = (at.outcomes[target].outputs.get(comparison.output) for target in (comparison.a, comparison.b))
    if a is None or b is None or a.shape != b.shape:
        return None
    return build_example(at.inputs, index, a, b, at.labels.get(comparison.output))


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
