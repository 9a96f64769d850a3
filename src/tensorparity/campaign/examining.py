"""One case, examined: run on targets and judged. Replay, reduce and localize all go through here.

A graph of several layers is judged by its layers, each alone on the reference's activations; everything else by
what the targets gave (``judging``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.arrays import Array, Arrays
from ..core.case import ApiCall, Case
from ..core.errors import TensorParityError
from ..core.finding import Class
from ..core.graph import LayerGraph, Node
from ..core.messages import failing_layer
from ..core.outcome import Outcome
from ..core.policies import cast, policy_named
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..core.suspicion import Suspicion
from ..core.verdict import Kind, Stage
from ..operators.beside import layer_of
from ..operators.evaluate import evaluate
from ..operators.spec import ShapeError
from ..oracles.whole.sight import model_of
from ..targets.catalogue import traits_of
from ..triage.confirm import run_fresh
from ..triage.cuts import up_to
from ..triage.diagnose import accusation_of, accuse, public_name
from ..triage.discontinuity import downstream_of_discontinuity
from ..triage.fusion import guilty_of_fusion, shortest_stretch
from ..triage.labels import is_of_labels, unfit
from ..triage.node_errors import NodeErrors
from ..triage.reduction.reducer import Checked
from ..triage.replay import replay_nodes
from .exports import ExportedCases
from .judging import ENDINGS, NOBODY, judge
from .judging_training import also_suspected
from .refusals import ruled_out
from .selection import families_of

Outcomes = dict[str, Outcome]

#: A layer, and what masks and reshapes its input.
_FEW_LAYERS = 3


def examine_case(
    runner: Runner,
    case: Case,
    targets: Sequence[str],
    *,
    fresh: bool = False,
    given: ExportedCases | None = None,
    convicted: Sequence[str] = (),
) -> tuple[Checked, Outcomes]:
    """Run one case on the targets and judge it; also what each target did.

    Args:
        given: what each target is given of the case, where that is not the case itself.
        convicted: the suspects when the case was filed.
    """
    ((checked, outcomes),) = _examine(runner, [case], targets, fresh, given, convicted)
    return checked, outcomes


def examine_cases(
    runner: Runner, cases: Sequence[Case], targets: Sequence[str], *, fresh: bool = False
) -> list[Checked]:
    """Several cases that do not depend on each other, in one round trip; answers in their order."""
    return [checked for checked, _ in _examine(runner, cases, targets, fresh)]


def judge_case(runner: Runner, case: Case, outcomes: Outcomes) -> Checked:
    """Judge a case that was run; whatever else has to be run for that is."""
    return _judge(runner, case, outcomes, fresh=False, exporters=NOBODY, convicted=())


def _examine(
    runner: Runner,
    cases: Sequence[Case],
    targets: Sequence[str],
    fresh: bool,
    given: ExportedCases | None = None,
    convicted: Sequence[str] = (),
) -> list[tuple[Checked, Outcomes]]:
    def of(case: Case, target: str) -> Case:
        return given.cases.get(target, case) if given else case

    pairs = [(of(case, target), target) for case in cases for target in targets]
    answers = iter(run_fresh(runner, pairs) if fresh else runner.run_pairs(pairs))
    exporters = given.exporters if given else NOBODY
    found = [(case, {target: next(answers) for target in targets}) for case in cases]
    return [(_judge(runner, case, outcomes, fresh, exporters, convicted), outcomes) for case, outcomes in found]


def _judge(
    runner: Runner,
    case: Case,
    outcomes: Outcomes,
    fresh: bool,
    exporters: Mapping[str, str],
    convicted: Sequence[str],
) -> Checked:
    """A model that is wrong before it is saved is filed as that; who was right then is not excused by it."""
    checked = _judged(runner, case, outcomes, fresh, exporters, convicted)
    if checked.suspicions and not ruled_out(case) and (reason := unfit(case)):
        kept = tuple(suspicion for suspicion in checked.suspicions if not is_of_labels(suspicion, outcomes))
        checked = Checked(kept, checked.undecided if kept else reason)
    if not any(suspicion.case.procedure.reload for suspicion in checked.suspicions):
        return checked
    built = replace(case, procedure=replace(case.procedure, reload=False))
    ((before, _),) = _examine(runner, [built], list(outcomes), fresh, convicted=convicted)
    defects = [suspicion for suspicion in before.suspicions if suspicion.diagnosis.klass is Class.DEFECT]
    guilty = {name for suspicion in defects for name in suspicion.diagnosis.suspects}
    others = [suspicion for suspicion in checked.suspicions if not guilty & set(suspicion.diagnosis.suspects)]
    return Checked((*defects, *others), checked.undecided)


def _judged(
    runner: Runner,
    case: Case,
    outcomes: Outcomes,
    fresh: bool,
    exporters: Mapping[str, str],
    convicted: Sequence[str],
) -> Checked:
    """Whoever ended badly first, each way apart; then what the others gave, of a call or few layers: there a bad
    ending hides no wrong answer.
    """
    checked = _judged_together(runner, case, outcomes, fresh, exporters, convicted)
    found, rest, new = list(checked.suspicions), outcomes, checked.suspicions
    while new and (ended := {target for target, outcome in rest.items() if outcome.status in ENDINGS}):
        told = {name for suspicion in new for name in suspicion.diagnosis.suspects} & ended or ended
        rest = {target: outcome for target, outcome in rest.items() if target not in told}
        left = ended - told
        if not left and (len(rest) < 2 or not _is_small(case)):
            break  # one alone that answered has nobody to be held against; layers would be replayed again and again
        after = _judged_together(runner, case, rest, fresh, exporters, convicted)
        keys = {suspicion.key for suspicion in found}
        new = tuple(suspicion for suspicion in after.suspicions if suspicion.key not in keys)
        found += new
    return Checked(tuple(found), checked.undecided)


def _is_small(case: Case) -> bool:
    """One call, a loss alone, or one layer with what masks and shapes its input."""
    graph = case.subject
    return isinstance(graph, ApiCall) or (isinstance(graph, LayerGraph) and len(graph.nodes) <= _FEW_LAYERS)


def _judged_together(
    runner: Runner,
    case: Case,
    outcomes: Outcomes,
    fresh: bool,
    exporters: Mapping[str, str],
    convicted: Sequence[str],
) -> Checked:
    done = [target for target, outcome in outcomes.items() if outcome.completed]
    ended = any(outcome.status in ENDINGS for outcome in outcomes.values())
    if done and not ended and _has_layers(case) and not ruled_out(case):
        return _by_layers(runner, case, {target: outcomes[target] for target in done}, fresh, convicted)
    suspicion, undecided = judge(case, outcomes, exporters, convicted)
    if suspicion and ended and suspicion.diagnosis.api is None and _has_layers(case):
        suspicion = _located(runner, suspicion, outcomes)
    also = also_suspected(suspicion, outcomes) if suspicion else []
    return Checked((suspicion, *also) if suspicion else (), undecided)


# --- a graph of several layers


def _has_layers(case: Case) -> bool:
    graph = case.subject
    return isinstance(graph, LayerGraph) and layer_of(graph) is None and case.procedure.goal is Goal.FORWARD


def _by_layers(runner: Runner, case: Case, outcomes: Outcomes, fresh: bool, convicted: Sequence[str]) -> Checked:
    """Every layer alone, on the reference's activations; where none is guilty, the whole against its own steps."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    targets = list(outcomes)
    values = _activations(graph, case)
    if not values:
        suspicion, undecided = judge(case, outcomes)
        return Checked((suspicion,) if suspicion else (), undecided)
    plain = replace(case, procedure=replace(case.procedure, reload=False))
    replayed = replay_nodes(
        runner,
        replace(model_of(case), traits=traits_of(targets)),
        graph.nodes,
        case.inputs,
        values,
        targets,
        traits_of(targets),
        fresh=fresh,
        like=plain.procedure,
    )
    measured = list(replayed)
    accusations = accuse(measured, families_of(targets))
    if accusations:  # of a model that is reloaded: it is wrong before it is saved
        return Checked(tuple(Suspicion(a.kind, a.diagnosis, plain, tuple(targets)) for a in accusations))
    if case.procedure.reload:
        reloaded = _by_reloaded_layers(runner, case, graph, values, targets, fresh)
        if reloaded:
            return Checked(tuple(reloaded))
    steady = _steady(graph, outcomes)
    if not any(outcome.outputs for outcome in steady.values()):
        return Checked()
    missing = next((node for node in graph.nodes if node.key not in {item.node.key for item in measured}), None)
    if len(targets) == 1:
        return _one_alone(case, targets[0], measured, convicted, missing)
    _, undecided = judge(case, steady)
    if not undecided:
        return Checked()
    if missing is not None:
        return Checked(undecided=f"the outputs differ, and {missing.layer} ({missing.op}) could not be run alone")
    return _fused(runner, case, steady, fresh)


