"""Algorithm 2 to the letter: localize by the change rate, replace parameters, fix the layer, and begin again.

Layers are taken one by one: the first whose change rate exceeds t1. A parameter of it is guilty if, with some other
value, the layer alone stays below t2 on the worst input that Algorithm 1 finds. The layer is then fixed, so that those
behind it are judged by what they do themselves: by a value that clears it where the output's shape stays, else both
targets get the reference's output in its place (where there is none, that of one target). No layer is taken twice, so
it ends; where a layer cannot be fixed, it ends there and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, is_floating
from ..core.case import Case
from ..core.endings import ended_badly
from ..core.errors import TensorParityError
from ..core.graph import InputSpec, LayerGraph, Node, Ref, leading_to
from ..core.model import node_inputs
from ..core.oracle import Answer, Check
from ..core.place import CLEARS, FAILS, PERSISTS, Place, TriedValue, places_of
from ..core.procedure import Mode, Procedure
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..operators.reference.evaluate import evaluate_node, infer_shapes
from ..operators.spec import ShapeError
from .base import Asking
from .causal import VALUES, Trial, amplifier, layer_alone, stacked, trials_of, with_graph
from .masked_inputs import alone
from .measure.individuals import row_distances, rows_with_nan
from .measure.rates import EPSILON, localization_map

#: The paper's thresholds: a layer with a larger rate is inconsistent, one with a smaller one is not.
T1, T2 = 1000.0, 2.0
#: Generations of Algorithm 1 for every value of every parameter.
_GENERATIONS = 3


@dataclass(frozen=True)
class Thresholds:
    """t1 and t2 of Algorithm 2, and how many values of each parameter are tried beside the default."""

    t1: float = T1
    t2: float = T2
    values: int = VALUES


@dataclass(frozen=True)
class Localized:
    """What Algorithm 2 names.

    Args:
        unfixed: the layer that nobody could fix, so that nobody looked behind it.
    """

    places: tuple[Place, ...] = ()
    unfixed: str = ""


def localize_by_rates(case: Case, pair: tuple[str, str], thresholds: Thresholds) -> Asking[Localized]:
    """The guilty layers of one network on one input, with their guilty parameters."""
    places: list[Place] = []
    taken: set[str] = set()
    while True:
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        nodes = yield from _trace(case, pair)
        node = _first_above(graph, nodes, thresholds.t1, taken) if nodes else None
        if node is None:
            return Localized(tuple(places), "" if nodes or not places else places[-1].node)
        taken.add(node.key)
        tried = yield from _tried(case, node, nodes[pair[0]], pair, thresholds)
        places += places_of(node.key, tried)
        if _is_last(graph, node):
            return Localized(tuple(places))
        fixed = fix(case, node, nodes[pair[0]], tried)
        if fixed is None:
            return Localized(tuple(places), node.key)
        case = fixed


def localize_failure(suspicion: Suspicion, values: int = VALUES) -> Asking[Localized]:
    """The guilty parameters of a layer that gives NaN or ends badly: those of which another value ends that."""
    key = suspicion.diagnosis.node
    single = layer_alone(suspicion.case, key) if key else None
    if key is None or single is None:
        return Localized((Place(key),) if key else ())
    targets = tuple(target for target in suspicion.targets if target in suspicion.diagnosis.suspects)
    trials = list(trials_of(single, values))
    itself, *answers = yield [Check(single, targets), *(Check(trial.case, targets) for trial in trials)]
    if judge_failure(itself, suspicion.kind) != PERSISTS:
        return Localized((Place(key),))  # it takes more than this layer
    tried = tuple(
        TriedValue(trial.parameter, trial.value, judge_failure(answer, suspicion.kind))
        for trial, answer in zip(trials, answers, strict=True)
    )
    return Localized(tuple(places_of(key, tried)))


def judge_failure(answer: Answer, kind: Kind) -> str:
    """Whether the failure is still there; another one is none that a value clears."""
    outcomes = list(answer.outcomes.values())
    ended = any(map(ended_badly, outcomes))
    if kind is not Kind.NAN and ended:
        return PERSISTS
    if not outcomes or not all(outcome.completed for outcome in outcomes):
        return FAILS
    if any(_has_nan(array) for outcome in outcomes for array in outcome.outputs.values()):
        return PERSISTS if kind is Kind.NAN else FAILS
    return CLEARS


def _is_last(graph: LayerGraph, node: Node) -> bool:
    """Whether nothing stands behind it."""
    return not any(ref.node == node.name for own in graph.nodes for ref in own.inputs)


def _trace(case: Case, pair: tuple[str, str]) -> Asking[dict[str, Mapping[str, Array]]]:
    """What every node gives on both targets; nothing where one does not complete it."""
    traced = replace(case, procedure=Procedure(trace=True, mode=Mode.EAGER, dtype=case.procedure.dtype))
    (answer,) = yield [Check(traced, pair)]
    done = {target: outcome.trace.nodes for target, outcome in answer.outcomes.items() if outcome.completed}
    return done if len(done) == len(pair) else {}


def _first_above(
    graph: LayerGraph, nodes: Mapping[str, Mapping[str, Array]], t1: float, taken: set[str]
) -> Node | None:
    """The first layer whose change rate exceeds t1; one that is not a number does."""
    one, other = nodes.values()
    rates = {item.key: item.rate for item in localization_map(graph, one, other, {})}
    above = (node for node in graph.nodes if _exceeds(rates.get(node.key), t1) and node.key not in taken)
    return next(above, None)


def _exceeds(rate: float | None, t1: float) -> bool:
    return rate is not None and not rate <= t1


# Parameters


def _tried(
    case: Case, node: Node, nodes: Mapping[str, Array], pair: tuple[str, str], thresholds: Thresholds
) -> Asking[tuple[TriedValue, ...]]:
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    try:
        single = alone(node, node_inputs(graph, node, case.inputs, nodes), case.weights, case.seed)
    except (KeyError, ValueError, ShapeError, TensorParityError):
        return ()
    trials = list(trials_of(single, thresholds.values))
    answers = yield [Check(trial.case, pair) for trial in trials]
    found = {place: judge_rates(answer, thresholds.t2) for place, answer in enumerate(answers)}
    found |= yield from _worst(trials, found, pair, thresholds.t2)
    return tuple(TriedValue(trial.parameter, trial.value, found[place]) for place, trial in enumerate(trials))


def judge_rates(answer: Answer, t2: float) -> str:
    """A network of one layer has nothing before it: its change rate is its distance by epsilon, of the worst row."""
    arrays = (array for outcome in answer.outcomes.values() for array in outcome.outputs.values())
    return FAILS if any(map(_has_nan, arrays)) else judge_moved(answer, t2)


def judge_moved(answer: Answer, t2: float) -> str:
    """The same on inputs that were moved, of which some are beyond what any target has numbers for."""
    outcomes = list(answer.outcomes.values())
    if not all(outcome.completed for outcome in outcomes):
        return FAILS
    one, other = ([array for array in outcome.outputs.values() if array.ndim] for outcome in outcomes)
    if [array.shape for array in one] != [array.shape for array in other]:
        return PERSISTS
    if any(bool((rows_with_nan(a) != rows_with_nan(b)).any()) for a, b in zip(one, other, strict=True)):
        return FAILS
    worst = max((float(row_distances(a, b).max(initial=0.0)) for a, b in zip(one, other, strict=True)), default=0.0)
    return CLEARS if worst / EPSILON < t2 else PERSISTS


def _has_nan(array: Array) -> bool:
    return is_floating(array.dtype.name) and bool(np.isnan(array.astype(np.float64)).any())


def _worst(trials: list[Trial], found: Mapping[int, str], pair: tuple[str, str], t2: float) -> Asking[dict[int, str]]:
    """Algorithm 1 on the input of each layer that is clear so far."""
    clear = {place: trials[place].case for place, outcome in found.items() if outcome == CLEARS}
    left = dict.fromkeys(clear, CLEARS)
    searches = {place: search for place, case in clear.items() if (search := amplifier(case)) is not None}
    for _ in range(_GENERATIONS):
        live = [place for place in searches if left[place] == CLEARS]
        answers = yield [Check(stacked(clear[place], searches[place]), pair) for place in live]
        for place, answer in zip(live, answers, strict=True):
            left[place] = judge_moved(answer, t2)
            searches[place].tell(_fitness(answer, len(searches[place].children)))
    return left


def _fitness(answer: Answer, rows: int) -> list[float]:
    outputs = [next(iter(outcome.outputs.values()), None) for outcome in answer.outcomes.values()]
    alike = [output for output in outputs if output is not None and output.ndim and len(output) == rows]
    if len(alike) < 2 or alike[0].shape != alike[1].shape:
        return [0.0] * rows
    return [float(value) for value in row_distances(alike[0], alike[1])]


# Fixing


def fix(case: Case, node: Node, nodes: Mapping[str, Array], tried: tuple[TriedValue, ...]) -> Case | None:
    """The network in which this layer is alike on both targets; None where it gives several things that are not."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    for one in tried:
        if one.outcome == CLEARS and (fixed := _with_value(case, node, one)) is not None:
            return fixed
    right = _right_output(case, node, nodes)
    return None if right is None else _cut(case, graph, node, np.asarray(right, np.float32))


