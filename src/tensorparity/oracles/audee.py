"""Audee's oracles, to the letter: crashes, NaN in the output of any layer, and another label (Definition 2).

``audee`` decides by them; ``audee_measures`` stands beside whoever decides and only counts, for the paper's tables.
Labels are compared only where nothing crashed or gave NaN.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array, is_floating
from ..core.case import Case
from ..core.endings import KIND_OF_ENDING, ended_badly
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.oracle import Check, Judged, Measures, Seen, Setup
from ..core.outcome import Outcome
from ..core.place import Place
from ..core.procedure import Mode, Procedure
from ..core.rows import row_count, some_rows
from ..core.signature import Key, is_whole
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Verdict
from .audee_localization import T1, T2, Thresholds, localize_by_rates
from .base import Asking, Steps, Stepwise
from .failures import in_words
from .kinds import WHOLE_MODELS
from .measure.diagnose import public_name
from .measure.individuals import other_labels, pair_name
from .measure.rates import localization_map

#: Names of what is counted for the tables; one number per case.
LABELS, NAN_LAYERS, TOP_RATE = "inconsistent-inputs", "nan-layers", "top-1-change-rate"
#: The oracle that only measures, by name; and what it tells of every pair: the layer with the largest change rate.
MEASURES, TOP_LAYER = "audee_measures", "top_layer"
#: Of a pair with other labels: how many places Algorithm 2 accuses, how many layers CRADLE's rule does, how many of
#: those Algorithm 2 does not, and how many it does not accuse at all.
ACCUSED = "accused"


@dataclass
class _Looked:
    """What was seen of one network.

    Args:
        changed: by pair, the rows with another label.
        nan: by target, the first node whose output has a NaN that its inputs have not.
        rates: by pair, the largest change rate of a layer on one input; ``layers`` says which layer that is.
    """

    changed: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    nan: dict[str, str] = field(default_factory=dict)
    rates: dict[tuple[str, str], float] = field(default_factory=dict)
    layers: dict[tuple[str, str], str] = field(default_factory=dict)
    highlighted: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    accused: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def measures(self) -> Measures:
        found = {
            LABELS: {pair_name(*pair): [float(len(rows))] for pair, rows in self.changed.items()},
            NAN_LAYERS: {target: [1.0] for target in self.nan},
            TOP_RATE: {pair_name(*pair): [rate] for pair, rate in self.rates.items()},
            ACCUSED: {pair_name(*pair): counts for pair, counts in self.accused.items()},
        }
        return {name: by_target for name, by_target in found.items() if by_target}


class AudeeMeasures(Stepwise):
    """Counts what the paper counts, and decides nothing."""

    settings: ClassVar[tuple[str, ...]] = ()

    only_measures = True

    def steps(self, seen: Seen) -> Steps:
        looked = yield from look(seen)
        yield from _localized(seen.case, looked)
        told = {TOP_LAYER: {pair_name(*pair): key for pair, key in looked.layers.items()}}
        return Judged((Verdict(Judgement.PASS, seen.targets, "measured"),), measures=looked.measures(), told=told)


class Audee(Stepwise):
    """The paper's three oracles decide; which layer it is, and which parameter, Algorithm 2 says.

    Settings: ``t1`` and ``t2`` of Algorithm 2; ``localize`` false leaves it out.
    """

    settings: ClassVar[tuple[str, ...]] = ("t1", "t2", "localize")
    defaults: ClassVar[Mapping[str, object]] = {"t1": T1, "t2": T2}

    name = "audee"
    role = WHOLE_MODELS

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        given = setup.settings
        self._thresholds = Thresholds(float(given.get("t1", T1)), float(given.get("t2", T2)))
        self._localizes = bool(given.get("localize", True))

    def steps(self, seen: Seen) -> Steps:
        looked = yield from look(seen)
        found = [*_endings(seen), *_nan(seen, looked), *_inconsistent(seen, looked)]
        if self._localizes and _is_about_a_place(seen.claim):
            found = yield from _located(found, self._thresholds)
        verdicts = [_verdict(suspicion) for suspicion in found]
        told = {pair for suspicion in found for pair in itertools.combinations(suspicion.diagnosis.suspects, 2)}
        verdicts += [Verdict(Judgement.PASS, pair, "the same labels") for pair in looked.changed if pair not in told]
        left = [in_words(target, outcome) for target, outcome in seen.own.items() if not outcome.completed]
        if not verdicts:
            verdicts = [Verdict(Judgement.UNDECIDED, seen.targets, left[0] if left else "nothing to compare")]
        return Judged(tuple(verdicts), tuple(found), measures=looked.measures())


def _localized(case: Case, looked: _Looked) -> Asking[None]:
    """Table 2: what Algorithm 2 accuses of every pair with other labels, beside what CRADLE's rule does."""
    graph = case.subject
    for pair, rows in looked.changed.items():
        if rows and isinstance(graph, LayerGraph):
            one = some_rows(case, rows[0], rows[0] + 1)
            places = yield from localize_by_rates(one, pair, Thresholds())
            guilty, red = {place.node for place in places}, looked.highlighted.get(pair, set())
            innocent = len(graph.nodes) - len(guilty)
            looked.accused[pair] = [float(len(places)), float(len(red)), float(len(red - guilty)), float(innocent)]


