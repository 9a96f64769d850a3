"""Audee's oracles, to the letter: crashes, NaN in the output of any layer, and another label (Definition 2).

``audee`` decides by them; ``audee_measures`` stands beside whoever decides and only counts, for the paper's tables.
Labels are compared only where nothing crashed or gave NaN.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from ..core.case import Case
from ..core.endings import KIND_OF_ENDING, ended_badly
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Outcome
from ..core.rows import row_count, some_rows, these_rows
from ..core.signature import Key, is_whole
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Verdict
from .audee_localization import T1, T2, Localized, Thresholds, localize_by_rates, localize_failure
from .audee_looking import Looked, look
from .base import Asking, Steps, Stepwise
from .causal import VALUES
from .failures import in_words
from .kinds import WHOLE_MODELS
from .measure.diagnose import public_name
from .measure.individuals import pair_name

#: The oracle that only measures, by name; and what it tells of every pair: the layer with the largest change rate.
MEASURES, TOP_LAYER = "audee_measures", "top_layer"


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

    Settings: ``t1`` and ``t2`` of Algorithm 2, ``values`` of each parameter that it tries; ``localize`` false leaves it
    out.
    """

    settings: ClassVar[tuple[str, ...]] = ("t1", "t2", "values", "localize")
    defaults: ClassVar[Mapping[str, object]] = {"t1": T1, "t2": T2, "values": VALUES}

    name = "audee"
    role = WHOLE_MODELS

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        given = setup.settings
        self._thresholds = Thresholds(
            float(given.get("t1", T1)), float(given.get("t2", T2)), int(given.get("values", VALUES))
        )
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


def _localized(case: Case, looked: Looked) -> Asking[None]:
    """Table 2: what Algorithm 2 accuses of every pair with other labels, beside what CRADLE's rule does."""
    graph = case.subject
    for pair, rows in looked.changed.items():
        if rows and isinstance(graph, LayerGraph):
            one = some_rows(case, rows[0], rows[0] + 1)
            found = yield from localize_by_rates(one, pair, Thresholds())
            guilty, red = {place.node for place in found.places}, looked.highlighted.get(pair, set())
            innocent = len(graph.nodes) - len(guilty)
            looked.accused[pair] = [
                float(len(found.places)),
                float(len(red)),
                float(len(red - guilty)),
                float(innocent),
            ]


def _is_about_a_place(claim: Key | None) -> bool:
    """Whether a layer may be part of what is claimed: who confirms it has to name the layer again."""
    return not is_whole(claim) or bool(claim[3])


def _located(found: Sequence[Suspicion], thresholds: Thresholds) -> Asking[list[Suspicion]]:
    """What was found, with the places that Algorithm 2 names: of NaN and of what ends badly, one layer's parameters."""
    told = []
    for suspicion in found:
        if not isinstance(suspicion.case.subject, LayerGraph):
            told.append(suspicion)
        elif suspicion.kind is Kind.INCONSISTENCY:
            a, b = suspicion.targets
            places = yield from localize_by_rates(suspicion.case, (a, b), thresholds)
            told.append(_with_places(suspicion, places))
        else:
            places = yield from localize_failure(suspicion, thresholds.values)
            told.append(_with_evidence(suspicion, places) if places.places else suspicion)
    return told


def _with_places(suspicion: Suspicion, found: Localized) -> Suspicion:
    """An inconsistency without a place is precision, which the paper filters out."""
    diagnosis = suspicion.diagnosis
    first = found.places[0].node if found.places else None
    api, _ = _layer_of(suspicion.case, first) if first else (None, {})
    klass = diagnosis.klass if found.places else Class.PRECISION
    changed = replace(diagnosis, klass=klass, node=first, api=api)
    return _with_evidence(replace(suspicion, diagnosis=changed), found)


def _with_evidence(suspicion: Suspicion, found: Localized) -> Suspicion:
    """What Algorithm 2 said, with every value that was tried."""
    tried = {place.node: [one.to_json() for one in place.tried] for place in found.places if place.tried}
    evidence = observed(
        "paper-places",
        places=[str(place) for place in found.places],
        tried=tried,
        unfixed=found.unfixed,
        kind=suspicion.kind.value,
    )
    diagnosis = suspicion.diagnosis
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, evidence)))


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


def _nan(seen: Seen, looked: Looked) -> list[Suspicion]:
    found = []
    for key in dict.fromkeys(where.node for where in looked.nan.values()):
        own = {target: where.row for target, where in looked.nan.items() if where.node == key}
        api, params = _layer_of(seen.case, key)
        evidence = observed("paper-nan", targets=list(own), layer=key)
        diagnosis = Diagnosis(
            Class.DEFECT, tuple(own), node=key if api else None, api=api, parameters=params, evidence=(evidence,)
        )
        case = these_rows(seen.case, sorted(set(own.values())))
        found.append(Suspicion(Kind.NAN, diagnosis, case, tuple(seen.own)))
    return found


def _inconsistent(seen: Seen, looked: Looked) -> list[Suspicion]:
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
    nodes = case.subject.nodes if isinstance(case.subject, LayerGraph) else ()
    node = next((node for node in nodes if node.key == key), None)
    return (public_name(node.op), dict(node.params)) if node else (None, {})


def _verdict(suspicion: Suspicion) -> Verdict:
    diagnosis = suspicion.diagnosis
    reason = f"{suspicion.kind.value} by the paper's rule on {', '.join(diagnosis.suspects)}"
    return Verdict(Judgement.FAIL, diagnosis.suspects, reason, diagnosis.measure, diagnosis.threshold, suspicion.kind)