def _right_output(case: Case, node: Node, nodes: Mapping[str, Array]) -> Array | None:
    """The reference's output, else that of one target; None where somebody reads another one of several."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    if any(_is_more(ref, node) for own in graph.nodes for ref in own.inputs):
        return None
    try:
        given = node_inputs(graph, node, case.inputs, nodes)
        return evaluate_node(node, given, case.weights, dtype=case.procedure.dtype)[0].value
    except (KeyError, ValueError, ShapeError, TensorParityError):
        return nodes.get(node.key)


def _is_more(ref: Ref, node: Node) -> bool:
    return ref.node == node.name and ref.index > 0


def _with_value(case: Case, node: Node, one: TriedValue) -> Case | None:
    """The network with a clearing value, if nothing changes its shape; weights that no longer fit are drawn anew."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    params = {**node.params, one.parameter: list(one.value) if isinstance(one.value, tuple) else one.value}
    other = replace(
        graph, nodes=tuple(replace(own, params=params) if own.layer == node.layer else own for own in graph.nodes)
    )
    try:
        before, after = (infer_shapes(item, 1) for item in (graph, other))
        return with_graph(case, other) if before == after else None
    except (ShapeError, TensorParityError):
        return None


def _cut(case: Case, graph: LayerGraph, node: Node, right: Array) -> Case | None:
    """Both targets get the reference's output in the place of the layer."""
    if any(ref.node == node.name for ref in graph.outputs):
        return None  # it is the last one: nothing stands behind it
    others = tuple(own for own in graph.nodes if own.name != node.name)
    needed = leading_to(others, [ref.node for ref in graph.outputs])
    kept = tuple(own for own in others if own.name in needed)
    left = tuple(item for item in graph.inputs if item.name in needed)
    spec = InputSpec(node.name, right.shape[1:])
    other = LayerGraph((*left, spec), kept, graph.outputs, graph.name)
    inputs = {item.name: case.inputs[item.name] for item in left}
    layers = {own.layer for own in kept}
    weights = {name: array for name, array in case.weights.items() if name.partition("/")[0] in layers}
    return replace(case, subject=other, inputs={**inputs, node.name: right}, weights=weights)
