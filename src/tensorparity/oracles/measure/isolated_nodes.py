"""Measuring a node that was run alone: against the reference where there is one, else by vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name, is_floating
from ...core.errors import TensorParityError
from ...core.graph import Node
from ...core.messages import gist
from ...core.outcome import Outcome
from ...core.policies import Policy, coarser, in_range, policy_named
from ...core.traits import TargetTraits, Traits
from ...operators.catalogue import has_reference
from ...operators.functions.aten import evaluate_aten
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.evaluate import evaluate_node
from ...operators.reference.rounding import K, error_units
from ...operators.spec import Evaluation, ShapeError
from .documented_freedoms import FreeElements, freedom_of_node
from .forms import Forms
from .limits import free_at_infinity
from .node_errors import NodeErrors, largest_distance, mutual_error, reference_error, worst_place
from .votes import camps_of, shared_code, vote, widest_gap

#: Numbers that are kept of an answer which is wrong, to be held against the next.
_MOST_KEPT = 1 << 16


def measure_node(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    outcomes: Mapping[str, Outcome],
    traits: Traits,
    *,
    training: bool = False,
    dtype: str | None = None,
    truth: Sequence[Evaluation] | None = None,
    asked: int | None = None,
) -> NodeErrors:
    """What the outcomes of a replay say of one node, run under a dtype policy.

    Args:
        truth: its true outputs, where they depend on more than its inputs.
        asked: how many of its outputs were asked for; by default all.
    """
    seen = {target: node_outputs(node, outcome) for target, outcome in outcomes.items()}
    answered = {target: outputs for target, outputs in seen.items() if outputs}
    found = _measure_node(node, given, weights, outcomes, answered, traits, training, dtype, truth, asked)
    found = with_dtypes(found, answered, dtype, traits)
    found = replace(found, implementations=shared_code(found.errors, traits, node.op))
    wrong = any(not error <= found.limit for error in found.errors.values())
    form = None if wrong and found.judged_by != "nothing" else measure_form(node, outcomes, traits)
    return found if form is None else replace(form, endings=found.endings)


def measure_form(node: Node, outcomes: Mapping[str, Outcome], traits: Traits) -> NodeErrors | None:
    """Who gives another shape or dtype than it said, or another dtype than most; None where nobody does."""
    forms = Forms(node, outcomes, traits)
    if forms.kind is None:
        return None
    errors = {target: float("inf") if target in forms.wrong else 0.0 for target in forms.targets}
    absolute = dict.fromkeys(forms.targets, 0.0)
    judged_by = "reference" if forms.announced else "nothing" if forms.disputed else "vote"
    mutual = float("inf") if forms.disputed or 0 < len(forms.wrong) < len(errors) else 0.0
    shared = shared_code(forms.targets, traits, node.op)
    return NodeErrors(
        node, errors, absolute, mutual, judged_by, form=forms.kind, said=forms.said, implementations=shared
    )


def _measure_node(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    outcomes: Mapping[str, Outcome],
    given_back: Mapping[str, Sequence[Array]],
    traits: Traits,
    training: bool,
    dtype: str | None,
    truth: Sequence[Evaluation] | None,
    asked: int | None,
) -> NodeErrors:
    seen = {target: given_back.get(target, []) for target in outcomes}
    answered = in_effective_dtype(given_back, dtype, traits)
    endings = {target: _failure_text(outcomes[target]) for target, outputs in seen.items() if not outputs}
    freed = freedom_of_node(node, given) if truth is None else None
    reference = list(truth) if truth is not None else None
    reference = reference or reference_of(
        node, freed.inputs if freed else given, weights, training=training, dtype=dtype
    )
    reference = reference[:asked] if reference is not None else None
    if freed is None and truth is None and reference is not None:
        freed = free_at_infinity(
            lambda inputs: reference_of(node, inputs, weights, training=training), given, reference
        )
    true = [output.value for output in reference or ()]
    answered = in_range(answered, policy_named(dtype), [*given, *true], traits)
    camps = camps_of(node, answered)
    judged_by = "reference"
    if reference is None:
        reference = _arbiter(node, given, answered, camps)
    if reference is None:
        reference = vote(node, answered, camps, traits)
        judged_by = "vote" if reference is not None else "nothing"
    if reference is None:
        unknown = dict.fromkeys(answered, float("nan"))
        mutual = widest_gap(node, list(answered.values()))
        return NodeErrors(node, unknown, mutual=mutual, judged_by=judged_by, endings=endings, camps=camps)
    found = replace(measure_outputs(node, answered, reference, freed, given), judged_by=judged_by)
    guilty = any(not error <= found.limit for error in found.errors.values())
    answers = {target: [_evenly_chosen(output) for output in outputs] for target, outputs in answered.items() if guilty}
    return replace(found, endings=endings, camps=camps, answers=answers)


def _arbiter(
    node: Node, given: Sequence[Array], answered: Mapping[str, Sequence[Array]], camps: Sequence[frozenset[str]]
) -> list[Evaluation] | None:
    """What an operator of a torch program should give, where the targets differ and that tells which of them are right.

    How it was recognised is not as sure as a declaration, so it accuses nobody unless some target agrees with it.
    """
    truth = evaluate_aten(node, given) if len(camps) > 1 else None
    if truth is None:
        return None
    agrees = [reference_error(outputs, [truth]) <= K for outputs in answered.values()]
    return [truth] if any(agrees) and not all(agrees) else None


def _evenly_chosen(output: Array) -> Array:
    """Evenly chosen numbers of a large array: enough to tell one answer from another."""
    step = -(-output.size // _MOST_KEPT)
    return output if step <= 1 else output.reshape(-1)[::step].copy()


def measure_outputs(
    node: Node,
    answered: Mapping[str, Sequence[Array]],
    truth: Sequence[Evaluation],
    freed: FreeElements | None = None,
    given: Sequence[Array] = (),
) -> NodeErrors:
    """Every target's outputs against the true ones.

    Free elements count as right. Where they are all that is wrong, the errors are those of the whole, and the freedom
    that explains them is named.

    Args:
        given: what goes in.
    """
    whole = _errors_against(node, answered, truth)
    if whole.mutual <= whole.limit and any(x.dtype.kind == "f" and np.isinf(x).any() for x in given):
        whole = replace(whole, nan_alike=_nan_alike(answered, truth))
    if freed is None or max(whole.errors.values(), default=0.0) <= whole.limit:
        return whole
    rest = _errors_against(node, {target: freed.settled(outputs, truth) for target, outputs in answered.items()}, truth)
    explained = max(rest.errors.values(), default=0.0) <= rest.limit
    return replace(whole, freedom=freed.freedom) if explained else rest


def _nan_alike(answered: Mapping[str, Sequence[Array]], truth: Sequence[Evaluation]) -> bool:
    """Whether every number that is wrong is NaN, on every target."""
    for outputs in answered.values():
        for output, true in zip(outputs, truth, strict=False):
            if output.shape != true.value.shape or output.dtype.kind == "U":
                return False
            wrong = error_units(output, true, dtype_name(output)) > K
            if not np.isnan(output[wrong].astype(np.float64)).all():
                return False
    return True


def _errors_against(node: Node, answered: Mapping[str, Sequence[Array]], truth: Sequence[Evaluation]) -> NodeErrors:
    errors = {target: reference_error(outputs, truth) for target, outputs in answered.items()}
    return NodeErrors(
        node,
        errors=errors,
        absolute={target: largest_distance(outputs, truth) for target, outputs in answered.items()},
        mutual=mutual_error(list(answered.values()), truth),
        worst={t: place for t, e in errors.items() if e > K and (place := worst_place(answered[t], truth))},
    )


def node_outputs(node: Node, outcome: Outcome) -> list[Array]:
    """What a trace holds of a node: its outputs in order; nothing where it has none."""
    outputs = [outcome.trace.nodes[node.key]] if node.key in outcome.trace.nodes else []
    while outputs and f"{node.key}.{len(outputs)}" in outcome.trace.nodes:
        outputs.append(outcome.trace.nodes[f"{node.key}.{len(outputs)}"])
    return outputs


def _failure_text(outcome: Outcome) -> str:
    if outcome.failure is None:
        return "gave no output for this node"
    return f"{outcome.status.value}: {outcome.failure.type}: {gist(outcome.failure.message)}"


def in_effective_dtype(
    answered: Mapping[str, Sequence[Array]], dtype: str | None, traits: Traits
) -> dict[str, list[Array]]:
    """Answers in the dtype that they were computed in, where they come in a finer one."""
    policy = policy_named(dtype)
    return {
        target: [coarser(output, policy, traits[target]) for output in outputs] for target, outputs in answered.items()
    }


def with_dtypes(
    errors: NodeErrors, answered: Mapping[str, Sequence[Array]], dtype: str | None, traits: Traits
) -> NodeErrors:
    """The errors, infinite for whoever answers in floats of another dtype than the policy's, if there is one.

    Wrong numbers that no dtype explains come first: what is wrong with them is another matter.
    """
    if dtype is None:
        return errors
    policy = policy_named(dtype)
    found = {target: odd_dtype(outputs, policy, traits[target]) for target, outputs in answered.items()}
    other = {target: odd for target, odd in found.items() if odd}
    if any(error > errors.limit and target not in other for target, error in errors.errors.items()):
        return replace(errors, rough=policy.half)
    wrong = {target: float("inf") for target in other if target in errors.errors}
    return replace(errors, errors={**errors.errors, **wrong}, dtypes=other, rough=policy.half)


def odd_dtype(outputs: Sequence[Array], policy: Policy, traits: TargetTraits) -> str:
    """The first floating dtype among the outputs that is not the policy's; empty where there is none."""
    names = [dtype_name(output) for output in outputs if output.dtype.kind != "c"]
    wanted = (policy.compute, traits.effective_dtype(policy.compute))
    return next((name for name in names if is_floating(name) and name not in wanted), "")


def reference_of(
    node: Node,
    given: Sequence[Array],
    weights: Arrays,
    *,
    training: bool = False,
    dtype: str | None = None,
    beside: MasksAndStates | None = None,
) -> list[Evaluation] | None:
    """The true outputs of a node under a dtype policy; None where the catalogue does not say."""
    if not has_reference(node.op):
        return None
    try:
        return list(evaluate_node(node, given, weights, training=training, dtype=dtype, beside=beside))
    except (TensorParityError, ShapeError):
        return None  # a configuration the reference does not cover is no reference
