"""What outcomes say of a case: a suspicion, nothing, or why nobody can tell. Nothing is run here.

The judge is the one of the case's own kind: a layer or a call by its reference, a graph by its layers, a
backward pass or a training by the vote. Whoever ended badly is judged first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.arrays import dtype_name
from ..core.case import ApiCall, Case, ModelFile
from ..core.channels import is_text
from ..core.errors import TensorParityError, UnknownTargetError
from ..core.finding import Class, Diagnosis
from ..core.graph import LayerGraph, Node
from ..core.messages import gist
from ..core.outcome import Outcome, Status
from ..core.policies import in_range, policy_named
from ..core.procedure import Goal
from ..core.signature import policy_parameter
from ..core.suspicion import Suspicion, Worst
from ..core.verdict import Judgement, Kind, Stage
from ..generators.onnx_files import inspect_onnx_file
from ..operators.api import evaluate_call, evaluate_rest
from ..operators.beside import layer_of
from ..operators.calls.catalogue import operator_of
from ..operators.calls.native import native_name
from ..operators.catalogue import has_layer, has_reference, layer
from ..operators.declared_calls import significant
from ..operators.evaluate import evaluate_batches
from ..operators.rounding import K, error_units
from ..operators.spec import Evaluation, ShapeError
from ..oracles.pair import compare_outcomes, judge_parity
from ..targets.catalogue import spec_of
from ..targets.names import parse_target
from ..triage.backward import accuse_gradients, judge_pulled_back, worst_gradient
from ..triage.diagnose import accusation_of, accuse, blame, public_name
from ..triage.endings import stage_of_ending
from ..triage.exporters import accuse_exporters, outputs_apart, suspects_of_ending
from ..triage.freedoms import freedom_of, tamed
from ..triage.fusion import AMPLIFIED, relative_difference
from ..triage.measuring import as_worth, measure_node, measure_outputs, with_dtypes
from ..triage.node_errors import NodeErrors, absolute_error, reference_error
from ..triage.steps import is_loss_alone
from ..triage.support import classed_ending, is_documented, is_refusal
from ..triage.trials import judge_form, judge_layer
from .judging_training import TRAINING, at_loss, at_optimizer, by_training
from .refusals import accepted, ruled_out
from .selection import families_of

#: No target ran an exported file.
NOBODY: Mapping[str, str] = {}
#: A memory limit is ours, not the library's: running out of it decides nothing.
ENDINGS = {Status.RAISED: Kind.ERROR, Status.CRASHED: Kind.CRASH, Status.TIMED_OUT: Kind.HANG}
_WORST_FIRST = (Status.CRASHED, Status.TIMED_OUT, Status.RAISED)


def references(case: Case) -> dict[str, Evaluation]:
    """The true outputs of a case by name, where the catalogue can say them.

    For a graph of several layers the bound is the last layer's own; upstream rounding is not in it.
    """
    freed = freedom_of(case)
    case = tamed(case, freed) if freed else case
    try:
        if isinstance(case.subject, ApiCall):
            return {"0": evaluate_call(case.subject, dict(case.inputs))}
        if isinstance(case.subject, LayerGraph) and all(has_reference(node.op) for node in case.subject.nodes):
            return _graph_references(case.subject, case)
    except (TensorParityError, ShapeError):
        return {}
    return {}


def _graph_references(graph: LayerGraph, case: Case) -> dict[str, Evaluation]:
    values = evaluate_batches(graph, case.inputs, case.weights, case.procedure.batch_size, dtype=case.procedure.dtype)
    found: dict[str, Evaluation] = {}
    for ref in graph.outputs:
        node = graph.node(ref.node)
        found[ref.node if ref.index == 0 else f"{ref.node}.{ref.index}"] = values[node.key][ref.index]
    return found


def judge(
    case: Case,
    outcomes: Mapping[str, Outcome],
    exporters: Mapping[str, str] = NOBODY,
    convicted: Sequence[str] = (),
) -> tuple[Suspicion | None, str]:
    """A suspicion, or why there is none to be had; neither where all is well.

    Args:
        exporters: by target, who wrote the file it ran instead of the case's own.
        convicted: the suspects when the case was filed: others were right then, so one of them may be run alone.
    """
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    ended = {t: o for t, o in outcomes.items() if o.status in ENDINGS}
    died = {t: o for t, o in ended.items() if o.status is Status.CRASHED}
    invalid = ruled_out(case)
    truth = {} if invalid else references(case)
    if invalid and completed and died:  # dying is worse than answering, and no refusal
        return _ending(case, outcomes, died, exporters), ""
    if invalid and completed:
        return accepted(case, outcomes, completed, *invalid), ""
    if ended and (completed or truth):
        return _ending(case, outcomes, ended, exporters), ""
    if died and len(died) < len(ended):  # the others refuse what this one dies of
        return _ending(case, outcomes, died, exporters), ""
    if not completed:
        return None, "no target completed the case"
    if truth and _single_step(case) and not case.procedure.training:
        return _by_reference(case, outcomes, completed, truth, convicted)
    if (case.procedure.training or _is_voted(case)) and _single_step(case) and isinstance(case.subject, LayerGraph):
        return _by_layer(case, outcomes)
    exporter = _by_exporter(case, outcomes, exporters)
    if exporter is not None:
        return exporter, ""
    if case.procedure.goal in TRAINING and len(completed) > 1:
        return by_training(case, list(outcomes), completed)
    if case.cotangents and len(completed) > 1:
        return _by_gradients(case, outcomes)
    if len(completed) > 2 and isinstance(case.subject, ModelFile) and case.procedure.goal is Goal.REPLAY:
        return _by_vote(case, case.subject, outcomes)
    return _by_pairs(case, outcomes, completed)


def _is_voted(case: Case) -> bool:
    """One layer of which there is no reference."""
    node = _only_node(case)
    return node is not None and not has_reference(node.op)


def _single_step(case: Case) -> bool:
    if isinstance(case.subject, ApiCall):
        return True
    graph = case.subject
    return isinstance(graph, LayerGraph) and layer_of(graph) is not None and case.procedure.goal is Goal.FORWARD


def _by_reference(
    case: Case,
    outcomes: Mapping[str, Outcome],
    completed: Mapping[str, Outcome],
    truth: Mapping[str, Evaluation],
    convicted: Sequence[str],
) -> tuple[Suspicion | None, str]:
    """One layer or call against its reference, by the same rule that blames in an examination."""
    answers = {t: [o.outputs[name] for name in truth if name in o.outputs] for t, o in completed.items()}
    policy = case.procedure.dtype if isinstance(case.subject, LayerGraph) else None
    involved = [*case.arrays().values(), *(value.value for value in truth.values())]
    judged = in_range(as_worth(answers, policy), policy_named(policy), involved)
    errors = measure_outputs(_node_of(case), judged, list(truth.values()), freedom_of(case))
    errors = _with_further_outputs(with_dtypes(errors, answers, policy), case, completed)
    if isinstance(case.subject, LayerGraph) and all(error <= K for error in errors.errors.values()):
        errors = judge_form(case, completed) or errors
    klass, suspects = blame(errors, families_of(list(completed)))
    above = tuple(target for target, error in errors.errors.items() if error > K)
    if klass is None and above and len(completed) == 1 and (above[0] in convicted or _well_conditioned(case, truth)):
        klass, suspects = Class.DEFECT, above
    if klass is None and len(above) == 1:
        return None, f"{above[0]} alone, and not as the reference says: another target must tell who is wrong"
    if klass is None and errors.disputed:
        return None, "undecided: the targets give different dtypes, and no majority says which is right"
    if klass is None:
        return None, "all targets agree with each other, and not with the reference" if above else ""
    accusation = accusation_of(klass, suspects, [errors])
    api = _api(case, suspects)
    diagnosis = replace(accusation.diagnosis, api=api, parameters=_parameters(case), node=_node(case))
    accused = next((target for target in (*suspects, *above) if target in completed), None)
    worst = _worst(case, completed[accused], truth) if accused else None
    return Suspicion(accusation.kind, diagnosis, case, tuple(outcomes), stage=stage_of(case), worst=worst), ""


def _worst(case: Case, outcome: Outcome, truth: Mapping[str, Evaluation]) -> Worst | None:
    """The number of a suspect that is furthest from the reference; None where it is a matter of shapes."""
    places = [ref.index for ref in case.subject.outputs] if isinstance(case.subject, LayerGraph) else [0]
    found: tuple[float, Worst] | None = None
    for place, (name, evaluation) in zip(places, truth.items(), strict=True):
        output = outcome.outputs.get(name)
        if output is None or output.shape != evaluation.value.shape or not output.size:
            continue
        units = error_units(output, evaluation, dtype_name(output))
        index = tuple(int(part) for part in np.unravel_index(int(np.argmax(units)), units.shape))
        if units[index] > K and (found is None or units[index] > found[0]):
            found = float(units[index]), Worst(index, place)
    return found[1] if found else None


def _with_further_outputs(errors: NodeErrors, case: Case, completed: Mapping[str, Outcome]) -> NodeErrors:
    """What must hold of a call's outputs after the first counts as well, the larger error of each target."""
    if not isinstance(case.subject, ApiCall):
        return errors
    units, absolute = dict(errors.errors), dict(errors.absolute)
    for target, outcome in completed.items():
        outputs = [outcome.outputs[name] for name in sorted(outcome.outputs, key=int)]
        for actual, truth in evaluate_rest(case.subject, dict(case.inputs), outputs):
            units[target] = max(units[target], reference_error([actual], [truth]))
            absolute[target] = max(absolute[target], absolute_error(actual, truth))
    return replace(errors, errors=units, absolute=absolute)


