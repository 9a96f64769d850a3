"""One case, examined: run on targets and judged. Replay, reduce, localize and confirm all go through here.

The judge is the one of the case's own kind: a layer or a call by its reference, a graph by its layers, a
backward pass or a training by the vote. Whoever ended badly is judged first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating
from ..core.case import ApiCall, Case, ModelFile
from ..core.errors import TensorParityError
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.messages import failing_layer, gist
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.verdict import Judgement, Kind, Measure, Stage
from ..generators.onnx_files import inspect_onnx_file
from ..operators.api import evaluate_call
from ..operators.catalogue import has_layer, layer
from ..operators.evaluate import evaluate
from ..operators.rounding import K, error_units
from ..operators.spec import Evaluation, ShapeError
from ..oracles.pair import compare_outcomes, judge_parity
from ..oracles.roundoff import SCREEN
from ..triage.backward import accuse_gradients, judge_gradients, pulled_back
from ..triage.confirm import HANG_FACTOR
from ..triage.diagnose import accusation_of, accuse, blame, public_name
from ..triage.freedoms import excused, freedom_of
from ..triage.reduction.reducer import Checked
from ..triage.replay import NodeErrors, absolute_error, measure_node, replay_nodes
from ..triage.suspicion import Suspicion
from .examination import AMPLIFIED, fused_differences, model_of
from .judging_training import by_training
from .selection import families_of

#: A memory limit is ours, not the library's: running out of it decides nothing.
_ENDINGS = {Status.RAISED: Kind.ERROR, Status.CRASHED: Kind.CRASH, Status.TIMED_OUT: Kind.HANG}
_TRAINING = (Goal.GRADIENTS, Goal.UPDATE, Goal.FIT)

Outcomes = dict[str, Outcome]


def examine_case(
    runner: Runner, case: Case, targets: Sequence[str], *, fresh: bool = False
) -> tuple[Checked, Outcomes]:
    """Run one case on the targets and judge it; also what each target did."""
    ((checked, outcomes),) = _examine(runner, [case], targets, fresh)
    return checked, outcomes


def examine_cases(runner: Runner, cases: Sequence[Case], targets: Sequence[str]) -> list[Checked]:
    """Several cases that do not depend on each other, in one round trip; answers in their order."""
    return [checked for checked, _ in _examine(runner, cases, targets, fresh=False)]


def _examine(
    runner: Runner, cases: Sequence[Case], targets: Sequence[str], fresh: bool
) -> list[tuple[Checked, Outcomes]]:
    pairs = [(case, target) for case in cases for target in targets]
    answers = iter(runner.run_pairs(pairs, fresh=fresh))
    found: list[tuple[Checked, Outcomes]] = []
    for case in cases:
        outcomes = {target: next(answers) for target in targets}
        for target, outcome in outcomes.items():
            if fresh and outcome.status is Status.TIMED_OUT:  # alone, at ten times its deadline
                outcomes[target] = runner.run_pairs([(case, target)], fresh=True, deadline_factor=HANG_FACTOR)[0]
        found.append((_judge(runner, case, outcomes, fresh), outcomes))
    return found


def _judge(runner: Runner, case: Case, outcomes: Outcomes, fresh: bool) -> Checked:
    done = [target for target, outcome in outcomes.items() if outcome.completed]
    ended = any(outcome.status in _ENDINGS for outcome in outcomes.values())
    if done and not ended and _has_layers(case):
        return _by_layers(runner, case, {target: outcomes[target] for target in done}, fresh)
    suspicion, undecided = judge(case, outcomes)
    if suspicion and ended and suspicion.diagnosis.api is None and _has_layers(case):
        suspicion = _located(runner, suspicion, outcomes)
    return Checked((suspicion,) if suspicion else (), undecided)


# --- a graph of several layers


def _has_layers(case: Case) -> bool:
    graph = case.subject
    return isinstance(graph, LayerGraph) and len(graph.nodes) > 1 and case.procedure.goal is Goal.FORWARD


def _by_layers(runner: Runner, case: Case, outcomes: Outcomes, fresh: bool) -> Checked:
    """Every layer alone, on the reference's activations; where none is guilty, the whole against its own steps."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    targets = list(outcomes)
    values = _activations(graph, case)
    if not values:
        suspicion, undecided = judge(case, outcomes)
        return Checked((suspicion,) if suspicion else (), undecided)
    measured = list(replay_nodes(runner, model_of(case), graph.nodes, case.inputs, values, targets, fresh=fresh))
    accusations = accuse(measured, families_of(targets))
    if accusations:
        return Checked(tuple(Suspicion(a.kind, a.diagnosis, case, tuple(targets)) for a in accusations))
    _, undecided = judge(case, outcomes)
    return _fused(runner, case, outcomes, fresh) if undecided else Checked()