def _is_about_a_place(claim: Key | None) -> bool:
    """Whether a layer may be part of what is claimed: who confirms it has to name the layer again."""
    return not is_whole(claim) or bool(claim[3])


def _located(found: Sequence[Suspicion], thresholds: Thresholds) -> Asking[list[Suspicion]]:
    """Inconsistencies with the places that Algorithm 2 names; none means precision, which the paper filters out."""
    told = []
    for suspicion in found:
        if suspicion.kind is Kind.INCONSISTENCY and isinstance(suspicion.case.subject, LayerGraph):
            a, b = suspicion.targets
            places = yield from localize_by_rates(suspicion.case, (a, b), thresholds)
            suspicion = _with_places(suspicion, places)
        told.append(suspicion)
    return told


def _with_places(suspicion: Suspicion, places: Sequence[Place]) -> Suspicion:
    diagnosis = suspicion.diagnosis
    evidence = observed("paper-places", places=[str(place) for place in places])
    first = places[0].node if places else None
    api, _ = _layer_of(suspicion.case, first) if first else (None, {})
    klass = diagnosis.klass if places else Class.PRECISION
    changed = replace(diagnosis, klass=klass, node=first, api=api, evidence=(*diagnosis.evidence, evidence))
    return replace(suspicion, diagnosis=changed)


def look(seen: Seen) -> Asking[_Looked]:
    """The labels of all inputs, and one traced run, of the first input that parts two targets where one does."""
    looked = _Looked()
    done = seen.completed
    for (a, one), (b, other) in itertools.combinations(done.items(), 2):
        looked.changed[a, b] = changed_labels(one, other)
    row = next((rows[0] for rows in looked.changed.values() if rows), 0)
    graph = seen.case.subject
    if not isinstance(graph, LayerGraph) or not done:
        return looked
    traced = some_rows(seen.case, row, row + 1)
    procedure = Procedure(trace=True, mode=Mode.EAGER, dtype=seen.case.procedure.dtype)
    (answer,) = yield [Check(_with(traced, procedure), tuple(done))]
    traces = {target: outcome.trace.nodes for target, outcome in answer.outcomes.items() if outcome.completed}
    looked.nan = {target: node for target, nodes in traces.items() if (node := first_nan(graph, nodes))}
    sound = [target for target in traces if target not in looked.nan]
    for a, b in itertools.combinations(sound, 2):
        layers = localization_map(graph, traces[a], traces[b], {})
        looked.highlighted[a, b] = {item.key for item in layers if item.highlighted}
        rates = {item.key: item.rate for item in layers}
        finite = {key: rate for key, rate in rates.items() if rate is not None and np.isfinite(rate)}
        if finite:
            looked.layers[a, b] = max(finite, key=lambda key: finite[key])
            looked.rates[a, b] = finite[looked.layers[a, b]]
    looked.changed = {pair: rows for pair, rows in looked.changed.items() if not set(pair) & set(looked.nan)}
    return looked