def _well_conditioned(case: Case, truth: Mapping[str, Evaluation]) -> bool:
    """A plain evaluation of the formula in the call's own dtype stays within the bound: no excuse for who does not."""
    if not isinstance(case.subject, ApiCall):
        return False
    try:
        plain = evaluate_call(case.subject, dict(case.inputs), promoted=False).value
    except TensorParityError:
        return False
    if is_text(plain):
        return True  # words are exact
    dtype = next((array.dtype for array in case.inputs.values() if array.dtype.kind in "fciu"), plain.dtype)
    return reference_error([np.asarray(plain).astype(dtype)], [truth["0"]]) <= K


def _node_of(case: Case) -> Node:
    if isinstance(case.subject, LayerGraph):
        return case.subject.nodes[-1]
    return Node("call", _api(case) or "call", ())


def _by_layer(case: Case, outcomes: Mapping[str, Outcome]) -> tuple[Suspicion | None, str]:
    """One layer in training, or without a reference, by the judge of trials."""
    errors = judge_layer(case, outcomes)
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    form = judge_form(case, completed) if _is_voted(case) else None
    for measured in (errors, *([form] if form else ())):
        accusations = accuse([measured], families_of(list(measured.errors)))
        if accusations:
            return Suspicion(accusations[0].kind, accusations[0].diagnosis, case, tuple(outcomes)), ""
    known = errors.judged_by == "reference" and bool(errors.errors)
    cleared = known and all(error <= errors.limit for error in errors.errors.values())
    return (None, "") if cleared else _by_pairs(case, outcomes, completed)


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