def _activations(graph: LayerGraph, case: Case) -> dict[str, Array]:
    """By node key, as a trace names them: the reference's, in the dtype that flows."""
    try:
        values = evaluate(graph, case.inputs, case.weights)
    except (TensorParityError, ShapeError):
        return {}
    wanted = case.procedure.dtype or "float32"
    dtype = wanted if is_floating(wanted) and wanted != "bfloat16" else "float32"
    with np.errstate(all="ignore"):
        return {
            key if index == 0 else f"{key}.{index}": output.value.astype(dtype)
            for key, outputs in values.items()
            for index, output in enumerate(outputs)
        }


def _fused(runner: Runner, case: Case, outcomes: Outcomes, fresh: bool) -> Checked:
    stepwise = replace(case, procedure=replace(case.procedure, trace=True))
    pairs = [(stepwise, target) for target in outcomes]
    traces = {outcome.target: outcome for outcome in runner.run_pairs(pairs, fresh=fresh) if outcome.completed}
    rows = list(range(len(next(iter(case.inputs.values())))))
    for name in dict.fromkeys(name for trace in traces.values() for name in trace.outputs):
        apart = fused_differences(outcomes, traces, name, rows)
        for target, (units, relative) in apart.items():
            others = [other for t, (other, _) in apart.items() if t != target]
            if relative > AMPLIFIED and others and max(others) <= SCREEN:
                said = f"{target} gives another answer as a whole than layer by layer ({relative:.3g} of its scale)"
                measure = Measure("roundoff", units)
                evidence = (said, "only when fused")
                diagnosis = Diagnosis(Class.DEFECT, (target,), evidence=evidence, measure=measure, threshold=SCREEN)
                return Checked((Suspicion(Kind.INCONSISTENCY, diagnosis, case, tuple(outcomes)),))
    return Checked(undecided="the outputs differ, though no layer does alone")


def _located(runner: Runner, suspicion: Suspicion, outcomes: Outcomes) -> Suspicion:
    """Where a graph ends badly: the node that was running when it is run step by step, or what the message says."""
    case, diagnosis = suspicion.case, suspicion.diagnosis
    first = next(target for target in diagnosis.suspects if target in outcomes)
    stepwise = replace(case, procedure=Procedure(trace=True, training=case.procedure.training))
    failure = runner.run_pairs([(stepwise, first)])[0].failure
    ended = outcomes[first].failure
    node = (failure.node if failure else None) or (ended.node if ended else None)
    op = _op_of(case, node) or failing_layer(ended.message if ended else "")
    if not op:
        return suspicion
    return replace(suspicion, diagnosis=replace(diagnosis, node=node, api=public_name(op)))


def _op_of(case: Case, key: str | None) -> str:
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    return next((node.op for node in graph.nodes if node.key == key), "")


# --- everything else


def references(case: Case) -> dict[str, Evaluation]:
    """The true outputs of a case by name, where the catalogue can say them.

    For a graph of several layers the bound is the last layer's own; upstream rounding is not in it.
    """
    try:
        if isinstance(case.subject, ApiCall):
            return {"0": evaluate_call(case.subject, dict(case.inputs))}
        if isinstance(case.subject, LayerGraph):
            return _graph_references(case.subject, case)
    except (TensorParityError, ShapeError):
        return {}
    return {}


def _graph_references(graph: LayerGraph, case: Case) -> dict[str, Evaluation]:
    values = evaluate(graph, case.inputs, case.weights)
    found: dict[str, Evaluation] = {}
    for ref in graph.outputs:
        node = graph.node(ref.node)
        found[ref.node if ref.index == 0 else f"{ref.node}.{ref.index}"] = values[node.key][ref.index]
    return found


