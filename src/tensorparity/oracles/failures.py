"""Whoever raised, crashed or hung is judged first, of every kind of case: each way of ending apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..core.case import ApiCall, Case
from ..core.endings import KIND_OF_ENDING, WORST_FIRST, ended_badly
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph
from ..core.messages import failing_layer, gist
from ..core.oracle import Check, Seen
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal, Procedure
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from ..operators.losses.alone import is_loss_alone
from .base import Asking
from .failure_search import ending_of, stage_of_failure
from .measure.cuts import up_to
from .measure.diagnose import public_name
from .measure.documented_freedoms import freedom_of
from .measure.exporters import suspects_of_failure
from .measure.support import as_documented, classify_failure, is_documented, is_lack
from .recipes import at_loss, at_optimizer
from .references import references
from .statements import Statement, convicts, doubts
from .subjects import TRAINING, api_of, exporters_of, node_key, only_layer, parameters_of, stage_of

Outcomes = Mapping[str, Outcome]
#: One look at some of the outcomes of a case.
Look = Callable[[Outcomes], Asking[Statement]]

NOBODY_COMPLETED = "no target completed the case"
#: A layer, and what masks and reshapes its input.
_FEW_LAYERS = 3


def each_apart(case: Case, outcomes: Outcomes, look: Look) -> Asking[Statement]:
    """Look until nobody is left who ended badly; then at what the others gave, of a call or few layers.

    There a bad ending hides no wrong answer.
    """
    first = yield from look(outcomes)
    found, rest, new = list(first.convictions), dict(outcomes), first.suspicions
    while new and (ended := {target for target, outcome in rest.items() if ended_badly(outcome)}):
        told = {name for suspicion in new for name in suspicion.diagnosis.suspects} & ended or ended
        rest = {target: outcome for target, outcome in rest.items() if target not in told}
        if not ended - told and (len(rest) < 2 or not _is_small(case)):
            break  # one alone that answered has nobody to be held against; layers would be replayed again and again
        after = yield from look(rest)
        keys = {suspicion.key for suspicion, _ in found}
        others = [item for item in after.convictions if item[0].key not in keys]
        found, new = [*found, *others], tuple(suspicion for suspicion, _ in others)
    return replace(first, convictions=tuple(found))


def _is_small(case: Case) -> bool:
    """One call, a loss alone, or one layer with what masks and shapes its input."""
    graph = case.subject
    return isinstance(graph, ApiCall) or (isinstance(graph, LayerGraph) and len(graph.nodes) <= _FEW_LAYERS)


def failures(seen: Seen, outcomes: Outcomes) -> Asking[Statement | None]:
    """What is to be said of bad endings; None where there is none, and somebody completed the case."""
    completed = any(outcome.completed for outcome in outcomes.values())
    ended = {target: outcome for target, outcome in outcomes.items() if ended_badly(outcome)}
    died = {target: outcome for target, outcome in ended.items() if outcome.status is Status.CRASHED}
    if ended and (completed or references(seen.case)):
        return convicts((yield from _with_location(seen, failure(seen, outcomes, ended), outcomes)))
    if died and len(died) < len(ended):  # the others refuse what this one dies of
        return convicts((yield from _with_location(seen, failure(seen, outcomes, died), outcomes)))
    return None if completed else doubts(NOBODY_COMPLETED)


def failure(seen: Seen, outcomes: Outcomes, ended: Outcomes) -> Suspicion:
    """Whoever ended worst, and alike: a target that died is not filed under another's exception, nor an error under
    another's word that it has no such thing.
    """
    case = seen.case
    dtype = case.procedure.dtype if isinstance(case.subject, LayerGraph) else None

    def how(outcome: Outcome) -> tuple[int, bool, str]:
        lacks = is_lack(outcome, case, seen.traits)
        return WORST_FIRST.index(outcome.status), lacks, outcome.failure.type if outcome.failure else ""

    worst = min(ended.values(), key=lambda outcome: how(outcome)[:2])
    alike = {target: outcome for target, outcome in ended.items() if how(outcome) == how(worst)}
    diagnosis = _with_place(_diagnosis(seen, outcomes, ended, alike, worst), case, worst)
    documented = is_documented(case, worst, seen.traits)
    diagnosis = classify_failure(diagnosis, worst, freedom_of(case), documented=documented, dtype=dtype)
    exception = worst.failure.type if worst.failure else ""
    kind, stage = KIND_OF_ENDING[worst.status], _stage(case, worst)
    return Suspicion(kind, diagnosis, case, tuple(outcomes), exception, stage)


def _diagnosis(seen: Seen, outcomes: Outcomes, ended: Outcomes, alike: Outcomes, worst: Outcome) -> Diagnosis:
    completed = [target for target, outcome in outcomes.items() if outcome.completed]
    exporters = exporters_of(seen)
    suspects = [
        name for target in alike for name in suspects_of_failure(target, ended, completed, exporters, seen.traits)
    ]
    told = (*alike.items(), *((target, outcome) for target, outcome in ended.items() if target not in alike))
    api, parameters = api_of(seen.case, seen.traits, suspects), parameters_of(seen.case)
    return Diagnosis(
        Class.DEFECT,
        tuple(dict.fromkeys(suspects)),
        node=worst.failure.node if worst.failure and worst.failure.node else node_key(seen.case),
        api=api,
        parameters=parameters,
        evidence=tuple(ending_of(outcome, api or "", parameters) for _, outcome in told if outcome.failure),
    )


def in_words(target: str, outcome: Outcome) -> str:
    """How a target ended, in one line."""
    failure = outcome.failure
    return f"{target} {outcome.status.value}" + (f": {failure.type}: {gist(failure.message)}" if failure else "")


def _stage(case: Case, worst: Outcome) -> Stage:
    stage = stage_of(case)
    return stage_of_failure(worst.failure, stage) if case.procedure.goal in TRAINING else stage


def _with_place(diagnosis: Diagnosis, case: Case, worst: Outcome) -> Diagnosis:
    """Of a loss alone it is the loss that ended, in an update the optimizer."""
    if is_loss_alone(case):
        return at_loss(diagnosis, case)
    updating = worst.failure is not None and worst.failure.stage == Stage.UPDATE.value
    return at_optimizer(diagnosis, case) if updating and case.procedure.optimizer else diagnosis


# Where a graph of several layers ended


def _with_location(seen: Seen, suspicion: Suspicion, outcomes: Outcomes) -> Asking[Suspicion]:
    """Where a graph ends badly: the node that was running when it is run step by step, or what the message says."""
    case, diagnosis = suspicion.case, suspicion.diagnosis
    first = next((target for target in diagnosis.suspects if target in outcomes), None)
    if diagnosis.api is not None or first is None or not _has_layers(case):
        return suspicion
    like = case.procedure
    stepwise = replace(case, procedure=Procedure(trace=True, training=like.training, dtype=like.dtype))
    (answer,) = yield [Check(stepwise, (first,))]
    failed, ended = answer.outcomes[first].failure, outcomes[first].failure
    node = (failed.node if failed else None) or (ended.node if ended else None)
    op = _op_of(case, node) or failing_layer(ended.message if ended else "")
    if case.procedure.reload and not failed:
        unloaded = yield from _first_not_loaded(case, first)
        node, op = (unloaded, _op_of(case, unloaded)) if unloaded else (node, op)
    if not op:
        return suspicion
    diagnosis = replace(diagnosis, node=node, api=public_name(op))
    if diagnosis.klass is Class.UNSUPPORTED and failed and is_documented(stepwise, answer.outcomes[first], seen.traits):
        diagnosis = as_documented(diagnosis)
    return replace(suspicion, diagnosis=diagnosis)


def _has_layers(case: Case) -> bool:
    several = isinstance(case.subject, LayerGraph) and only_layer(case) is None
    return several and case.procedure.goal is Goal.FORWARD


def _first_not_loaded(case: Case, target: str) -> Asking[str | None]:
    """The first node with which a model can be built, but not saved and loaded."""
    assert isinstance(case.subject, LayerGraph)
    nodes, like = case.subject.nodes, case.procedure
    ways = [Procedure(training=like.training, dtype=like.dtype, reload=reload) for reload in (False, True)]
    answers = yield [Check(up_to(case, node, way), (target,)) for node in nodes for way in ways]
    outcomes = iter([answer.outcomes[target] for answer in answers])
    for node in nodes:
        built, loaded = next(outcomes), next(outcomes)
        if built.completed and ended_badly(loaded):
            return node.key
    return None


def _op_of(case: Case, key: str | None) -> str:
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    return next((node.op for node in graph.nodes if node.key == key), "")