def _one_alone(
    case: Case, target: str, measured: Sequence[NodeErrors], convicted: Sequence[str], missing: Node | None
) -> Checked:
    """One target has nobody to be held against; it is wrong where others convicted it when the case was filed."""
    wrong = [
        errors
        for errors in measured
        if errors.judged_by == "reference" and errors.errors.get(target, 0.0) > errors.limit
    ]
    if wrong and target in convicted:
        accusation = accusation_of(Class.DEFECT, (target,), wrong[:1])
        return Checked((Suspicion(accusation.kind, accusation.diagnosis, case, (target,)),))
    if wrong:
        return Checked(undecided=f"{target} alone, and {wrong[0].node.layer} is not as the reference says")
    return Checked(undecided=f"{missing.layer} could not be run alone" if missing else "")


def _by_reloaded_layers(
    runner: Runner, case: Case, graph: LayerGraph, values: Arrays, targets: Sequence[str], fresh: bool
) -> list[Suspicion]:
    """Every layer that was right before, alone again after the model was saved and loaded."""
    measured = replay_nodes(
        runner,
        replace(model_of(case), traits=traits_of(targets)),
        graph.nodes,
        case.inputs,
        values,
        targets,
        traits_of(targets),
        fresh=fresh,
        like=case.procedure,
    )
    found = []
    for accusation in accuse(list(measured), families_of(targets)):
        diagnosis = accusation.diagnosis
        evidence = (*diagnosis.evidence, "before the model was saved and loaded, the layer was right")
        diagnosis = replace(diagnosis, evidence=evidence)
        found.append(Suspicion(accusation.kind, diagnosis, case, tuple(targets), stage=Stage.SAVE_LOAD))
    return found


