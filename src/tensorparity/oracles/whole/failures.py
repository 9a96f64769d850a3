"""What ended badly, and what fails though no layer explains it: suspected, so that nothing fails in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.comparison import Comparison
from ...core.endings import KIND_OF_ENDING, ended_badly
from ...core.evidence import Evidence, observed
from ...core.finding import Class, Diagnosis
from ...core.messages import failing_layer, failing_onnx_node
from ...core.onnx.layers import PREFIX as ONNX_PREFIX
from ...core.oracle import Check
from ...core.outcome import Failure, Outcome
from ...core.procedure import Procedure
from ...core.signature import suspects_of
from ...core.suspicion import Suspicion
from ...core.verdict import Kind
from ..failure_search import ending_of
from ..measure.diagnose import public_name
from ..measure.exporters import doubts_about, suspects_of_failure
from ..measure.support import classify_failure
from .by_rates import first_highlighted
from .sight import Asking, Found, ModelPlace, Sight
from .verdicts import all_that_round_measured, unmeasured


def suspect_endings(at: Sight) -> Asking[None]:
    """Targets that raised, crashed or hung, where another one did complete."""
    bad = [outcome for outcome in at.outcomes.values() if ended_badly(outcome)]
    if not at.completed:
        if bad:
            at.notes.append("no target completed, so nothing could be compared")
        return
    places = yield from _places(at, bad)
    failed = [outcome.target for outcome in bad]
    found: dict[tuple[tuple[str, ...], Kind], Found] = {}
    for outcome in bad:
        suspects = suspects_of_failure(outcome.target, failed, at.completed, at.exporters, at.seen.traits)
        # two runtimes of one exported file are one finding
        found.setdefault(
            (suspects, KIND_OF_ENDING[outcome.status]), _found_failure(at, outcome, suspects, *places[outcome.target])
        )
    at.found += found.values()


def _found_failure(at: Sight, outcome: Outcome, suspects: tuple[str, ...], node: str | None, api: str | None) -> Found:
    failure = outcome.failure
    assert failure is not None
    evidence: list[Evidence] = [ending_of(outcome, api or ""), observed("model-completed", targets=list(at.completed))]
    if suspects == (outcome.target,):
        evidence += doubts_about(outcome.target, at.exporters)
    else:
        evidence.append(observed("no-runtime-completed"))
    diagnosis = Diagnosis(Class.DEFECT, suspects, node=node, api=api, evidence=tuple(evidence))
    case = at.own_case(at.seen.case.procedure, _failed_on(at, outcome))
    diagnosis = classify_failure(diagnosis, outcome)
    suspicion = Suspicion(KIND_OF_ENDING[outcome.status], diagnosis, case, tuple(at.outcomes), failure.type)
    return Found(suspicion, (ModelPlace(case, at.settings.oracle),))


def _failed_on(at: Sight, outcome: Outcome) -> Arrays:
    """The inputs that a target failed on first, where they were run in pieces."""
    rows = outcome.reply.get("failed_rows") if isinstance(outcome.reply, dict) else None
    return {name: array[rows[0] : rows[1]] for name, array in at.inputs.items()} if rows else at.inputs


def _places(at: Sight, bad: Sequence[Outcome]) -> Asking[dict[str, tuple[str | None, str | None]]]:
    """By target, the node and the public name where it failed, as far as anybody can say."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for outcome in bad:
        assert outcome.failure is not None
        found[outcome.target] = _said_place(at, outcome.failure)
    unknown = [outcome for outcome in bad if found[outcome.target][0] is None]
    # where a model fails as a whole: the node that was running when it is run step by step
    answers = yield [Check(_first_instance(at, outcome), (outcome.target,)) for outcome in unknown]
    for outcome, answer in zip(unknown, answers, strict=True):
        failure = answer.outcomes[outcome.target].failure
        found[outcome.target] = (failure.node if failure else None, found[outcome.target][1])
    return {target: (node, api or _api_of(at, node)) for target, (node, api) in found.items()}


def _first_instance(at: Sight, outcome: Outcome) -> Case:
    few = _failed_on(at, outcome)
    one = {name: array[: at.settings.batch or 1] for name, array in few.items()}
    return at.own_case(Procedure(trace=True), one)