def _with(case: Case, procedure: Procedure) -> Case:
    return Case(case.subject, procedure, case.inputs, weights=case.weights, seed=case.seed)


def changed_labels(a: Outcome, b: Outcome) -> list[int]:
    """The rows whose label differs (Definition 2), of the first output that has any."""
    for name in a.outputs:
        one, other = a.outputs[name], b.outputs.get(name)
        if other is not None and one.shape == other.shape and one.ndim == 2:
            return [int(row) for row in np.flatnonzero(other_labels(one, other))]
    return []


def first_nan(graph: LayerGraph, nodes: Mapping[str, Array]) -> str:
    """The key of the first node, in the order of the graph, that gives a NaN; nothing where none does."""
    return next((node.key for node in graph.nodes if node.key in nodes and _has_nan(nodes[node.key])), "")


def _has_nan(array: Array) -> bool:
    return is_floating(array.dtype.name) and bool(np.isnan(array.astype(np.float64)).any())


def _endings(seen: Seen) -> list[Suspicion]:
    """What the paper calls a crash: a target that ends badly where another completes."""
    if not seen.completed:
        return []
    found = []
    for target, outcome in seen.own.items():
        if ended_badly(outcome):
            evidence = observed("paper-fails", target=target, reason=in_words(target, outcome))
            diagnosis = Diagnosis(Class.DEFECT, (target,), node=_node(outcome), evidence=(evidence,))
            exception = outcome.failure.type if outcome.failure else ""
            kind = KIND_OF_ENDING[outcome.status]
            found.append(Suspicion(kind, diagnosis, seen.case, tuple(seen.own), exception))
    return found


def _node(outcome: Outcome) -> str | None:
    return outcome.failure.node if outcome.failure else None


def _nan(seen: Seen, looked: _Looked) -> list[Suspicion]:
    found = []
    for key in dict.fromkeys(looked.nan.values()):
        targets = tuple(target for target, node in looked.nan.items() if node == key)
        api, params = _layer_of(seen.case, key)
        evidence = observed("paper-nan", targets=list(targets), layer=key)
        diagnosis = Diagnosis(Class.DEFECT, targets, node=key, api=api, parameters=params, evidence=(evidence,))
        found.append(Suspicion(Kind.NAN, diagnosis, seen.case, tuple(seen.own)))
    return found


def _inconsistent(seen: Seen, looked: _Looked) -> list[Suspicion]:
    found = []
    for pair, rows in looked.changed.items():
        if not rows:
            continue
        count = row_count(seen.case)
        evidence = observed("paper-labels", a=pair[0], b=pair[1], changed=len(rows), inputs=count)
        diagnosis = Diagnosis(
            Class.DEFECT, pair, evidence=(evidence,), measure=Measure("labels", float(len(rows))), threshold=0.0
        )
        case = some_rows(seen.case, rows[0], rows[0] + 1)
        found.append(Suspicion(Kind.INCONSISTENCY, diagnosis, case, pair))
    return found


def _layer_of(case: Case, key: str) -> tuple[str | None, dict[str, object]]:
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    node = next((node for node in graph.nodes if node.key == key), None)
    return (public_name(node.op), dict(node.params)) if node else (None, {})


def _verdict(suspicion: Suspicion) -> Verdict:
    diagnosis = suspicion.diagnosis
    reason = f"{suspicion.kind.value} by the paper's rule on {', '.join(diagnosis.suspects)}"
    return Verdict(Judgement.FAIL, diagnosis.suspects, reason, diagnosis.measure, diagnosis.threshold, suspicion.kind)
