"""Causal testing (Algorithm 2): which parameter of a guilty layer is it? Each is given other values, one at a time.

A layer is run alone, on the input that showed its fault, with one parameter replaced by another value of the
catalogue. A parameter is guilty if one of these values ends the failure, also on inputs that Algorithm 1 moves towards
the largest difference. Whether it has ended is for the oracle of that kind of case to say: an error below what
rounding explains, a call that completes. It is asked for any finding that has a guilty layer, whoever found it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array, Arrays, is_floating
from ..core.case import Case
from ..core.endings import ENDING_KINDS, ended_badly
from ..core.errors import TensorParityError
from ..core.evolution import Evolution, Genes, SearchSettings, spread
from ..core.finding import Class
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from ..core.model import node_inputs
from ..core.oracle import Answer, Check, Judged, Seen, Setup
from ..core.place import CLEARS, FAILS, PERSISTS, UNDECIDED, Place, TriedValue, places_of
from ..core.population import GeneRange
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Verdict
from ..operators.catalogue import has_layer, layer
from ..operators.reference.evaluate import draw_weights, infer_shapes
from ..operators.spec import Parameter, ShapeError
from .base import Asking, Steps, Stepwise
from .kinds import oracle_of
from .layers import activations
from .masked_inputs import alone
from .measure.individuals import row_distances

#: The oracle's name, and the fact that it gives.
CAUSAL, PLACES = "causal", "places"
#: Values of one parameter that are tried, beside the default; and all of them.
VALUES, EVERY = 2, 1000
#: Algorithm 1 on the inputs of one layer: few and small, because every value of every parameter has its own.
AMPLIFYING = SearchSettings(size=12, parents=3, scale=1.0)
_GENERATIONS = 2
_TABLE = 1


class Causal(Stepwise):
    """Says of every layer that is guilty in a case which of its parameters are.

    Settings: ``values``, how many of each parameter are tried beside the default.
    """

    settings: ClassVar[tuple[str, ...]] = ("values",)
    defaults: ClassVar[Mapping[str, object]] = {"values": VALUES}

    name = CAUSAL

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._most = int(setup.settings.get("values", VALUES))

    def steps(self, seen: Seen) -> Steps:
        (answer,) = yield [Check(seen.case, seen.targets, oracle_of(seen.case))]
        assert answer.judged is not None  # a check without a key is never skipped
        places: list[Place] = []
        for suspicion in guilty_layers(answer.judged):
            places += yield from guilty_parameters(suspicion, self._most)
        verdict = Verdict(Judgement.PASS, seen.targets, f"{len(places)} places are guilty")
        told = {PLACES: [place.to_json() for place in places]}
        return Judged((verdict,), told=told, facts={PLACES: tuple(places)})


def guilty_layers(judged: Judged) -> list[Suspicion]:
    """One suspicion for each layer that is wrong."""
    found: dict[str, Suspicion] = {}
    for suspicion in judged.suspicions:
        if suspicion.diagnosis.klass is Class.DEFECT and suspicion.diagnosis.node:
            found.setdefault(suspicion.diagnosis.node, suspicion)
    return list(found.values())


@dataclass(frozen=True)
class Trial:
    """A layer alone with another value of one parameter."""

    parameter: str
    value: Json
    case: Case


def guilty_parameters(suspicion: Suspicion, most: int = VALUES) -> Asking[list[Place]]:
    """The guilty parameters of the layer that a suspicion names; so many values of each are tried."""
    node = suspicion.diagnosis.node or ""
    case = layer_alone(suspicion.case, node)
    if case is None:
        return [Place(node)]
    trials = list(trials_of(case, most))
    answers = yield [_check(suspicion, trial.case) for trial in trials]
    found = {
        place: _outcome(suspicion, trial.case, answer)
        for place, (trial, answer) in enumerate(zip(trials, answers, strict=True))
    }
    clear = [place for place, outcome in found.items() if outcome == CLEARS]
    found |= yield from _amplified(suspicion, {place: trials[place].case for place in clear})
    tried = tuple(TriedValue(trial.parameter, trial.value, found[place]) for place, trial in enumerate(trials))
    return places_of(node, tried)


# The layer alone


def layer_alone(case: Case, key: str) -> Case | None:
    """The case as it is if it is that one layer, else the layer on what flows into it; None where nobody knows that."""
    graph = case.subject
    if not isinstance(graph, LayerGraph):
        return None
    node = next((node for node in graph.nodes if node.key == key), None)
    if node is None or not has_layer(node.op):
        return None
    if len(graph.nodes) == 1:
        return case
    before = _leading_to(graph, node)
    values = activations(replace(case, subject=before)) if before.nodes else {}
    try:
        given = node_inputs(graph, node, case.inputs, values)
        single = alone(node, given, case.weights, case.seed)
    except (KeyError, ValueError, ShapeError, TensorParityError):
        return None
    return replace(single, procedure=replace(single.procedure, dtype=case.procedure.dtype))


def _leading_to(graph: LayerGraph, node: Node) -> LayerGraph:
    needed = graph.leading_to(node.name) - {node.name}
    nodes = tuple(other for other in graph.nodes if other.name in needed)
    return LayerGraph(graph.inputs, nodes, tuple(node.inputs), graph.name)


# Other values


def other_values(parameter: Parameter, value: Json, most: int = VALUES) -> list[Json]:
    """What else a parameter may be: its default first, then so many others of the catalogue."""
    known = [] if parameter.required else [parameter.default]
    found: list[Json] = []
    for item in (*known, *parameter.valid):
        if _plain(item) not in [_plain(other) for other in (*found, value)]:
            found.append(item)
    return found[: most + len(known)]


def _plain(value: Json) -> Json:
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return items[0] if items and all(item == items[0] for item in items) else items
    return (type(value).__name__, value) if isinstance(value, bool) else value


def trials_of(case: Case, most: int = VALUES) -> Iterator[Trial]:
    """A layer alone with other values, one parameter at a time."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    node = graph.nodes[-1]
    spec = layer(node.op)
    for parameter in spec.parameters:
        if parameter.data or parameter.rare:
            continue
        value = spec.complete(node.params)[parameter.name]
        for other in other_values(parameter, value, most):
            replaced = with_value(case, parameter.name, other)
            if replaced is not None:
                yield Trial(parameter.name, other, replaced)