def _said_place(at: Sight, failure: Failure) -> tuple[str | None, str | None]:
    """Node and public name, as far as the library's own words tell."""
    if at.model.file is not None and at.model.file.format == "onnx":
        op, name = failing_onnx_node(failure.message) or ("", "")
        node = next((node.key for node in at.nodes if name and node.layer == name), None)
        return failure.node or node, f"{ONNX_PREFIX}{op}" if op else None
    layer = failing_layer(failure.message)
    return failure.node, _api_named(at, failure.node, layer) if layer and layer != "Functional" else None


def _api_named(at: Sight, key: str | None, layer: str) -> str:
    """Keras names the class alone, and a class of the user's may be called like one of Keras' own."""
    named = {node.op for node in at.nodes if node.op.rpartition(".")[2] == layer and key in (None, node.key)}
    if len(named) > 1:
        return layer  # nobody knows whose
    return public_name(named.pop() if named else layer)


def _api_of(at: Sight, key: str | None) -> str | None:
    """The public name of a node's layer; Keras says it in its message, if it is one of Keras'."""
    ops = [node.op for node in at.nodes if node.key == key]
    return public_name(ops[0]) if ops and "." in ops[0] else None


def suspect_uncovered(at: Sight) -> None:
    """A pair that fails although no suspicion speaks of it is filed as it is: nothing fails in silence."""
    for comparison in at.comparisons:
        if comparison.verdict.failed and comparison.instances and not _is_covered(at, comparison):
            at.found.append(_pair_found(at, comparison))


def _is_covered(at: Sight, comparison: Comparison) -> bool:
    return any(set(comparison.accusable) & set(s.diagnosis.suspects) for s in at.suspicions)


def _pair_found(at: Sight, comparison: Comparison) -> Found:
    verdict = comparison.verdict
    by_values = verdict.kind not in (Kind.SHAPE, Kind.DTYPE)
    total = len(at.nodes)
    measured = total - len(unmeasured(at, comparison)) if at.measured else 0
    rounding = verdict.kind is Kind.INCONSISTENCY and all_that_round_measured(at, comparison)
    first = first_highlighted(comparison) if at.settings.needs_labels and by_values else None
    a, b, output = comparison.a, comparison.b, comparison.output
    evidence = [observed("pair-differs", a=a, b=b, output=output, reason=verdict.reason)]
    if rounding:
        evidence.append(observed("rounding-carried", measured=measured, layers=total))
    elif by_values and first is not None:
        evidence.append(observed("introduction-rate", layer=first.name, type=first.type, rate=first.rate))
    elif by_values:
        evidence.append(observed("layers-unknown", measured=measured, layers=total))
    diagnosis = Diagnosis(
        klass=Class.PRECISION if rounding else Class.DEFECT,
        suspects=() if by_values else _odd_ones(at, comparison),
        node=first.key if first else None,
        api=public_name(first.type) if first else None,
        evidence=tuple(evidence),
        measure=verdict.measure,
        threshold=verdict.threshold,
    )
    case = _worst_instance(at, comparison)
    suspicion = Suspicion(verdict.kind or Kind.INCONSISTENCY, diagnosis, case, (comparison.a, comparison.b))
    return Found(suspicion, (ModelPlace(case, at.settings.oracle),))


def _worst_instance(at: Sight, comparison: Comparison) -> Case:
    """The input on which a pair differs most; with its label where the rule needs one."""
    batch = at.settings.batch or 1
    count = min(len(array) for array in at.inputs.values())
    start = max(0, min(comparison.worst_input or 0, count - batch))
    rows = slice(start, start + batch)
    labels = {name: array[rows] for name, array in at.labels.items()} if at.settings.needs_labels else {}
    return at.own_case(Procedure(), {name: array[rows] for name, array in at.inputs.items()}, labels)


def _odd_ones(at: Sight, comparison: Comparison) -> tuple[str, ...]:
    """Of a pair whose outputs are of another shape or dtype: who is alone with it; both where nobody can tell.

    When a claim is looked at again, those who outvoted its suspects need not be here.
    """
    forms = {target: _form(outcome, comparison.output) for target, outcome in at.seen.completed.items()}
    votes = Counter(forms.values())
    common, count = votes.most_common(1)[0]
    pair = (comparison.a, comparison.b)
    claimed = set(suspects_of(at.seen.claim))
    if claimed and claimed <= set(pair):
        return tuple(target for target in pair if target in claimed)
    if 2 * count <= len(forms):
        return pair
    return tuple(target for target in pair if forms.get(target) != common) or pair


def _form(outcome: Outcome, name: str) -> tuple[str, tuple[int, ...]] | None:
    output = outcome.outputs.get(name)
    return None if output is None else (output.dtype.name, output.shape)