def _steady(graph: LayerGraph, outcomes: Outcomes) -> Outcomes:
    """Without the outputs that have stepped on rounding: there a last bit makes a large difference (decision 13)."""
    stepped = downstream_of_discontinuity(graph)
    refs = [ref for ref in graph.outputs if any(node.name == ref.node and node.key in stepped for node in graph.nodes)]
    names = {ref.node if ref.index == 0 else f"{ref.node}.{ref.index}" for ref in refs}
    return {
        target: replace(outcome, outputs={name: a for name, a in outcome.outputs.items() if name not in names})
        for target, outcome in outcomes.items()
    }


def _activations(graph: LayerGraph, case: Case) -> dict[str, Array]:
    """By node key, as a trace names them: the reference's, in the dtype that flows."""
    try:
        values = evaluate(graph, case.inputs, case.weights, dtype=case.procedure.dtype)
    except (TensorParityError, ShapeError):
        return {}
    dtype = policy_named(case.procedure.dtype).compute
    return {
        key if index == 0 else f"{key}.{index}": cast(output.value, dtype)
        for key, outputs in values.items()
        for index, output in enumerate(outputs)
    }


def _fused(runner: Runner, case: Case, outcomes: Outcomes, fresh: bool) -> Checked:
    stepwise = replace(case, procedure=replace(case.procedure, trace=True))
    pairs = [(stepwise, target) for target in outcomes]
    traces = {outcome.target: outcome for outcome in runner.run_pairs(pairs, fresh=fresh) if outcome.completed}
    rows = range(len(next(iter(case.inputs.values()))))
    for name in dict.fromkeys(name for trace in traces.values() for name in trace.outputs):
        for apart in guilty_of_fusion(outcomes, traces, name, rows):
            stretch = shortest_stretch(runner, case, apart.target, fresh=fresh)
            suspicion = Suspicion(Kind.INCONSISTENCY, apart.diagnosis(stretch), case, tuple(outcomes))
            return Checked((suspicion,))
    return Checked(undecided="the outputs differ, though no layer does alone")


def _located(runner: Runner, suspicion: Suspicion, outcomes: Outcomes) -> Suspicion:
    """Where a graph ends badly: the node that was running when it is run step by step, or what the message says."""
    case, diagnosis = suspicion.case, suspicion.diagnosis
    first = next(target for target in diagnosis.suspects if target in outcomes)
    like = case.procedure
    stepwise = replace(case, procedure=Procedure(trace=True, training=like.training, dtype=like.dtype))
    failure = runner.run_pairs([(stepwise, first)])[0].failure
    ended = outcomes[first].failure
    node = (failure.node if failure else None) or (ended.node if ended else None)
    op = _op_of(case, node) or failing_layer(ended.message if ended else "")
    unloaded = _first_not_loaded(runner, case, first) if case.procedure.reload and not failure else None
    if unloaded is not None:
        node, op = unloaded, _op_of(case, unloaded)
    if not op:
        return suspicion
    return replace(suspicion, diagnosis=replace(diagnosis, node=node, api=public_name(op)))


def _first_not_loaded(runner: Runner, case: Case, target: str) -> str | None:
    """The first node with which a model can be built, but not saved and loaded."""
    assert isinstance(case.subject, LayerGraph)
    nodes, like = case.subject.nodes, case.procedure
    ways = [Procedure(training=like.training, dtype=like.dtype, reload=reload) for reload in (False, True)]
    answers = iter(runner.run_pairs([(up_to(case, node, way), target) for node in nodes for way in ways]))
    for node in nodes:
        built, loaded = next(answers), next(answers)
        if built.completed and loaded.status in ENDINGS:
            return node.key
    return None


def _op_of(case: Case, key: str | None) -> str:
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    return next((node.op for node in graph.nodes if node.key == key), "")