def judge(case: Case, outcomes: Mapping[str, Outcome]) -> tuple[Suspicion | None, str]:
    """A suspicion, or why there is none to be had; neither where all is well."""
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    ended = {t: o for t, o in outcomes.items() if o.status in _ENDINGS}
    truth = references(case)
    if ended and (completed or truth):
        return _ending(case, outcomes, ended), ""
    died = {t: o for t, o in ended.items() if o.status is Status.CRASHED}
    if died and len(died) < len(ended):  # the others refuse what this one dies of
        return _ending(case, outcomes, died), ""
    if not completed:
        return None, "no target completed the case"
    if truth and _single_step(case) and not case.procedure.training:
        return _by_reference(case, outcomes, completed, truth)
    if case.procedure.goal in _TRAINING and len(completed) > 1:
        return by_training(case, list(outcomes), completed)
    if case.cotangents and len(completed) > 1:
        return _by_gradients(case, outcomes)
    if len(completed) > 2 and isinstance(case.subject, ModelFile) and case.procedure.goal is Goal.REPLAY:
        return _by_vote(case, case.subject, outcomes)
    return _by_pairs(case, outcomes, completed)


def _single_step(case: Case) -> bool:
    if isinstance(case.subject, ApiCall):
        return True
    graph = case.subject
    return isinstance(graph, LayerGraph) and len(graph.nodes) == 1 and case.procedure.goal is Goal.FORWARD


def _by_reference(
    case: Case, outcomes: Mapping[str, Outcome], completed: Mapping[str, Outcome], truth: Mapping[str, Evaluation]
) -> tuple[Suspicion | None, str]:
    """One layer or call against its reference, by the same rule that blames in an examination."""
    errors = NodeErrors(
        _node_of(case),
        {target: _largest_error(outcome, truth) for target, outcome in completed.items()},
        {target: _largest_distance(outcome, truth) for target, outcome in completed.items()},
        mutual=_largest_mutual(list(completed.values()), truth),
    )
    klass, suspects = blame(errors, families_of(list(completed)))
    above = tuple(target for target, error in errors.errors.items() if error > K)
    if klass is None and len(completed) == 1 and above:
        klass, suspects = Class.DEFECT, above  # the others convicted it when the case was filed
    if klass is None:
        return None, "all targets agree with each other, and not with the reference" if above else ""
    accusation = accusation_of(klass, suspects, [errors])
    diagnosis = replace(accusation.diagnosis, api=_api(case), parameters=_parameters(case), node=_node(case))
    freedom = freedom_of(case, diagnosis.api)
    diagnosis = excused(diagnosis, freedom) if freedom else diagnosis
    return Suspicion(accusation.kind, diagnosis, case, tuple(outcomes), stage=stage_of(case)), ""


def _node_of(case: Case) -> Node:
    if isinstance(case.subject, LayerGraph):
        return case.subject.nodes[-1]
    return Node("call", _api(case) or "call", ())


def _largest_distance(outcome: Outcome, truth: Mapping[str, Evaluation]) -> float:
    return max((absolute_error(outcome.outputs.get(name), value) for name, value in truth.items()), default=0.0)


def _largest_mutual(outcomes: Sequence[Outcome], truth: Mapping[str, Evaluation]) -> float:
    worst = 0.0
    for a, b in itertools.combinations(outcomes, 2):
        for name, value in truth.items():
            if name in a.outputs and name in b.outputs:
                other = Evaluation(b.outputs[name].astype("float64"), value.kappa)
                worst = max(worst, _largest_error(a, {name: other}))
    return worst


def _largest_error(outcome: Outcome, truth: Mapping[str, Evaluation]) -> float:
    worst = 0.0
    for name, evaluation in truth.items():
        if name not in outcome.outputs or outcome.outputs[name].shape != evaluation.value.shape:
            return float("inf")
        output = outcome.outputs[name]
        worst = max(worst, float(error_units(output, evaluation, dtype_name(output)).max(initial=0.0)))
    return worst