def _by_exporter(case: Case, outcomes: Mapping[str, Outcome], exporters: Mapping[str, str]) -> Suspicion | None:
    """Runtimes that agree with each other on the exported file, and not with the original."""
    if not exporters or not isinstance(case.subject, ModelFile):
        return None
    if case.procedure.goal is Goal.REPLAY:
        node = _node_in_file(case.subject, case.procedure.nodes[0])
        errors = measure_node(node, list(case.inputs.values()), case.weights, outcomes)
        accusations = accuse_exporters([errors], exporters)
        if not accusations:
            return None
        return Suspicion(accusations[0].kind, replace(accusations[0].diagnosis, api=None), case, tuple(outcomes))
    apart = outputs_apart(outcomes, exporters, relative_difference, AMPLIFIED)
    if apart is None:
        return None
    return Suspicion(Kind.INCONSISTENCY, apart.diagnosis(AMPLIFIED), case, tuple(outcomes))


def _by_gradients(case: Case, outcomes: Mapping[str, Outcome]) -> tuple[Suspicion | None, str]:
    """The backward pass of one layer, by its reference; without one, three targets or more decide."""
    found = judge_pulled_back(case, outcomes)
    accusation = accuse_gradients(found, families_of(list(outcomes)))
    if accusation is None:
        errors = found.errors
        if errors.judged_by == "reference" and any(error > errors.limit for error in errors.errors.values()):
            return None, "all targets agree with each other, and not with the reference"
        if not errors.errors:
            return None, "its numbers are beyond what the targets compute in"
        decided = errors.judged_by != "nothing" or errors.mutual <= errors.limit
        return None, "" if decided else "gradients are judged by three targets or more"
    answers = {target: outcome.trace.gradients for target, outcome in outcomes.items()}
    worst = worst_gradient(answers, accusation.diagnosis.suspects)
    diagnosis = accusation.diagnosis
    return Suspicion(accusation.kind, diagnosis, case, tuple(outcomes), stage=Stage.BACKWARD, worst=worst), ""


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