def with_value(case: Case, parameter: str, value: Json) -> Case | None:
    """The layer with another value; weights whose shape changes are drawn by the seed. None of what is not valid."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    node = graph.nodes[-1]
    plain = [*value] if isinstance(value, tuple) else value
    params = layer(node.op).significant({**node.params, parameter: plain})
    if layer(node.op).invalid(params) or layer(node.op).unsaid(layer(node.op).complete(params)):
        return None
    try:
        other = replace(graph, nodes=(*graph.nodes[:-1], replace(node, params=params)))
        shapes, changed = infer_shapes(other, None), with_graph(case, other)
    except (ShapeError, TensorParityError):
        return None
    indices = {ref.index for ref in graph.outputs if ref.node == node.name}
    if len(shapes[node.name]) <= max(indices, default=0) or case.labels or case.cotangents:
        return None  # what is pulled back, or compared with a label, has the old shape
    return changed


def with_graph(case: Case, graph: LayerGraph) -> Case:
    """The case of another graph; weights whose shape changes are drawn by the seed."""
    drawn = draw_weights(graph, np.random.default_rng([case.seed, 0xCA]))
    kept = {name: array for name, array in case.weights.items() if name in drawn and drawn[name].shape == array.shape}
    return replace(case, subject=graph, weights={**drawn, **kept})


# What came of it


def _check(suspicion: Suspicion, case: Case) -> Check:
    return Check(case, suspicion.targets, oracle_of(case))


def _outcome(suspicion: Suspicion, case: Case, answer: Answer) -> str:
    """Whether the failure has ended, on those that are accused of it."""
    accused = _accused(suspicion)
    outcomes = [answer.outcomes[target] for target in accused if target in answer.outcomes]
    if not outcomes or not all(outcome.completed for outcome in outcomes):
        persists = suspicion.kind in ENDING_KINDS and any(map(ended_badly, outcomes))
        return PERSISTS if persists else FAILS
    assert answer.judged is not None
    wrong = {
        name for s in answer.judged.suspicions if s.diagnosis.klass is Class.DEFECT for name in s.diagnosis.suspects
    }
    if wrong & {*accused, *suspicion.diagnosis.suspects}:
        return PERSISTS
    if suspicion.kind in ENDING_KINDS:
        return CLEARS
    if wrong - answer.outcomes.keys() or _are_beyond_rounding(accused, answer.judged):
        return UNDECIDED  # all are wrong with this value, which hides whether the failure is still there
    # where the other one does not run such a value, nobody is left to be held against
    together = all(outcome.completed for outcome in answer.outcomes.values())
    return CLEARS if together and not answer.judged.undecided else UNDECIDED


def _are_beyond_rounding(accused: Sequence[str], judged: Judged) -> bool:
    """Whether the accused are further from the truth than rounding explains, though nobody is to blame for it."""
    passed = (v for v in judged.verdicts if v.judgement is Judgement.PASS and set(v.targets) & set(accused))
    return any(v.measure and v.threshold is not None and not v.measure.value <= v.threshold for v in passed)


def _accused(suspicion: Suspicion) -> list[str]:
    """The targets among the suspects; all of them where shared code is accused."""
    named = [target for target in suspicion.targets if target in suspicion.diagnosis.suspects]
    return named or list(suspicion.targets)


# Algorithm 1, on the inputs of a layer


def _amplified(suspicion: Suspicion, cases: Mapping[int, Case]) -> Asking[dict[int, str]]:
    """Those cases that clear, on inputs that are moved towards the largest difference; what persists, or fails there.

    What is undecided there tells nothing: far away, hardly anything can be told.
    """
    found = dict.fromkeys(cases, CLEARS)
    searches = {place: search for place, case in cases.items() if (search := amplifier(case)) is not None}
    for _ in range(_GENERATIONS):
        live = [place for place in searches if found[place] == CLEARS]
        moved = {place: stacked(cases[place], searches[place]) for place in live}
        answers = yield [_check(suspicion, moved[place]) for place in live]
        for place, answer in zip(live, answers, strict=True):
            outcome = _outcome(suspicion, moved[place], answer)
            found[place] = CLEARS if outcome == UNDECIDED else outcome
            searches[place].tell(_distances(answer, len(searches[place].children)))
    return found


def amplifier(case: Case) -> Evolution | None:
    """A search that moves the inputs of a layer; None where they are indices, or the layer keeps states."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    node = graph.nodes[-1]
    spec = layer(node.op)
    bounded = any(spec.domain_of(spec.complete(node.params), i).high is not None for i in range(len(node.inputs)))
    floats = {name: array[0] for name, array in case.inputs.items() if is_floating(array.dtype.name) and len(array)}
    if bounded or not floats or case.procedure.batch_size or spec.complete(node.params).get("stateful"):
        return None
    ranges = {name: GeneRange(AMPLIFYING.scale * spread(array)) for name, array in floats.items()}
    return Evolution([Genes(floats, ranges, _TABLE, AMPLIFYING.crossover)], AMPLIFYING, case.seed)


def stacked(case: Case, search: Evolution) -> Case:
    """The next generation as the rows of one case."""
    rows = [search.genes(0, place) for place in range(len(search.breed()))]
    inputs: dict[str, Array] = {
        name: np.stack([row[name] for row in rows]) if name in rows[0] else np.repeat(array[:1], len(rows), axis=0)
        for name, array in case.inputs.items()
    }
    return replace(case, inputs=inputs)


def _distances(answer: Answer, rows: int) -> Sequence[float]:
    """The fitness of every row: how far the first two targets are apart in it."""
    outputs = [_first_output(outcome.outputs) for outcome in answer.outcomes.values() if outcome.completed]
    alike = [output for output in outputs if output is not None and len(output) == rows]
    if len(alike) < 2 or alike[0].shape != alike[1].shape:
        return [0.0] * rows
    return [float(value) for value in row_distances(alike[0], alike[1])]


def _first_output(outputs: Arrays) -> Array | None:
    return next((output for output in outputs.values() if is_floating(output.dtype.name) and output.ndim), None)