def _by_vote(case: Case, file: ModelFile, outcomes: Mapping[str, Outcome]) -> tuple[Suspicion | None, str]:
    """A layer of a file that no reference knows, run alone: three targets or more decide."""
    key = case.procedure.nodes[0]
    node = _node_in_file(file, key)
    errors = measure_node(node, list(case.inputs.values()), case.weights, outcomes)
    accusations = accuse([errors], families_of(list(outcomes)))
    if not accusations:
        return None, f"the targets do not agree on {key}, and no two against the others" if errors.disputed else ""
    (accusation,) = accusations
    diagnosis = accusation.diagnosis
    if file.format != "onnx":
        diagnosis = replace(diagnosis, api=None)  # what kind of layer it is stands in the file alone
    return Suspicion(accusation.kind, diagnosis, case, tuple(outcomes)), ""


def _by_gradients(case: Case, outcomes: Mapping[str, Outcome]) -> tuple[Suspicion | None, str]:
    """The backward pass of one layer: three targets or more decide."""
    key = case.procedure.nodes[0]
    node = case.subject.nodes[-1] if isinstance(case.subject, LayerGraph) else Node(key.partition("#")[0], key, ())
    answers = {target: outcome.trace.gradients for target, outcome in outcomes.items()}
    found = judge_gradients(node, answers, pulled_back(case))
    accusation = accuse_gradients(found, families_of(list(outcomes)))
    if accusation is None:
        decided = found.errors.judged_by != "nothing" or found.errors.mutual <= found.errors.limit
        return None, "" if decided else "gradients are judged by three targets or more"
    return Suspicion(accusation.kind, accusation.diagnosis, case, tuple(outcomes), stage=Stage.BACKWARD), ""


def _node_in_file(file: ModelFile, key: str) -> Node:
    if file.format == "onnx":
        return next(node for node in inspect_onnx_file(Path(file.path)).graph.nodes if node.key == key)
    return Node(key.partition("#")[0], key.partition("#")[0], ())


def _by_pairs(
    case: Case, outcomes: Mapping[str, Outcome], completed: Mapping[str, Outcome]
) -> tuple[Suspicion | None, str]:
    if len(completed) < 2:
        return None, "one target alone cannot be judged without a reference"
    first, *others = completed.values()
    for other in others:
        for comparison in compare_outcomes(_answers(first), _answers(other), {}, judge_parity):
            if comparison.verdict.judgement is not Judgement.PASS:
                return None, f"{first.target} and {other.target}: {comparison.verdict.reason}"
    return None, ""


def _answers(outcome: Outcome) -> Outcome:
    """The replay of single nodes answers in its trace alone."""
    return outcome if outcome.outputs else replace(outcome, outputs=outcome.trace.nodes)


def _ending(case: Case, outcomes: Mapping[str, Outcome], ended: Mapping[str, Outcome]) -> Suspicion:
    first = next(iter(ended.values()))
    failure = first.failure
    evidence = tuple(
        f"{target} {outcome.status.value}: {outcome.failure.type}: {gist(outcome.failure.message)}"
        for target, outcome in ended.items()
        if outcome.failure
    )
    diagnosis = Diagnosis(
        Class.DEFECT,
        tuple(ended),
        api=_api(case),
        parameters=_parameters(case),
        node=failure.node if failure and failure.node else _node(case),
        evidence=evidence,
    )
    exception = failure.type if failure else ""
    return Suspicion(_ENDINGS[first.status], diagnosis, case, tuple(outcomes), exception, stage_of(case))


def _api(case: Case) -> str | None:
    if isinstance(case.subject, ApiCall):
        return case.subject.api
    node = _only_node(case)
    return public_name(node.op) if node else None


def _only_node(case: Case) -> Node | None:
    graph = case.subject
    return graph.nodes[0] if isinstance(graph, LayerGraph) and len(graph.nodes) == 1 else None


def _node(case: Case) -> str | None:
    node = _only_node(case)
    return node.key if node else None


def _parameters(case: Case) -> dict[str, object]:
    node = _only_node(case)
    return layer(node.op).significant(node.params) if node and has_layer(node.op) else {}


def stage_of(case: Case) -> Stage:
    if isinstance(case.subject, ApiCall):
        return Stage.CALL
    if case.procedure.goal in _TRAINING:
        return Stage.UPDATE
    if case.procedure.reload:
        return Stage.SAVE_LOAD
    return Stage.BACKWARD if case.cotangents else Stage.FORWARD