def _ending(
    case: Case, outcomes: Mapping[str, Outcome], ended: Mapping[str, Outcome], exporters: Mapping[str, str]
) -> Suspicion:
    """Whoever ended worst, and alike: a target that died is not filed under another's exception, nor an error under
    another's word that it has no such thing.
    """
    completed = [target for target, outcome in outcomes.items() if outcome.completed]
    dtype = case.procedure.dtype if isinstance(case.subject, LayerGraph) else None
    documented = is_documented(case)

    def how(outcome: Outcome) -> tuple[int, bool, str]:
        lacks = not documented and is_refusal(outcome, dtype)
        return _WORST_FIRST.index(outcome.status), lacks, outcome.failure.type if outcome.failure else ""

    worst = min(ended.values(), key=lambda outcome: how(outcome)[:2])
    alike = {t: o for t, o in ended.items() if how(o) == how(worst)}
    suspects = [name for target in alike for name in suspects_of_ending(target, ended, completed, exporters)]
    evidence = tuple(
        f"{target} {outcome.status.value}: {outcome.failure.type}: {gist(outcome.failure.message)}"
        for target, outcome in (*alike.items(), *((t, o) for t, o in ended.items() if t not in alike))
        if outcome.failure
    )
    failure = worst.failure
    diagnosis = Diagnosis(
        Class.DEFECT,
        tuple(dict.fromkeys(suspects)),
        api=_api(case, suspects),
        parameters=_parameters(case),
        node=failure.node if failure and failure.node else _node(case),
        evidence=evidence,
    )
    stage = stage_of(case)
    if case.procedure.goal in TRAINING:
        stage = stage_of_ending(failure, stage)
    if is_loss_alone(case):
        diagnosis = at_loss(diagnosis, case)
    elif failure is not None and failure.stage == Stage.UPDATE.value and case.procedure.optimizer:
        diagnosis = at_optimizer(diagnosis, case)
    diagnosis = classed_ending(diagnosis, worst, freedom_of(case), documented=documented, dtype=dtype)
    exception = failure.type if failure else ""
    return Suspicion(ENDINGS[worst.status], diagnosis, case, tuple(outcomes), exception, stage)


def _api(case: Case, suspects: Sequence[str] = ()) -> str | None:
    """The public name: of an operator, what it is called in the library of the first suspect."""
    if isinstance(case.subject, ApiCall):
        operator = operator_of(case.subject.api)
        if operator is None or not suspects:
            return case.subject.api
        try:
            library = spec_of(parse_target(suspects[0])).calls
        except UnknownTargetError:  # code that several share
            return case.subject.api
        return native_name(operator, library, case)
    node = _only_node(case)
    return public_name(node.op) if node else None


def _only_node(case: Case) -> Node | None:
    graph = case.subject
    return layer_of(graph) if isinstance(graph, LayerGraph) else None


def _node(case: Case) -> str | None:
    node = _only_node(case)
    return node.key if node else None


def _parameters(case: Case) -> dict[str, object]:
    if isinstance(case.subject, ApiCall):
        operator = operator_of(case.subject.api)
        return operator.significant(dict(case.subject.kwargs)) if operator else significant(case.subject)
    node = _only_node(case)
    own = layer(node.op).significant(node.params) if node and has_layer(node.op) else {}
    return {**own, **policy_parameter(case.procedure.dtype)}


def stage_of(case: Case) -> Stage:
    if isinstance(case.subject, ApiCall):
        return Stage.CALL
    if is_loss_alone(case):
        return Stage.LOSS
    if case.procedure.goal in TRAINING:
        return Stage.UPDATE
    if case.procedure.reload:
        return Stage.SAVE_LOAD
    return Stage.BACKWARD if case.cotangents else Stage.FORWARD
